"""What a run of a workflow tells its listeners, and what its executors send to one another."""

from __future__ import annotations

import traceback as tracebacks
import warnings
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Self, TypeAlias

import attrs
import msgspec

from protocols._codec._tags import default_registry
from protocols._codec._trouble import Trouble
from protocols._codec._type_names import find_type, name_type
from protocols._errors import message_of
from protocols._frozen import FrozenDict, freeze_optional

if TYPE_CHECKING:
    from collections.abc import Mapping

    # Only a type checker knows that the parameter may be left out; 3.13 has it in typing.
    from typing_extensions import TypeVar

    DataT = TypeVar("DataT", default=Any)
else:
    from typing import TypeVar

    DataT = TypeVar("DataT")


class WorkflowRunState(StrEnum):
    """How far a run of a workflow is."""

    STARTED = "STARTED"
    IN_PROGRESS = "IN_PROGRESS"
    IN_PROGRESS_PENDING_REQUESTS = "IN_PROGRESS_PENDING_REQUESTS"
    IDLE = "IDLE"
    IDLE_WITH_PENDING_REQUESTS = "IDLE_WITH_PENDING_REQUESTS"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


WorkflowEventType: TypeAlias = Literal[
    "started", "status", "failed", "warning", "error", "output", "intermediate", "data",
    "request_info", "superstep_started", "superstep_completed", "executor_invoked",
    "executor_completed", "executor_failed", "executor_bypassed", "inner_output",
]  # fmt: skip
"""The types of events that runs have; code of users may add events of other types."""


class WorkflowEventSource(StrEnum):
    """Who speaks in an event: the runtime, or the code of an executor."""

    FRAMEWORK = "FRAMEWORK"
    EXECUTOR = "EXECUTOR"


_FRAMEWORK: Final = WorkflowEventSource.FRAMEWORK
_EXECUTOR: Final = WorkflowEventSource.EXECUTOR


@attrs.frozen
class WorkflowErrorDetails:
    """An error as data, for events that travel further than the exception itself.

    Args:
        error_type: name of the exception's class.
        message: what it says.
        traceback: its printed traceback, if it has one.
        executor_id: the executor in which it happened.
        extra: whatever else is known.
    """

    error_type: str
    message: str
    traceback: str | None = None
    executor_id: str | None = None
    extra: FrozenDict[str, Any] | None = attrs.field(default=None, converter=freeze_optional)

    @classmethod
    def from_exception(
        cls,
        exc: BaseException,
        *,
        executor_id: str | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Self:
        """Describe *exc*, which is not kept: it would keep all variables of its frames."""
        trace = "".join(tracebacks.format_exception(exc)) if exc.__traceback__ else None
        return cls(type(exc).__name__, message_of(exc), trace, executor_id, extra)


@attrs.frozen
class RequestDetails:
    """What an event of the type ``request_info`` has beside its data, which is what is asked.

    Args:
        request_id: names the request in ``run(responses={request_id: answer})``.
        source_executor_id: who asks.
        request_type: the type of the data.
        response_type: the type that the answer must have.
    """

    request_id: str
    source_executor_id: str
    request_type: Any
    response_type: Any


# Made by the thousand, hence a struct. Not one without garbage collection: it holds users'
# objects and exceptions, and a traceback leads back to the event, which would never go away.
# But an event of plain scalars needs none, and msgspec sees that; so who speaks is a bool here,
# where an enum member would have the collector walk over every event that a long run keeps.
class WorkflowEvent(msgspec.Struct, Generic[DataT], frozen=True):
    """One thing that happened in a run of a workflow.

    Events of one's own have a type of one's own: ``WorkflowEvent("progress", data=0.5)``.

    A subclass may add fields (after these, with defaults), methods, properties and a
    ``__post_init__``; it can't have an ``__init__``, so let it have a classmethod instead that
    returns ``cls("my_type", data=…)``. It is frozen too.

    Args:
        type: what happened; any string.
        data: what belongs to it; by identity, never a copy.
        from_executor: whether the code of an executor speaks, and not the runtime.
        state: of the run, for ``status``.
        details: of the error, for ``failed`` and ``executor_failed``.
        executor_id: the executor that it is about.
        iteration: the superstep, from 1 on.
        turn: which turn of the executor in this run.
        attempt: which attempt at that turn, from 1 on.
        path: the ids of the executors through which it came up from a workflow inside of this
            one, outermost first; None if it is this workflow's own.
    """

    type: str
    data: DataT | Any = None
    from_executor: bool = False
    state: WorkflowRunState | None = None
    details: WorkflowErrorDetails | None = None
    executor_id: str | None = None
    iteration: int | None = None
    turn: int | None = None
    attempt: int | None = None
    path: tuple[str, ...] | None = None
    _request: RequestDetails | None = None

    @property
    def origin(self) -> WorkflowEventSource:
        """Who speaks."""
        return _EXECUTOR if self.from_executor else _FRAMEWORK

    # ------------------------------------------------------------------ the run

    @classmethod
    def started(cls, data: Any = None) -> Self:
        """Begin: the first event of every run."""
        return cls("started", data)

    @classmethod
    def status(cls, state: WorkflowRunState, data: Any = None) -> Self:
        """Tell that the run is now in *state*."""
        return cls("status", data, False, state)

    @classmethod
    def failed(cls, details: WorkflowErrorDetails, data: Any = None) -> Self:
        """Tell that the run failed."""
        return cls("failed", data, False, None, details)

    @classmethod
    def superstep_started(cls, iteration: int, data: Any = None) -> Self:
        """Tell that a round begins."""
        return cls("superstep_started", data, False, None, None, None, iteration)

    @classmethod
    def superstep_completed(cls, iteration: int, data: Any = None) -> Self:
        """Tell that a round is over and its effects are committed."""
        return cls("superstep_completed", data, False, None, None, None, iteration)

    @classmethod
    def warning(cls, message: str) -> Self:
        """Tell of something that is probably a mistake."""
        return cls("warning", message)

    @classmethod
    def error(cls, exception: Exception) -> Self:
        """Tell of an error that doesn't end the run."""
        return cls("error", exception)

    # ------------------------------------------------------------------ one executor

    @classmethod
    def executor_invoked(cls, executor_id: str, data: Any = None) -> Self:
        """Tell that a turn begins, with its message."""
        return cls("executor_invoked", data, False, None, None, executor_id)

    @classmethod
    def executor_completed(cls, executor_id: str, data: Any = None) -> Self:
        """Tell that a turn is over, with what it sent and yielded."""
        return cls("executor_completed", data, False, None, None, executor_id)

    @classmethod
    def executor_failed(cls, executor_id: str, details: WorkflowErrorDetails) -> Self:
        """Tell that a turn failed."""
        return cls("executor_failed", None, False, None, details, executor_id)

    @classmethod
    def executor_bypassed(cls, executor_id: str, data: Any = None) -> Self:
        """Tell that a step's recorded result is used instead of running it again."""
        return cls("executor_bypassed", data, False, None, None, executor_id)

    @classmethod
    def output(cls, executor_id: str, data: Any) -> Self:
        """Deliver an output of the workflow."""
        return cls("output", data, False, None, None, executor_id)

    @classmethod
    def intermediate(cls, executor_id: str, data: Any) -> Self:
        """Deliver an output of an executor that isn't one of the whole workflow."""
        return cls("intermediate", data, False, None, None, executor_id)

    @classmethod
    def emit(cls, executor_id: str, data: Any) -> Self:
        """Deliver data of an executor; deprecated, call ``ctx.yield_output`` instead."""
        warnings.warn(
            "WorkflowEvent.emit is deprecated: use ctx.yield_output(data), or an event with a "
            "type of your own, WorkflowEvent('my_type', data=data)",
            DeprecationWarning,
            stacklevel=2,
        )
        return cls("data", data, True, None, None, executor_id)

    # ------------------------------------------------------------------ requests

    @classmethod
    def request_info(
        cls,
        request_id: str,
        source_executor_id: str,
        request_data: Any,
        response_type: Any,
        *,
        request_type: Any = None,
    ) -> Self:
        """Ask somebody outside of the workflow.

        Args:
            request_id: names the request.
            source_executor_id: who asks.
            request_data: what is asked.
            response_type: the type that the answer must have.
            request_type: the type of the data, unless it is that of *request_data*.
        """
        kind = type(request_data) if request_type is None else request_type
        details = RequestDetails(request_id, source_executor_id, kind, response_type)
        return cls("request_info", request_data, executor_id=source_executor_id, _request=details)

    @property
    def request_id(self) -> str:
        """Which request this is; RuntimeError on other types than ``request_info``."""
        return self._asked("request_id").request_id

    @property
    def source_executor_id(self) -> str:
        """Who asks; RuntimeError on other types than ``request_info``."""
        return self._asked("source_executor_id").source_executor_id

    @property
    def request_type(self) -> Any:
        """The type of the data; RuntimeError on other types than ``request_info``."""
        return self._asked("request_type").request_type

    @property
    def response_type(self) -> Any:
        """The type of the answer; RuntimeError on other types than ``request_info``."""
        return self._asked("response_type").response_type

    def _asked(self, name: str) -> RequestDetails:
        if self._request is None:
            raise RuntimeError(
                f"an event of the type {self.type!r} has no {name}: only those that "
                "WorkflowEvent.request_info makes have one"
            )
        return self._request

    def to_dict(self) -> dict[str, Any]:
        """Return a request as a dict, with types by registered tag and the data as it is.

        Raises:
            ValueError: this is no request.
            UnregisteredTypeError: its types have no tags.
        """
        if self._request is None:
            raise ValueError(f"only a request_info event has a dict form, not a {self.type!r}")
        return {
            "type": self.type,
            "data": self.data,
            "request_id": self.request_id,
            "source_executor_id": self.source_executor_id,
            "request_type": _named(self.request_type, "request_type"),
            "response_type": _named(self.response_type, "response_type"),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make a request of its dict form.

        Raises:
            ValueError: that is the dict form of something else, or a key is missing.
            UnknownTagError: a type in it isn't registered. Nothing is imported.
        """
        if data.get("type") != "request_info":
            raise ValueError(
                f"only a request_info event can be made of a dict, not a {data.get('type')!r}"
            )
        missing = _REQUEST_KEYS - data.keys()
        if missing:
            raise ValueError(f"a request_info event needs {', '.join(sorted(missing))} as well")
        return cls.request_info(
            data["request_id"],
            data["source_executor_id"],
            data["data"],
            _found(data["response_type"], "response_type"),
            request_type=_found(data["request_type"], "request_type"),
        )

    def __repr__(self) -> str:
        shown = [repr(self.type)]
        # Only what was set: eight times None would hide it.
        for name in self.__struct_fields__[1:]:
            value = getattr(self, name)
            if value is not None and value is not False and name != "_request":
                shown.append(f"{name}={value if isinstance(value, StrEnum) else repr(value)}")
        if self._request is not None:
            shown.append(f"request_id={self.request_id!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


_REQUEST_KEYS: Final = frozenset({
    "data", "request_id", "request_type", "response_type", "source_executor_id",
})  # fmt: skip


def _named(wanted: Any, key: str) -> Any:
    try:
        return name_type(default_registry, wanted)
    except Trouble as trouble:
        raise trouble.at_key(key).as_error() from None


def _found(name: Any, key: str) -> Any:
    try:
        return find_type(default_registry, name)
    except Trouble as trouble:
        raise trouble.at_key(key).as_error() from None


class MessageType(StrEnum):
    """Why a message travels: an executor sent it, or somebody answered a request."""

    STANDARD = "standard"
    RESPONSE = "response"


@attrs.frozen
class WorkflowMessage:
    """A message on its way from one executor to others.

    Args:
        data: what was sent.
        source_id: the executor that sent it; empty for what came from outside.
        target_id: the one executor that it is for; None lets the edges decide.
        type: whether it answers a request.
        original_request_info_event: the request that it answers.
    """

    data: Any
    source_id: str = ""
    target_id: str | None = None
    type: MessageType = MessageType.STANDARD
    original_request_info_event: WorkflowEvent | None = None
