"""Which executor objects can't serve two runs at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from actors.workflow._executor import Executor
    from actors.workflow._graph import Graph


def unshareable(graph: Graph) -> tuple[str, ...]:
    """Return the ids of executors of which all runs use one object that may keep attributes."""
    return tuple(
        name for name in graph.shared_executor_ids if not is_shareable(graph.executors[name])
    )


def is_shareable(executor: Executor) -> bool:
    """Whether runs may use *executor* at the same time: it says so, or has a frozen state."""
    return type(executor).shareable or type(executor).state is not None
