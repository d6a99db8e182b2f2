# Which ready actor is next is a decision, and nearly all the freedom there is: actors are turns of
# few tasks, so that trio's own order of tasks says next to nothing about the order of turns. A
# seed has to decide here.
#
# Nothing of this costs anything while nobody explores. A dispatcher asks once, when it is made,
# whether it is inside an exploration; only then it hands its ready cells to an `Explorer`, which
# gives them back wrapped in a `Turn`. The wrapper is how the explorer hears of turns and how the
# sweeps of `actors.testing` get in between a turn's steps. It is a cell like any other, so the
# dispatcher knows nothing of it.
#
# A lone worker runs up to 64 turns before anybody else's task gets to run. Under a seed it also
# stops between turns by chance, or the orders between turns and tasks would stay unexplored.
"""Orders of turns that follow a seed."""

from __future__ import annotations

import random
from collections import deque
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from actors._core._phases import STOPPED

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator
    from contextvars import Context

    from actors._core._system import System
    from actors._core._turns._dispatch import Cell, Worker

# How often a worker lets other tasks run between two turns.
PAUSES: Final = 0.25
# How much of an order is kept to be looked at. All of it goes into the signature.
KEPT: Final = 10_000
# More turns than any worker runs in a row.
ENOUGH: Final = 1 << 30


class Explorer:
    """Decides which ready cell is next, and records what became of the turns.

    The methods that end in ``_turn`` and ``_commit`` do nothing here. They are for those who
    derive from this class to interfere.

    Attributes:
        order: the latest steps of turns: ``("begins" | "commits" | "fails", name of the actor)``.
        signature: a number that tells all the steps so far from other sequences of them, within
            this process.
        turns: how many turns have begun.
        random: what every other decision by chance should use, too.
        systems: the systems that were opened so far, as long as they are there.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)  # noqa: S311  (it has to be foreseeable)
        self.order: deque[tuple[str, str]] = deque(maxlen=KEPT)
        self.signature = 0
        self.turns = 0
        self.systems: WeakSet[System] = WeakSet()

    def choose(self, ready: deque[Cell]) -> Cell:
        """Take the cell to run next out of the queue."""
        index = self.random.randrange(len(ready))
        cell = ready[index]
        del ready[index]
        return Turn(cell.cell if isinstance(cell, Turn) else cell, self)

    def note(self, step: str, cell: Cell) -> None:
        """Record one step of a turn."""
        entry = (step, cell.name)
        self.order.append(entry)
        self.signature = hash((self.signature, entry))

    def block_failed(self, system: System, error: BaseException) -> None:
        """The block of *system* raised *error*; say on it what the actors were doing."""
        if isinstance(error, Exception):
            error.add_note(f"when its block failed:\n{system.inspect()}")

    def trees(self) -> str:
        """Draw the actors of all systems that have not ended."""
        live = (system for system in self.systems if system.root.phase != STOPPED)
        return "\n".join(sorted(str(system.inspect()) for system in live))

    def before_turn(self, cell: Cell) -> None:
        """*cell* was chosen; perhaps it has no work after all. Must not raise."""

    def in_turn(self, cell: Cell) -> None:
        """The turn has begun, its handler has not. What this raises, the handler raises."""

    def after_turn(self, cell: Cell) -> None:
        """The handler has returned. What this raises, the handler raises."""

    def before_commit(self, cell: Cell) -> None:
        """The turn is about to take effect. Must not raise."""

    def after_commit(self, cell: Cell) -> None:
        """The turn took effect. Must not raise."""


class Turn:
    """A cell for one turn, in the place of the real one."""

    __slots__ = ("_coro", "cell", "context", "explorer")

    context: Context

    def __init__(self, cell: Cell, explorer: Explorer) -> None:
        self.cell = cell
        self.explorer = explorer
        self._coro: Coroutine[Any, Any, Any] | None = None

    @property
    def name(self) -> str:
        """Who it is."""
        return self.cell.name

    def begin(self, worker: Worker) -> Coroutine[Any, Any, Any] | None:
        """Begin the real cell's turn, or say that there is none."""
        explorer = self.explorer
        if explorer.random.random() < PAUSES:
            worker.turns = ENOUGH
        explorer.before_turn(self.cell)
        self._coro = self.cell.begin(worker)
        if self._coro is None:
            return None
        self.context = self.cell.context
        explorer.turns += 1
        explorer.note("begins", self.cell)
        return self._run(worker, self._coro)

    async def _run(self, worker: Worker, coro: Coroutine[Any, Any, Any]) -> None:  # noqa: ASYNC910
        worker.cell = self.cell  # who waits for whom is a matter between real cells
        self.explorer.in_turn(self.cell)
        await coro
        self.explorer.after_turn(self.cell)

    def done(self) -> bool:
        """Commit."""
        self.explorer.before_commit(self.cell)
        self.explorer.note("commits", self.cell)
        more = self.cell.done()
        self.explorer.after_commit(self.cell)
        return more

    def not_done(self, error: BaseException | None) -> bool:
        """Commit nothing."""
        assert self._coro is not None
        self._coro.close()  # it may never have begun
        self.explorer.note("fails", self.cell)
        return self.cell.not_done(error)


exploring: ContextVar[Explorer | None] = ContextVar("exploring", default=None)


@contextmanager
def explore(seed: int) -> Iterator[Explorer]:
    """Have the systems that are opened, and the workflows that are run, in this block follow *seed*.

    This is about turns only. `actors.testing.seeds` has trio's tasks follow a seed, too, so that
    everything can be replayed exactly.
    """
    token = exploring.set(explorer := Explorer(seed))
    try:
        yield explorer
    finally:
        exploring.reset(token)


def chance(own: random.Random) -> random.Random:
    """Return what to draw from: *own*, or the seed's if we are inside an exploration."""
    explorer = exploring.get()
    return own if explorer is None else explorer.random
