"""Messages that are held back until it is known who killed the process; see `_suspects`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from actors.workflows._durable._changes import Changes
    from actors.workflows._durable._ledger import GraphLedger
    from actors.workflows._durable._suspects import Verdict
    from actors.workflows._running._conductor import Conductor
    from actors.workflows._running._deliveries import Delivery, News


class HeldBack:
    """The suspects of one run, at any depth, of which one at a time is let go.

    Args:
        changes: where to note what is held.
    """

    __slots__ = ("_changes", "_freed", "_queues", "_suspect", "_there", "_verdict")

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._verdict: Verdict | None = None
        self._queues: list[tuple[str, ...]] = []
        self._suspect: str | None = None
        # What is held of the workflows that have begun.
        self._there: dict[str, tuple[Conductor, Delivery]] = {}
        self._freed: list[tuple[Conductor, Delivery]] = []

    def begin(self, verdict: Verdict | None) -> None:
        """Note what a crash leads to."""
        self._verdict = verdict
        if verdict is not None:
            self._queues, self._suspect = list(verdict.held), verdict.suspect
        self._note()

    def hold(self, conductor: Conductor, ledger: GraphLedger, news: News) -> None:
        """Count the attempts that the crash broke off, and hold back who may have caused it."""
        restored = conductor.carry.restored
        if self._verdict is None or restored is None:
            return
        for seq in restored.given_up:
            ledger.forget(seq)
        for seq, failed in restored.attempts.items():
            ledger.attempt(seq, failed)
        held = {each for queue in self._queues for each in queue}
        deliveries, news.deliveries = news.deliveries, []
        for delivery in deliveries:
            key = ledger.key("queue", str(delivery.seq))
            if key in held:
                self._there[key] = conductor, delivery
            else:
                news.deliveries.append(delivery)

    def ended(self, key: str) -> None:
        """A turn has ended well: if it was the suspect, it is the turn of the next one."""
        if key == self._suspect:
            self._next()

    def gone(self, prefix: str) -> None:
        """A workflow inside is no more, and so are the messages in it."""
        self._queues = [queue for queue in self._queues if not queue[0].startswith(prefix)]
        for key in [each for each in self._there if each.startswith(prefix)]:
            del self._there[key]
        if self._suspect is not None and self._suspect.startswith(prefix):
            self._next()

    def freed(self) -> list[tuple[Conductor, Delivery]]:
        """Return, once, what is to be delivered when the next commit is safe."""
        found, self._freed = self._freed, []
        return found

    def _next(self) -> None:
        self._suspect = None
        if not self._queues:
            return
        queue = self._queues.pop(0)
        self._suspect = queue[0]
        # The rest is of workflows that haven't begun again yet; there it isn't held any more.
        self._freed += [self._there.pop(key) for key in queue if key in self._there]
        self._note()

    def _note(self) -> None:
        held = {each for queue in self._queues for each in queue}
        self._changes.put_or_remove("held", tuple(sorted(held)))
