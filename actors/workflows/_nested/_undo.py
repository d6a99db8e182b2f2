# A child that fails as a whole is begun again from where it was before the message that opened it.
# Its state is data, and the attempt's is simply dropped; but executors inside may keep mutable
# attributes on objects that outlive the attempt. So what their hooks say of them is kept when the
# first turn of the attempt comes to them, and given back when the next turn does that is not the
# attempt's. Not at once: hooks have to be awaited, and a child fails in a step without awaits.
#
# No other child changes such an object meanwhile, since those with attributes in common take
# turns. Objects that say that they may be shared are left alone: an attempt that failed can't be
# taken out of them without what others did beside it.
"""Undoes what a child that failed has left on executor objects."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import attrs

from actors.workflows._graph._executor import Executor
from actors.workflows._graph._retries import rolls_back

if TYPE_CHECKING:
    from actors.workflows._running._carry import Carry
    from actors.workflows._running._cell import ExecutorCell


@attrs.frozen(eq=False)
class Before:
    """What an executor kept before a child came to it."""

    executor: Executor
    snapshot: dict[str, Any]

    def put_back(self) -> None:
        """Have it given back before the executor's next turn."""
        self.executor._torn = self.snapshot  # noqa: SLF001  (ours)


async def mend(executor: Executor) -> None:  # noqa: ASYNC910  (mostly nothing to do)
    """Give an executor back what it kept before turns that came to nothing."""
    torn = executor._torn  # noqa: SLF001  (ours)
    if torn is not None:
        await executor.on_checkpoint_restore(deepcopy(torn))
        executor._torn = None  # noqa: SLF001  (ours)


async def first_touch(cell: ExecutorCell) -> None:  # noqa: ASYNC910  (waits as long as the hook does)
    """Make an executor ready for its first turn in a child, which may come to nothing."""
    executor = cell.executor
    conductor: Any = cell.conductor
    if type(executor).shareable:
        return  # noqa: ASYNC910  (as above)
    key = id(executor)
    found = Before(executor, deepcopy(await executor.on_checkpoint_save()))
    if cell.snapshot is None:
        cell.snapshot = found.snapshot
    # A child that is begun again inside of another one is one attempt of that, too.
    while conductor.touched is not None:  # it is at the root of the run
        conductor.touched.setdefault(key, found)
        conductor = conductor.parent


def forget_made(carry: Carry) -> None:
    """Forget the executors that factories made and that can't be put back; there will be new ones."""
    carry.executors = {name: each for name, each in carry.executors.items() if rolls_back(each)}
    for child in carry.children.values():
        forget_made(child.carry)
