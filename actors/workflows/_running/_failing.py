# A turn that failed counts for nothing, and its message is the next one of its executor again.
# Then there are four ends: it is tried again, at once or after a while; it has no attempt left,
# and the executor that handles its errors gets it; it has none, and the run fails.
#
# Handing it over is a commit like any other, whose only effect is one message. So it waits for
# the end of its round, is stored, and stands in order with what the other turns have done.
"""What becomes of a turn that failed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import trio

from actors.workflows._graph._failure import ExecutorFailure
from actors.workflows._nested._undo import Before
from actors.workflows._running._context import TurnContext
from protocols._events import WorkflowErrorDetails

if TYPE_CHECKING:
    from collections.abc import Callable

    from actors.workflows._running._cell import ExecutorCell
    from actors.workflows._running._conductor import Conductor
    from actors.workflows._running._deliveries import Delivery


def turn_failed(conductor: Conductor, ctx: TurnContext, error: Exception) -> bool:
    """Decide what becomes of a turn that raised, whose message is in its queue again.

    Returns:
        False if the executor's cell waits for a timer.
    """
    delay = _next_attempt(conductor, ctx, error)
    if conductor.is_over:
        return True
    if delay is None:
        ctx.cell.take_back()
        _hand_over(conductor, ctx, error)
        return True
    if conductor.run.gate is not None:
        conductor.run.gate.try_again(conductor, ctx)
    # A run whose caller is cancelled tries nothing again: the timer hears of it first.
    if not delay and trio.current_effective_deadline() != -math.inf:
        return True
    conductor.run.nursery.start_soon(_ready_later, conductor, ctx.cell, delay)
    return False


def failed_inside(
    conductor: Conductor, delivery: Delivery, error: Exception, undo: Callable[[], None]
) -> float | None:
    """Decide what becomes of a turn whose work went on in a workflow inside, and failed there.

    Args:
        conductor: of the graph around it.
        delivery: the message that the turn is for.
        error: what it failed with.
        undo: takes away what that workflow was; called if the run goes on without it.

    Returns:
        The seconds to wait before the next attempt; None: there is none.
    """
    attempt = conductor.attempts.failed.get(delivery.seq, 0) + 1
    ctx = TurnContext(conductor.cell(delivery.target), delivery, attempt)
    ctx.is_open = False
    conductor.tell_failed(ctx, error)
    delay = _next_attempt(conductor, ctx, error)
    if conductor.is_over:
        return None
    undo()
    if delay is None:
        _hand_over(conductor, ctx, error)
    elif conductor.run.gate is not None:
        conductor.run.gate.try_again(conductor, ctx)
    return delay


def _next_attempt(conductor: Conductor, ctx: TurnContext, error: Exception) -> float | None:
    """Return when there is another attempt; None, if there is none. Nobody may be left for it."""
    target, seq = ctx.delivery.target, ctx.delivery.seq
    delay = conductor.attempts.again(target, seq, ctx.attempt, error, trio.current_time())
    if delay is None and target not in conductor.graph.on_error:
        conductor.fail(error)
    if not conductor.is_over:
        try:
            ctx.cell.renew(conductor.carry.renewed(conductor.graph, target))
        except Exception as exc:  # noqa: BLE001  (a factory: the run's error)
            conductor.fail(exc)
    return delay


async def _ready_later(conductor: Conductor, cell: ExecutorCell, delay: float) -> None:
    conductor.attempts.waiting += 1
    await trio.sleep(delay)
    conductor.attempts.waiting -= 1
    conductor.dispatcher.schedule(cell)


def _hand_over(conductor: Conductor, ctx: TurnContext, error: Exception) -> None:
    """Commit a turn that failed for good: all it does is to tell the handler of its errors."""
    target, message = ctx.delivery.target, ctx.delivery.message
    details = WorkflowErrorDetails.from_exception(error, executor_id=target)
    cell = ctx.cell
    if cell.is_torn and not type(cell.executor).shareable:
        # There may be no other turn of it in this run.
        Before(cell.executor, cell.snapshot).put_back()
    handler = conductor.graph.on_error[target]
    ctx.forget()
    ctx.sent.append((ExecutorFailure(target, message, details, ctx.attempt), handler))
    ctx.more().chosen = [(handler,)]
    conductor.commit_failure(ctx)
