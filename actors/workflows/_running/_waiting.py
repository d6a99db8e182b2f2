# Which run does an answer belong to? The one that has a request of that name open. If several
# have, the names were given by hand, and it matters when those runs took place: one that began
# after another had ended asks anew what that one asked, and takes its place; of two that ran at
# the same time neither may get what was meant for the other.
"""The runs of a workflow that wait for people."""

from __future__ import annotations

import itertools
import logging
from typing import TYPE_CHECKING, Any, Final

from actors.workflows._running._requests import check_mapping, not_open
from protocols._errors import WorkflowException

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from actors.workflows._running._carry import Carry

# Questions that nobody ever answers must not fill the memory of a long-lived program.
MAX_WAITING: Final = 1000
# Remembered only to tell a second answer from one to something that was never asked.
MAX_ANSWERED: Final = 10_000

_log: Final = logging.getLogger(__name__)


class Waiting:
    """What ended runs with open requests go on with, each at most once at a time.

    Args:
        workflow: its name, for errors.
    """

    def __init__(self, workflow: str) -> None:
        self._workflow = workflow
        self._moments = itertools.count()
        # By the moment when the run ended, the oldest first.
        self._carries: dict[int, Carry] = {}
        self._going_on: dict[int, Carry] = {}
        self._answered: dict[str, None] = {}

    def moment(self) -> int:
        """Return a number for now, to tell what was before what."""
        return next(self._moments)

    def add(self, carry: Carry, since: int) -> None:
        """Keep the state of a run that began at the moment *since* and has just ended."""
        for key in [k for k, each in self._carries.items() if k < since and _overlap(each, carry)]:
            del self._carries[key]
        self._carries[self.moment()] = carry
        if len(self._carries) > MAX_WAITING:
            _log.warning(
                "more than %d runs of workflow %r wait for responses; the oldest is given up",
                MAX_WAITING,
                self._workflow,
            )
            del self._carries[next(iter(self._carries))]

    def find(self, responses: Mapping[str, Any]) -> tuple[int, Carry]:
        """Return the one run that waits for (some of) these responses, and its key.

        Raises:
            RuntimeError: no run waits for anything.
            RequestError: none waits for these.
            WorkflowException: several do, or the one is going on already.
        """
        check_mapping(responses)
        if any(responses.keys() & carry.requests.keys() for carry in self._going_on.values()):
            raise self._is_going_on()
        if not self._carries:
            raise RuntimeError(
                f"workflow {self._workflow!r} waits for no responses; start a run with a message"
            )
        if not responses:
            return next(reversed(self._carries.items()))
        found = [i for i in self._carries.items() if responses.keys() & i[1].requests.keys()]
        if len(found) == 1:
            return found[0]
        if found:
            raise WorkflowException(
                f"{len(found)} runs of workflow {self._workflow!r} wait for these responses: "
                f"{'; '.join(_open(carry) for _, carry in found)}. Answer one run at a time, and "
                "let request_info make the ids if runs go on at the same time"
            )
        unknown = next((name for name in responses if name in self._answered), None)
        known = (name for carry in self._carries.values() for name in carry.requests)
        raise not_open(unknown or next(iter(responses)), known, self._answered)

    def take(self, key: int) -> None:
        """Begin to go on with a run.

        Raises:
            WorkflowException: that has been done already.
        """
        if key not in self._carries:
            raise self._is_going_on()
        self._going_on[key] = self._carries.pop(key)

    @property
    def answered(self) -> Collection[str]:
        """Ids of requests that were answered lately."""
        return self._answered

    def give_back(
        self, key: int, *, is_done: bool, still_open: Collection[str] | None = None
    ) -> None:
        """End what `take` began; unless it *is done* it can be tried again.

        Args:
            key: what was taken.
            is_done: whether it was gone on with to an end.
            still_open: ids of the requests that are open now, to remember what was answered.
        """
        carry = self._going_on.pop(key)
        if not is_done:
            self._carries = dict(sorted({**self._carries, key: carry}.items()))
        elif still_open is not None:
            self._answered.update(dict.fromkeys(carry.requests.keys() - still_open))
        while len(self._answered) > MAX_ANSWERED:
            del self._answered[next(iter(self._answered))]

    def _is_going_on(self) -> WorkflowException:
        return WorkflowException(
            f"the run of workflow {self._workflow!r} that these responses are for goes on "
            "already, or has gone on since; give all of them at once, or wait for its end"
        )


def _overlap(one: Carry, other: Carry) -> bool:
    return not one.requests.keys().isdisjoint(other.requests.keys())


def _open(carry: Carry) -> str:
    return ", ".join(map(repr, carry.requests))
