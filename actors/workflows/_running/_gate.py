"""What a conductor needs of whoever stores its commits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from actors.workflows._durable._journal import JournalEntry
    from actors.workflows._running._conductor import Conductor
    from actors.workflows._running._context import TurnContext
    from actors.workflows._running._deliveries import Delivery, News
    from actors.workflows._running._run import Run


class Gate(Protocol):
    """Holds back what follows from commits until they are safe."""

    def pass_on(self, conductor: Conductor, ctx: TurnContext | None, news: News) -> None:
        """Have ``conductor.settled(news)`` called, after that of all earlier news.

        Args:
            conductor: whose commit it is.
            ctx: the turn that was committed; None for what the run begins with.
            news: what follows from it.
        """

    def forget_result(self) -> None:
        """Note that a run that had nothing to do is given something: a new result begins."""

    def try_again(self, conductor: Conductor, ctx: TurnContext) -> None:
        """Note that a turn raised, and is tried again."""

    def child_failed(self, conductor: Conductor, key: int, delivery: Delivery) -> None:
        """Note that a workflow inside has failed, and its message isn't being handled any more.

        Args:
            conductor: of the graph around it.
            key: which child; what is left of it is what it was before.
            delivery: the message that it was begun, or gone on with, by.
        """

    def withdrawn(self, conductor: Conductor, names: Iterable[str]) -> None:
        """Note that requests are closed without an answer."""

    async def record(self, conductor: Conductor, seq: int, at: int, entry: JournalEntry) -> None:
        """Store what a turn does to the world; return when that is safe.

        Args:
            conductor: whose turn it is.
            seq: the delivery that the turn is for.
            at: which entry of the turn's journal.
            entry: the entry.
        """

    async def open(self, run: Run) -> None:
        """Take the stored run over, and put its state into ``run``, before it starts."""

    async def close(self, run: Run, escaped: BaseException | None) -> None:
        """Write what is still to be written; the run has stopped."""
