"""What is on its way inside a run, and what a committed turn leaves for the end of its round.

Made once per message and turn, hence structs: a named tuple costs three times as much.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import msgspec

from actors.workflows._graph._maps import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from actors.workflows._nested._children import Opening, Taken
    from actors.workflows._running._resources import Resource


class Request:
    """A question to the world outside, as it was asked.

    ``asked_as`` is the id that it was asked under, where another open request had that already.
    """

    __slots__ = ("asked_as", "data", "id", "response_type", "scope", "source")

    def __init__(
        self,
        id_: str,
        source: str,
        data: Any,
        response_type: Any,
        scope: Scope | None = None,
        asked_as: str | None = None,
    ) -> None:
        self.id = id_
        self.asked_as = asked_as
        self.source = source
        self.data = data
        self.response_type = response_type
        self.scope = scope

    def apart_from(self, known: Mapping[str, Request]) -> Request:
        """Return the request under an id that no other open request has.

        Not even one of the same executor: for another message, or another item of a map, it asks
        something else, and the first question would never be answered.
        """
        if self.id not in known:
            return self
        name = wanted = f"{self.source}/{self.id}"
        numbers = itertools.count(2)
        while name in known:
            name = f"{wanted}/{next(numbers)}"
        return Request(name, self.source, self.data, self.response_type, self.scope, self.id)


class Rare:
    """What only some turns have.

    ``chosen`` and ``snapshot`` are what the end of the turn found out where it had to await:
    the targets of each message, and what the executor keeps. ``reads`` are the versions of the
    state that the turn has read, where these may change meanwhile. ``opens`` is the workflow in
    which the turn goes on, ``taken`` what it took back from one, ``entered`` what it keeps open.
    """

    __slots__ = (
        "actions",
        "chosen",
        "entered",
        "has_previews",
        "opens",
        "reads",
        "requests",
        "snapshot",
        "taken",
    )

    def __init__(self) -> None:
        self.actions: list[Callable[[], None]] = []
        self.chosen: list[tuple[str, ...]] | None = None
        self.entered: list[Resource] = []
        self.reads: dict[str, int] = {}
        self.requests: dict[str, Request] = {}
        self.snapshot: Any = None
        self.has_previews = False
        self.opens: Opening | None = None
        self.taken: Taken | None = None


class ChildTurn(msgspec.Struct, frozen=True):
    """What is delivered to the executor of a workflow that has something to hand over.

    It stands for the message that the workflow was begun with, under that one's number: as
    long as it is on its way, the round of that message isn't over.

    Args:
        key: which child it is.
        is_idle: whether nothing goes on in it any more; otherwise it has only asked something.
    """

    key: int
    is_idle: bool = True


class Delivery(msgspec.Struct, frozen=True):
    """A message for one executor, numbered in the order of the commits that sent them.

    ``request`` is what the message answers, if it is an answer; ``scope`` the item of a map that
    it is about, if it is about one; ``depth`` the length of the longest chain of messages that
    led to it, from 1; ``is_made`` whether the engine made it, as a list of several.
    """

    seq: int
    target: str
    sources: tuple[str, ...]
    message: Any
    request: Request | None = None
    scope: Scope | None = None
    depth: int = 1
    is_made: bool = False


class Effects(msgspec.Struct, frozen=True):
    """What a committed turn sent, yielded and wrote, kept until its round ends.

    ``rare`` has the targets of each message, where conditions had to be asked, and what the
    turn wants done then; ``scope`` and ``depth`` are those of the message it handled.
    """

    source: str
    sent: list[tuple[Any, str | None]]
    outputs: list[Any]
    writes: dict[str, Any] | None
    rare: Rare | None
    scope: Scope | None = None
    depth: int = 1


class News(msgspec.Struct):
    """What a commit has to publish once it is safe: events first, then what follows from it.

    ``applied`` are the effects that this commit made count: the turn's own, or a round's;
    ``has_statuses`` says whether some of the events are about the status of the run.
    """

    events: list[Any] = []  # (msgspec makes a new one for each)
    deliveries: list[Delivery] = []
    applied: list[Effects] = []
    has_statuses: bool = False
