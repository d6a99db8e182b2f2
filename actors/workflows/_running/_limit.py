"""What becomes of a run that reaches ``max_iterations``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocols._errors import WorkflowConvergenceException

if TYPE_CHECKING:
    from actors.workflows._running._conductor import Conductor


def not_done(conductor: Conductor, what: str) -> WorkflowConvergenceException:
    """Make the error of a run that isn't done, with what is still on its way in it.

    Args:
        conductor: whose messages these are.
        what: that of which there were as many as there may be.
    """
    settings, deliveries = conductor.settings, conductor.outbox.open.values()
    in_flight = tuple((each.target, each.message) for each in deliveries)
    waiting = ", ".join(map(repr, dict.fromkeys(target for target, _ in in_flight)))
    return WorkflowConvergenceException(
        f"workflow {settings.name!r} was not done after {settings.max_iterations} {what}; "
        f"messages for {waiting} are on their way. Is there a loop without an end? Otherwise "
        "allow more with WorkflowBuilder(max_iterations=…)",
        max_iterations=settings.max_iterations,
        in_flight=in_flight,
    )
