"""Which executor objects can't serve two runs at the same time, and whether they would."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocols._errors import WorkflowException

if TYPE_CHECKING:
    from actors.workflows._executor import Executor
    from actors.workflows._graph import Graph


class Exclusive:
    """The executor objects of a graph that may keep attributes, and that all its runs would use.

    Another workflow may be built of the same objects, so it is they who know that they are busy.

    Args:
        workflow: its name, for errors.
        graph: which objects there are.
    """

    def __init__(self, workflow: str, graph: Graph) -> None:
        self._workflow = workflow
        shared = (graph.executors[name] for name in graph.shared_executor_ids)
        self._executors = tuple(each for each in shared if not is_shareable(each))

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


def is_shareable(executor: Executor) -> bool:
    """Whether runs may use *executor* at the same time: it says so, or has a frozen state."""
    return type(executor).shareable or type(executor).state is not None
