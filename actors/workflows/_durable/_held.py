"""Messages that are held back until it is known who killed the process; see `_suspects`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from actors.workflows._deliveries import Delivery, News
    from actors.workflows._durable._changes import Changes
    from actors.workflows._durable._ledger import GraphLedger
    from actors.workflows._durable._suspects import Verdict


class HeldBack:
    """The suspects of one run, of which one at a time is let go.

    Args:
        changes: where to note what is held.
    """

    __slots__ = ("_changes", "_queues", "_suspect")

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._queues: list[tuple[Delivery, ...]] = []
        self._suspect: int | None = None

    def begin(self, verdict: Verdict | None, ledger: GraphLedger, news: News) -> None:
        """Count the attempts that a crash broke off, and hold back who may have caused it."""
        if verdict is None:
            self._changes.remove("held")
            return
        for seq in verdict.given_up:
            ledger.forget(seq)
        for seq, failed in verdict.attempts.items():
            ledger.attempt(seq, failed)
        self._queues, self._suspect = list(verdict.held), verdict.suspect
        held = self._note()
        news.deliveries = [each for each in news.deliveries if each.seq not in held]

    def let_go(self, seq: int, news: News) -> None:
        """After the suspect has ended well, let the next one go."""
        if seq != self._suspect:
            return
        self._suspect = None
        if self._queues:
            queue = self._queues.pop(0)
            self._suspect = queue[0].seq
            news.deliveries.extend(queue)
            self._note()

    def _note(self) -> set[int]:
        held = {each.seq for queue in self._queues for each in queue}
        self._changes.put_or_remove("held", tuple(sorted(held)))
        return held
