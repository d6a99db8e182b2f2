"""A run that waits for people, and what it goes on with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actors.workflows._running._deliveries import Request
from actors.workflows._running._requests import fitting, not_open
from protocols._errors import AnsweredRequestError, ResponseTypeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actors.workflows._functional._journal import Asked, Journal


class Paused:
    """A run between two calls of ``run``.

    Args:
        message: what the function was called with.
        journal: what is known.
        asked: the open questions, by id of the request.
        storage: where the run is kept; None if only here.
        checkpoint_id: its last checkpoint there.
    """

    __slots__ = ("checkpoint_id", "journal", "message", "paths", "requests", "storage")

    def __init__(
        self,
        message: Any,
        journal: Journal,
        asked: Mapping[str, Asked],
        storage: Any = None,
        checkpoint_id: str | None = None,
    ) -> None:
        self.storage = storage
        self.checkpoint_id = checkpoint_id
        self.message = message
        self.journal = journal
        self.paths = {name: each.path for name, each in asked.items()}
        self.requests = {
            name: Request(name, each.source, each.data, each.response_type)
            for name, each in asked.items()
        }

    def answers(self, responses: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answers by the path of the question, having checked all of them.

        An answer that was given before may be given again with the others, as code does that
        was written for Agent Framework; it is the same then.

        Raises:
            RequestError: an id isn't open, or an answer has the wrong type, or is another one
                than before; nothing has changed.
        """
        found: dict[str, Any] = {}
        for name, value in responses.items():
            request = self.requests.get(name)
            if request is not None:
                found[self.paths[name]] = fitting(request, value)
            else:
                self._check_same(name, value)
        return found

    def _check_same(self, name: str, value: Any) -> None:
        """Make sure that a question which isn't open has got this very answer."""
        asked = [each for each in self.journal.asked.values() if each.request_id == name]
        if not asked:
            raise not_open(name, self.requests, ())
        request = Request(name, asked[-1].source, asked[-1].data, asked[-1].response_type)
        try:
            is_same = fitting(request, value) == self.journal.answers.get(asked[-1].path)
        except ResponseTypeError:
            is_same = False
        if not is_same:
            raise AnsweredRequestError(
                f"request {name!r} has been answered already, and otherwise; each is answered once",
                request_id=name,
            )
