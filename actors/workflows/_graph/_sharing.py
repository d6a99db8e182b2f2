"""Which executor objects can't serve two runs at the same time, and whether they would."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocols._errors import WorkflowException

if TYPE_CHECKING:
    from collections.abc import Iterator

    from actors.workflows._graph._definition import Graph
    from actors.workflows._graph._executor import Executor


class Exclusive:
    """The executor objects of a graph that may keep attributes, and that all its runs would use.

    Another workflow may be built of the same objects, so it is they who know that they are busy.

    Args:
        workflow: its name, for errors.
        graph: which objects there are.
    """

    def __init__(self, workflow: str, graph: Graph) -> None:
        self._workflow = workflow
        self._executors = tuple({id(each): each for each in unshareable(graph)}.values())

    def check(self) -> None:
        """Make sure that a run may begin now.

        Raises:
            WorkflowException: it would share executors with a run that goes on.
        """
        busy = [each.id for each in self._executors if each._runs]  # noqa: SLF001  (ours)
        if busy:
            raise WorkflowException(
                f"a run of workflow {self._workflow!r} can't begin: another one goes on with its "
                f"executors {', '.join(map(repr, busy))}, which keep attributes that the two "
                "would share. Give the builder a factory instead of the object, or declare a "
                "frozen `state` on the class (or `shareable = True` if sharing is fine)"
            )

    def count(self, runs: int) -> None:
        """Note that a run begins (1) or ended (-1)."""
        for each in self._executors:
            each._runs += runs  # noqa: SLF001  (ours)


def unshareable(graph: Graph) -> Iterator[Executor]:
    """Yield the executors of a graph, and of those inside, that two runs can't share."""
    for name in graph.shared_executor_ids:
        each = graph.executors[name]
        if not is_shareable(each):
            yield each
        inner = getattr(getattr(each, "workflow", None), "graph", None)
        if inner is not None:
            yield from unshareable(inner)


def is_shareable(executor: Executor) -> bool:
    """Whether runs may use *executor* at the same time: it says so, or has a frozen state."""
    return type(executor).shareable or type(executor).state is not None
