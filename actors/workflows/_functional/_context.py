"""What a workflow's function, and its steps, do besides computing: ask, tell, remember."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, cast

import msgspec

from actors._core._errors import TurnOverError
from actors.workflows._functional._ask import ask
from actors.workflows._functional._frames import Frame, current_frame
from actors.workflows._running._context import RESERVED
from protocols._errors import WorkflowException
from protocols._events import WorkflowEvent

if TYPE_CHECKING:
    from actors.workflows._functional._run import FunctionalRun


class WorkflowRunContext:
    """The run that a function is part of.

    A function gets it by the annotation ``WorkflowRunContext`` (or `RunContext`), or by the name
    ``ctx``; anybody deeper down gets it from `get_run_context`. All that it does is done where
    its caller is: in a step, in the body, in a workflow that the body calls.

    To try a step by itself, give it ``WorkflowRunContext("a name")``: that remembers what is
    set, and is of no use otherwise.
    """

    __slots__ = ("_run",)

    __run_context__: ClassVar[bool] = True  # marks what a parameter may be annotated with

    def __new__(cls, run: FunctionalRun | str, **_: Any) -> Self:
        """Make the context of a run; or one that stands for it, for what is tested by itself."""
        return super().__new__(cast("type[Self]", _Alone) if isinstance(run, str) else cls)

    def __init__(self, run: Any, *, streaming: bool = False) -> None:  # noqa: ARG002 (of one alone)
        self._run = run

    async def request_info(
        self, request_data: Any, response_type: Any, *, request_id: str | None = None
    ) -> Any:
        """Ask the world outside, and return the answer.

        The first time there is none: the run pauses here, and its result has the request. Call
        ``run(responses={request_id: answer})``, and the function runs again from the top; steps
        that are done aren't run again, and this returns the answer.

        Args:
            request_data: what is asked.
            response_type: the type that the answer must have.
            request_id: names the request; a UUID if not given, the same one at each replay.

        Raises:
            ValueError: another request of that name is open.
        """
        return await ask(self._frame(), request_data, response_type, request_id)

    async def add_event(self, event: WorkflowEvent) -> None:  # noqa: ASYNC910  (waits for slow readers only)
        """Put an event of the caller's own into the stream of the run.

        An ``intermediate`` event is an output on the way. The other types that the engine speaks
        with (``output``, ``status``, …) are its own; a ``warning`` takes the place of such an
        event. At a replay the event is told again,
        unless it was told from inside of a step that is done.
        """
        frame = self._frame()
        if event.type in RESERVED and event.type != "intermediate":
            event = WorkflowEvent.warning(
                f"{_who(frame)!r} made an event of type {event.type!r}, which only the engine "
                "makes; give it a type of your own"
            )
        if self._run.emit(msgspec.structs.replace(event, from_executor=True)):
            await self._run.room()

    def get_state(self, key: str, default: Any = None) -> Any:
        """Return this workflow's value under *key*: set by its body, its steps so far, or here."""
        return self._frame().get_state(key, default)

    def set_state(self, key: str, value: Any) -> None:
        """Set this workflow's value under *key*.

        What a step sets counts from its end on, and is set again when the step's result is used
        again. What a step that fails has set is lost.

        Raises:
            ValueError: the key begins with an underscore: those are the engine's.
            UnregisteredTypeError: the value can't be stored, and the run has a storage.
        """
        _check_key(key)
        frame = self._frame()
        self._run.keeper.check(value)
        frame.set_state(key, value)

    @property
    def idempotency_key(self) -> str | None:
        """The same at each repetition of the step that is at work, and unique otherwise.

        It is for services that do a thing once per key. None outside of a step, and for a run
        without a storage, which nobody can repeat after it has died.
        """
        frame, run_id = self._frame(), self._run.keeper.run_id
        return f"{run_id}{frame.scope.path}" if run_id and frame.turn is not None else None

    def is_streaming(self) -> bool:
        """Say whether somebody listens to the run while it goes on (``run(stream=True)``)."""
        return self._run.reports.feed is not None

    def _frame(self) -> Frame:
        frame = current_frame()
        if frame is None or frame.run is not self._run:
            raise TurnOverError(self._run.definition.name)
        return frame


class _Alone(WorkflowRunContext):
    """Stands for the context of a run where there is none: ``RunContext("the workflow's name")``.

    For trying a step by itself. It remembers what is set; nobody listens, and nobody answers.
    """

    __slots__ = ("_is_streaming", "_state")

    def __init__(self, run: str, *, streaming: bool = False) -> None:
        super().__init__(run)
        self._is_streaming = streaming
        self._state: dict[str, Any] = {}

    async def request_info(  # noqa: ASYNC910  (it only raises)
        self,
        request_data: Any,
        response_type: Any,  # noqa: ARG002
        *,
        request_id: str | None = None,
    ) -> Any:
        raise WorkflowException(
            f"there is no run of {self._run!r} that could wait for an answer to "
            f"{request_id or request_data!r}: ask in a workflow that is run"
        )

    async def add_event(self, event: WorkflowEvent) -> None:
        pass

    @property
    def idempotency_key(self) -> str | None:
        return None

    def get_state(self, key: str, default: Any = None) -> Any:
        return self._state.get(key, default)

    def set_state(self, key: str, value: Any) -> None:
        _check_key(key)
        self._state[key] = value

    def is_streaming(self) -> bool:
        return self._is_streaming


RunContext: TypeAlias = WorkflowRunContext
"""The name that Microsoft Agent Framework's code has for it."""


def get_run_context() -> WorkflowRunContext | None:
    """Return the context of the running workflow that the caller is in; None outside."""
    frame = current_frame()
    return None if frame is None else frame.run.ctx


def _check_key(key: str) -> None:
    if key.startswith("_"):
        raise ValueError(f"the key {key!r} begins with an underscore: those are the engine's")


def _who(frame: Frame) -> str:
    return frame.space.name if frame.turn is None else frame.turn.step
