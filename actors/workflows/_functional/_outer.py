# A function that is called in the turn of an executor, or in that of an agent there, is a part of
# that turn: if the turn is broken off, the function runs again from the top. What its steps came
# to must not be lost then, and a step that must not be done twice must not be done twice. So they
# go into the journal of the turn, as the steps that its handler calls itself. A function with a
# storage of its own keeps them there.
"""Steps of a function that runs inside of somebody else's turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from actors.workflows._functional._journal import StepDone
from actors.workflows._functional._paths import quoted
from protocols._codec._tags import default_registry
from protocols._effects import Effect, current_effects, effect_key, perform

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from actors.workflows._functional._frames import StepTurn
    from actors.workflows._functional._stepping import Call

    # Its value, the turn that made it, and at which attempt.
    Made = tuple[Any, StepTurn | None, int]


@attrs.frozen(eq=False)
class KeptStep:
    """The result of a step that has also set something in its workflow's state."""

    result: Any
    writes: dict[str, Any]


default_registry.register(KeptStep, "kept_step")


def is_kept_outside(call: Call) -> bool:
    """Whether it is the turn around the function that has to remember this step."""
    is_own = call.run.keeper.lasts or call.callee.is_workflow
    return not is_own and current_effects.get() is not None


async def kept_outside(call: Call, make: Callable[[], Awaitable[Made]]) -> Made | StepDone:
    """Make a step's result, or return what the turn around knows of it.

    Args:
        call: the step.
        make: makes it.

    Raises:
        UnknownOutcomeError: it was broken off, and doing it again may do harm.
    """
    found: list[Made] = []

    async def made() -> Any:
        found.append(await make())
        value, turn, _ = found[0]
        keeper = call.run.keeper
        writes = None if turn is None or not turn.writes else keeper.kept(turn.writes)
        kept = keeper.kept(value)
        return kept if writes is None else KeptStep(kept, writes)

    kept = await perform(lambda: _described(call), made)
    if found:
        return found[0]
    if isinstance(kept, KeptStep):
        return StepDone(call.path, call.digest, kept.result, kept.writes)
    return StepDone(call.path, call.digest, kept)


def _described(call: Call) -> Effect:
    return Effect(
        kind="step",
        name=call.name,
        key=effect_key(f"step {quoted(call.run.definition.name)}{call.path}"),
        # With a key of its own a step isn't known by its arguments.
        arguments=None if call.digest is None else [list(call.args), call.kwargs],
        idempotent=call.callee.idempotent,
    )
