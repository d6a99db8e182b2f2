# A step is a turn inside of the turn of the workflow's function, in the task that awaits it. It
# has the three moments of every turn: it begins (`executor_invoked`), it does its work, and it
# takes effect in one step without an await: its result and what it set in the state, or nothing.
# Where the run has a storage, the record is safe before that (`Keeper.record`).
#
# A step that fails tells so and is tried again, if supervision says so; otherwise the error is
# raised where the step was awaited, as from any function.
"""Running the steps of a functional workflow, once each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

import attrs
import trio

from actors._core._turns._inner_turn import explored_turn, inner_turn
from actors._core._turns._strands import current_strand
from actors._core._turns._tasks import checkpoint_if_cancelled
from actors.workflows._durable._errors import UnknownOutcomeError
from actors.workflows._durable._journal import JournalEntry
from actors.workflows._functional._digest import changed, digest_of
from actors.workflows._functional._effects import StepEffects
from actors.workflows._functional._forgotten import awaited
from actors.workflows._functional._frames import Frame, Scope, StepTurn
from actors.workflows._functional._journal import StepBegun, StepDone
from actors.workflows._functional._outer import is_kept_outside, kept_outside
from actors.workflows._functional._paths import quoted
from protocols._effects import current_effects, effects_under
from protocols._events import WorkflowErrorDetails, WorkflowEvent

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from actors._core._supervision._decide import Supervision
    from actors._core._turns._dispatch import Cell
    from actors.workflows._functional._outer import Made

# Steps that don't wait still let other tasks run now and then.
BATCH: Final = 64


class Callee(Protocol):
    """What can be called as a step: a step, or a workflow inside of another one."""

    @property
    def name(self) -> str:
        """The step's name."""
        ...

    @property
    def supervision(self) -> Supervision | None:
        """Which failures are tried again; None leaves it to the workflow."""
        ...

    @property
    def idempotent(self) -> bool:
        """Whether doing it again does no harm."""
        ...

    @property
    def is_workflow(self) -> bool:
        """Whether it has a name space of its own."""
        ...

    @property
    def part(self) -> str:
        """The name as a part of a path."""
        ...

    @property
    def key(self) -> object | None:
        """Whatever makes explicit keys; None if the place of a call is its identity."""
        ...

    def key_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """Return the explicit key of this call, if there is a `key` and it makes one."""
        ...

    def named(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return what each parameter gets, by name."""
        ...

    def awaitable(self, args: tuple[Any, ...], kwargs: dict[str, Any], ctx: Any) -> Awaitable[Any]:
        """Call the function."""
        ...


class Call:
    """One call of a step, over all attempts at it. For sweeps it is the cell of its turns."""

    __slots__ = ("args", "callee", "digest", "effects", "frame", "kwargs", "path", "run")

    def __init__(
        self, frame: Frame, callee: Callee, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.frame = frame
        self.run = frame.run
        self.callee = callee
        self.args = args
        self.kwargs = kwargs
        self.effects: StepEffects | None = None
        key = None if callee.key is None else callee.key_for(args, kwargs)
        if key is None:
            self.path = frame.next(callee.part)
            self.digest = digest_of(args, kwargs)
        else:
            self.path = _claimed(frame.scope, callee.name, key)
            self.digest = None

    @property
    def name(self) -> str:
        """Who it is."""
        return self.callee.name

    def inner(self) -> Frame:
        """Return the frame of a new attempt."""
        frame, path, callee = self.frame, self.path, self.callee
        if not callee.is_workflow:
            turn = StepTurn(callee.name, frame.turn)
            return Frame(self.run, path, frame.space, turn)
        return Frame(self.run, path, frame.space.inner(callee, path), None)

    def event(
        self, kind: str, data: Any, attempt: int | None, details: Any = None
    ) -> WorkflowEvent:
        """Make an event about it. By position: two of them are made per step."""
        names = self.frame.space.names
        name = self.callee.name
        return WorkflowEvent(kind, data, False, None, details, name, None, None, attempt, names)


def _claimed(scope: Scope, name: str, key: str) -> str:
    if type(key) is not str or not key:  # it comes from a user's function
        raise ValueError(f"the key of step {name!r} must be a text that isn't empty, not {key!r}")
    if key in scope.keys:
        raise ValueError(
            f"step {name!r} is called with the key {key!r}, and so was another step here: each "
            "call needs a key of its own, for example one made of its arguments"
        )
    scope.keys.add(key)
    return f"{scope.path}/={quoted(key)}"


async def run_step(
    frame: Frame, callee: Callee, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Return the result of a step: the recorded one, or a new one.

    Args:
        frame: where it is called.
        callee: the step.
        args: what it is called with.
        kwargs: likewise.

    Raises:
        ValueError: its key is no key, or taken.
        Exception: what it raised, if it is not tried again.
    """
    run = frame.run
    run.steps_in_a_row += 1
    if run.steps_in_a_row >= BATCH:
        run.steps_in_a_row = 0
        await trio.lowlevel.checkpoint()
    else:
        await checkpoint_if_cancelled()
    call = Call(frame, callee, args, kwargs)
    found = run.journal.steps.get(call.path)
    if found is not None:
        if found.digest == call.digest or (found := _beside(call, found)) is not None:
            value, is_behind = _bypassed(call, found)
            if is_behind:
                await run.room()
            return value
        run.warn(_other_arguments(call))
    return await _live(call)


def _beside(call: Call, found: StepDone) -> StepDone | None:
    """Return the record of a step for these arguments; None: from now on there will be one."""
    journal = call.run.journal
    place = journal.place_of_step(call.path, call.digest)
    if place == call.path:
        return found  # (nobody can tell the arguments apart)
    found_there = journal.steps.get(place)
    if found_there is None:
        call.path = place
    return found_there


def _bypassed(call: Call, found: StepDone) -> tuple[Any, bool]:
    """Return a recorded result, and whether the listener is far behind."""
    run = call.run
    run.hits += not call.callee.is_workflow
    value = run.keeper.given(found.result)
    if found.writes:
        call.frame.take_over(run.keeper.given(found.writes))
    return value, run.reports.emit(call.event("executor_bypassed", value, None))


async def _live(call: Call) -> Any:
    run, callee = call.run, call.callee
    run.live += not callee.is_workflow
    before = _digests(call) if run.is_debugging else {}
    made = await _outcome(call)
    if isinstance(made, StepDone):
        run.journal.add(made)
        run.live -= 1
        value, is_behind = _bypassed(call, made)
        if is_behind:
            await run.room()
        return value
    value, turn, attempt = made
    if run.keeper.lasts:
        await _save(call, value, turn, attempt)
    else:
        run.journal.add(_record(call, value, turn))
    if _take_effect(call, value, turn, attempt):
        await run.room()
    if before and (names := changed(before, _digests(call))):
        for name in names:
            run.warn(_mutated(callee.name, name))
    return value


async def _outcome(call: Call) -> Made | StepDone:
    """Do a step, or find out that the turn around the function has done it before."""
    run, callee = call.run, call.callee
    if is_kept_outside(call):
        return await kept_outside(call, partial(_made, call, None))
    intent = None
    if run.keeper.lasts and not callee.is_workflow:
        call.effects = StepEffects(run, callee.name, call.path)
        if not callee.idempotent:
            intent = await _intent(call)
    return await _made(call, intent)


async def _made(call: Call, intent: StepBegun | None) -> Made:
    """Attempt a step until it goes well; return its value, its turn, and which attempt it was."""
    try:
        return *(await _attempt(call, 1)), 1
    except Exception as exc:  # noqa: BLE001  (it is raised again there)
        return await _tried_again(call, intent, exc)


async def _intent(call: Call) -> StepBegun:
    """Say durably that something is about to be done that must not be done twice."""
    keeper, intent = call.run.keeper, StepBegun(call.path, call.digest)
    if call.run.journal.is_in_doubt(call.path):
        entry = JournalEntry(call.path, "step", call.name, "intent")
        raise UnknownOutcomeError(call.name, entry, f"{keeper.run_id}{call.path}")
    await keeper.record(intent)
    return intent


async def _attempt(call: Call, attempt: int) -> tuple[Any, StepTurn | None]:
    run = call.run
    data = {"args": call.args, "kwargs": call.kwargs} if call.args or call.kwargs else None
    if run.reports.emit(call.event("executor_invoked", data, attempt)):
        await run.room()
    inner = call.inner()
    token = current_strand.set(inner)
    try:
        turn = call.callee.awaitable(call.args, call.kwargs, run.ctx)
        if run.explorer is not None:
            turn = explored_turn(run.explorer, cast("Cell", call), turn)
        if call.effects is not None or current_effects.get() is not None:
            turn = _recording(call, turn)
        value = await inner_turn(call.callee.name, turn)
        return awaited(call.callee.name, value), inner.turn
    finally:
        current_strand.reset(token)


async def _recording(call: Call, turn: Awaitable[Any]) -> Any:
    """Await *turn*; what it does outside is recorded, under its own place."""
    token = None if call.effects is None else current_effects.set(call.effects)
    try:
        with effects_under(call.path):
            return await turn
    finally:
        if token is not None:
            current_effects.reset(token)


async def _tried_again(
    call: Call, intent: StepBegun | None, error: Exception
) -> tuple[Any, StepTurn | None, int]:
    """Attempt a step that has failed until it goes well, or isn't to be tried again.

    Whoever raises says that nothing was done. If it is broken off, nobody knows.
    """
    attempt = 1
    while (delay := _told_failure(call, attempt, error)) is not None:
        await trio.sleep(delay)
        attempt += 1
        if call.effects is not None:
            await call.effects.again()
        try:
            return *(await _attempt(call, attempt)), attempt
        except Exception as exc:  # noqa: BLE001  (it is raised below)
            error = exc
    try:
        if intent is not None:
            await call.run.keeper.record(attrs.evolve(intent, over=True))
        raise error
    finally:
        del error  # its traceback refers to this frame: a cycle


def _record(call: Call, value: Any, turn: StepTurn | None) -> StepDone:
    keeper = call.run.keeper
    writes = None if turn is None or turn.writes is None else keeper.kept(turn.writes)
    return StepDone(call.path, call.digest, keeper.kept(value), writes)


async def _save(call: Call, value: Any, turn: StepTurn | None, attempt: int) -> None:
    """Have the record of a step stored, or refuse its result."""
    try:
        await call.run.keeper.record(_record(call, value, turn))
    except Exception as exc:
        exc.add_note(f"it was returned, or set in the state, by step {call.name!r} ({call.path})")
        details = WorkflowErrorDetails.from_exception(exc, executor_id=call.name)
        call.run.emit(call.event("executor_failed", None, attempt, details))
        raise


def _take_effect(call: Call, value: Any, turn: StepTurn | None, attempt: int) -> bool:
    """Have a step take effect, in one piece. True: the listener is far behind."""
    run, explorer, cell = call.run, call.run.explorer, cast("Cell", call)
    if explorer is not None:
        explorer.before_commit(cell)
        explorer.note("commits", cell)
    if turn is not None and turn.writes:
        call.frame.take_over(turn.writes)
    is_behind = run.reports.emit(call.event("executor_completed", value, attempt))
    if explorer is not None:
        explorer.after_commit(cell)
    return is_behind


def _told_failure(call: Call, attempt: int, error: Exception) -> float | None:
    """Tell of a failed attempt; return the seconds until the next one, or None."""
    run, callee = call.run, call.callee
    details = WorkflowErrorDetails.from_exception(error, executor_id=callee.name)
    run.emit(call.event("executor_failed", None, attempt, details))
    if callee.is_workflow or run.is_over:
        return None
    supervision = callee.supervision or call.frame.space.supervision
    return None if supervision is None else run.delay(supervision, callee.name, error)


def _digests(call: Call) -> dict[str, bytes | None]:
    named = call.callee.named(call.args, call.kwargs)
    return {name: digest_of((value,), {}) for name, value in named.items()}


def _mutated(step: str, argument: str) -> str:
    return (
        f"StepMutatedArgument({argument!r}): step {step!r} has changed what it was given. When "
        "its result is used again, the step doesn't run, and the change is lost: only what a "
        "step returns survives, so return the new value"
    )


def _other_arguments(call: Call) -> str:
    return (
        f"step {call.name!r} runs again: what is recorded at {call.path} was for other arguments. "
        "If tasks take their work as it comes, give the step a key made of its arguments; if "
        "something between the steps is random, or reads a clock, put that into a step, too"
    )
