"""The span of a run, under which the spans of its turns and its agents stand."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from actors.observability._names import OtelAttr
from actors.observability._operations import Operation, is_heard, is_traced

if TYPE_CHECKING:
    from collections.abc import Callable

    from actors.workflows._functional._workflow import FunctionalWorkflow
    from actors.workflows._running._conductor import Conductor
    from actors.workflows._running._life import Life
    from actors.workflows._running._tracing import Tracing
    from actors.workflows._workflow import Workflow

RunT = TypeVar("RunT", bound="Life")


def recorded(
    workflow: Workflow | FunctionalWorkflow[Any],
    make: Callable[[Callable[[Any], None]], RunT],
    on_end: Callable[[Any], None],
) -> RunT:
    """Make a run that is recorded as a span, if somebody listens.

    Args:
        workflow: whose run it is.
        make: makes it, given what is to be told of its end; the span is current meanwhile, so
            that the run's turns, which have its context, stand under it.
        on_end: what is to be told of its end.
    """
    if not is_heard():
        return make(on_end)
    operation = Operation(
        f"{OtelAttr.WORKFLOW_RUN_SPAN} {workflow.name}",
        {
            OtelAttr.WORKFLOW_ID: getattr(workflow, "id", None),
            OtelAttr.WORKFLOW_NAME: workflow.name,
            OtelAttr.WORKFLOW_DESCRIPTION: workflow.description or None,
        },
    )
    with operation.current():
        return make(partial(_ended, operation, on_end))


def _ended(operation: Operation, on_end: Callable[[Any], None], run: Life) -> None:
    error = run.error
    operation.note({"workflow.state": run.status.value})
    if isinstance(error, Exception):
        operation.fail(error)
    operation.end()
    on_end(run)


def tracing_of(conductor: Conductor) -> Tracing | None:
    """Return what makes the turns of *conductor* spans; None if nobody listens."""
    if not is_traced():
        return None
    from actors.workflows._running._tracing import Tracing  # it needs OpenTelemetry at work

    return Tracing(conductor)
