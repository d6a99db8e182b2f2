# A structured program is a tree of tasks, and where a task stands in that tree says which one it
# is, whatever order the scheduler takes them in. trio doesn't number children. But it calls
# instruments when a task is spawned, with the child's own copy of the spawner's context at hand,
# and spawning happens in the order of the spawner's program. So a strand (one line of execution,
# with a name in the structure) gives each child a strand of its own at that moment, and no task
# ever shares one with another.
#
# The instrument is there only while somebody has strands, in that run of trio.
"""Telling the tasks of one piece of work apart by their place in its structure."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Protocol

from trio.abc import Instrument
from trio.lowlevel import RunVar, Task, add_instrument, remove_instrument

if TYPE_CHECKING:
    from collections.abc import Callable


class Strand(Protocol):
    """One line of execution in a structure of such lines."""

    def spawned(self, name: str) -> Strand:
        """Return a strand for a task that this one spawns. Must not raise.

        Args:
            name: the name of the task.
        """
        ...


current_strand: Final[ContextVar[Strand | None]] = ContextVar("current_strand", default=None)


class _Spawning(Instrument):
    """Gives each new task a strand of its own, if its spawner has one."""

    __slots__ = ("users",)

    def __init__(self) -> None:
        self.users = 0

    def task_spawned(self, task: Task) -> None:
        """Hear from trio of a task that hasn't run yet."""
        strand = task.context.get(current_strand)
        if strand is not None:
            task.context.run(current_strand.set, strand.spawned(task.name))


_spawning: Final[RunVar[_Spawning]] = RunVar("spawning")


def use_strands() -> None:
    """Have tasks get strands from now on, until `drop_strands` is called as often."""
    try:
        instrument = _spawning.get()
    except LookupError:
        _spawning.set(instrument := _Spawning())
    instrument.users += 1
    if instrument.users == 1:
        add_instrument(instrument)


def drop_strands() -> None:
    """End what `use_strands` began."""
    instrument = _spawning.get()
    instrument.users -= 1
    if not instrument.users:
        remove_instrument(instrument)


class Steps(Instrument):
    """Tells whenever a task that has a strand has made a step.

    Args:
        tell: called after each step, in trio's loop; must neither wait nor raise.
    """

    __slots__ = ("_tell",)

    def __init__(self, tell: Callable[[Task, Strand], None]) -> None:
        self._tell = tell

    def after_task_step(self, task: Task) -> None:
        """Hear from trio that a task waits, or is over."""
        strand = task.context.get(current_strand)
        if strand is not None:
            self._tell(task, strand)

    def listen(self) -> None:
        """Begin."""
        add_instrument(self)

    def stop(self) -> None:
        """End."""
        remove_instrument(self)
