"""What is on its way inside a run, and what a committed turn leaves for the end of its round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from actors.workflows._context import Rare


class Request:
    """A question to the world outside, as it was asked."""

    __slots__ = ("data", "id", "response_type", "source")

    def __init__(self, id_: str, source: str, data: Any, response_type: Any) -> None:
        self.id = id_
        self.source = source
        self.data = data
        self.response_type = response_type


class Delivery(NamedTuple):
    """A message for one executor, numbered in the order of the commits that sent them.

    ``request`` is what the message answers, if it is an answer.
    """

    seq: int
    target: str
    sources: tuple[str, ...]
    message: Any
    request: Request | None = None


class Effects(NamedTuple):
    """What a committed turn sent, yielded and wrote, kept until its round ends.

    ``rare`` has the targets of each message, where conditions had to be asked, and what the
    turn wants done then.
    """

    source: str
    sent: list[tuple[Any, str | None]]
    outputs: list[Any]
    writes: dict[str, Any] | None
    rare: Rare | None


class News:
    """What a commit has to publish once it is safe: events first, then what follows from it."""

    __slots__ = ("deliveries", "events")

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.deliveries: list[Delivery] = []
