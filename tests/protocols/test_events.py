"""Events are small, frozen, and say what they are."""

from __future__ import annotations

import gc
import weakref
from typing import Any, Self

import attrs
import pytest

from protocols._codec._codec import decode, encode
from protocols._errors import UnknownTagError, UnregisteredTypeError
from protocols._events import (
    WorkflowErrorDetails,
    WorkflowEvent,
    WorkflowEventSource,
    WorkflowMessage,
    WorkflowRunState,
)
from protocols._message import Message

DETAILS = WorkflowErrorDetails("ValueError", "no")


def test_the_natural_call_needs_three_arguments() -> None:
    event = WorkflowEvent("output", 5, executor_id="a")

    assert (event.type, event.data, event.executor_id) == ("output", 5, "a")
    assert event.origin is WorkflowEventSource.FRAMEWORK


def test_an_event_may_have_any_type() -> None:
    assert WorkflowEvent("custom", data=1) == WorkflowEvent("custom", 1)


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        (WorkflowEvent.started(), {"type": "started"}),
        (
            WorkflowEvent.status(WorkflowRunState.IDLE),
            {"type": "status", "state": WorkflowRunState.IDLE},
        ),
        (WorkflowEvent.failed(DETAILS), {"type": "failed", "details": DETAILS}),
        (WorkflowEvent.output("a", 1), {"type": "output", "executor_id": "a", "data": 1}),
        (
            WorkflowEvent.intermediate("a", 1),
            {"type": "intermediate", "executor_id": "a", "data": 1},
        ),
        (
            WorkflowEvent.executor_invoked("a", 1),
            {"type": "executor_invoked", "executor_id": "a", "data": 1},
        ),
        (
            WorkflowEvent.executor_completed("a"),
            {"type": "executor_completed", "executor_id": "a", "data": None},
        ),
        (
            WorkflowEvent.executor_failed("a", DETAILS),
            {"type": "executor_failed", "executor_id": "a", "details": DETAILS},
        ),
        (
            WorkflowEvent.executor_bypassed("a", 1),
            {"type": "executor_bypassed", "executor_id": "a", "data": 1},
        ),
        (WorkflowEvent.superstep_started(1), {"type": "superstep_started", "iteration": 1}),
        (WorkflowEvent.superstep_completed(2), {"type": "superstep_completed", "iteration": 2}),
        (WorkflowEvent.warning("careful"), {"type": "warning", "data": "careful"}),
    ],
    ids=lambda value: value.type if isinstance(value, WorkflowEvent) else "",
)
def test_each_factory_fills_its_fields(event: WorkflowEvent, fields: dict[str, Any]) -> None:
    assert {name: getattr(event, name) for name in fields} == fields


def test_an_error_is_carried_by_identity() -> None:
    error = ValueError("no")

    assert WorkflowEvent.error(error).data is error


def test_emit_still_works_and_says_that_it_is_deprecated() -> None:
    with pytest.warns(DeprecationWarning, match="yield_output") as caught:
        event = WorkflowEvent.emit("a", 1)

    assert caught[0].filename == __file__
    assert (event.type, event.executor_id, event.data) == ("data", "a", 1)
    assert event.origin is WorkflowEventSource.EXECUTOR


def test_an_event_cant_be_changed() -> None:
    with pytest.raises(AttributeError):
        WorkflowEvent("a").type = "b"  # type: ignore[misc]


def test_an_event_in_a_cycle_with_its_error_is_collected() -> None:
    """A traceback leads back to the event that carries its exception."""

    class Weak(Exception):
        pass

    def fail() -> weakref.ref[Weak]:
        try:
            raise Weak
        except Weak as exc:
            event = WorkflowEvent.error(exc)
            _ = event
            return weakref.ref(exc)

    kept = fail()
    gc.collect()

    assert kept() is None


# ---------------------------------------------------------------------- subclasses


class Progress(WorkflowEvent, frozen=True):
    """How users write an event of their own."""

    done: float = 0.0

    @classmethod
    def at(cls, done: float) -> Self:
        return cls("progress", executor_id="a", done=done)

    @property
    def percent(self) -> int:
        return round(self.done * 100)


def test_a_subclass_may_add_fields_and_properties() -> None:
    event = Progress.at(0.5)

    assert isinstance(event, WorkflowEvent)
    assert (event.type, event.percent) == ("progress", 50)
    assert repr(event) == "Progress('progress', executor_id='a', done=0.5)"
    assert isinstance(Progress.output("a", 1), Progress)


def test_a_subclass_with_an_init_is_refused_where_it_is_defined() -> None:
    with pytest.raises(TypeError, match="cannot define __init__"):

        class Mine(WorkflowEvent, frozen=True):
            def __init__(self) -> None:
                super().__init__("mine")


# ---------------------------------------------------------------------- requests


def test_a_request_knows_who_asks_what() -> None:
    event = WorkflowEvent.request_info("r1", "a", "Really?", bool)

    assert (event.type, event.data, event.executor_id) == ("request_info", "Really?", "a")
    assert (event.request_id, event.source_executor_id) == ("r1", "a")
    assert (event.request_type, event.response_type) == (str, bool)


def test_the_keywords_of_a_request_are_those_of_the_api() -> None:
    event = WorkflowEvent.request_info(
        request_id="r", source_executor_id="a", request_data=1, response_type=str, request_type=object
    )  # fmt: skip

    assert event.request_type is object


@pytest.mark.parametrize(
    "name", ["request_id", "source_executor_id", "request_type", "response_type"]
)
def test_other_events_have_no_request_fields(name: str) -> None:
    with pytest.raises(RuntimeError, match=f"'output' has no {name}"):
        getattr(WorkflowEvent.output("a", 1), name)


@pytest.mark.parametrize("wanted", [bool, Message, list[Message], str | None, dict[str, Message]])
def test_a_request_survives_its_dict_form(wanted: object) -> None:
    event = WorkflowEvent.request_info("r1", "a", Message("user", ["?"]), wanted)

    assert WorkflowEvent.from_dict(event.to_dict()) == event
    assert decode(encode(event)) == event


def test_types_are_written_by_tag() -> None:
    form = WorkflowEvent.request_info("r1", "a", Message("user"), list[Message] | None).to_dict()

    assert form["request_type"] == "message"
    assert form["response_type"] == ["|", ["list", "message"], "None"]


def test_a_request_that_wants_no_answer_at_all_says_so() -> None:
    form = WorkflowEvent.request_info("r1", "a", "?", None).to_dict()

    assert WorkflowEvent.from_dict(form).response_type is type(None)


def test_a_request_of_an_unregistered_type_is_refused_when_it_is_written() -> None:
    @attrs.frozen
    class Unknown:
        pass

    with pytest.raises(UnregisteredTypeError, match=r"register_type.* \(at \$\.response_type\)"):
        WorkflowEvent.request_info("r1", "a", "?", Unknown).to_dict()


def test_a_type_is_never_imported_because_data_names_it() -> None:
    form = WorkflowEvent.request_info("r1", "a", "?", bool).to_dict()

    for name in ("os.system", "builtins:eval", "protocols._message.Message"):
        with pytest.raises(UnknownTagError, match=r"\$\.response_type"):
            WorkflowEvent.from_dict({**form, "response_type": name})


def test_only_requests_have_a_dict_form() -> None:
    with pytest.raises(ValueError, match="not a 'output'"):
        WorkflowEvent.output("a", 1).to_dict()
    with pytest.raises(ValueError, match="not a 'output'"):
        WorkflowEvent.from_dict({"type": "output"})
    with pytest.raises(ValueError, match="not a None"):
        WorkflowEvent.from_dict({})
    with pytest.raises(ValueError, match="needs request_type, response_type"):
        WorkflowEvent.from_dict(
            {"type": "request_info", "data": 1, "request_id": "r", "source_executor_id": "a"}
        )


# ---------------------------------------------------------------------- showing


def test_the_repr_shows_what_was_set_and_nothing_else() -> None:
    assert repr(WorkflowEvent.started()) == "WorkflowEvent('started')"
    assert (
        repr(WorkflowEvent.status(WorkflowRunState.IDLE)) == "WorkflowEvent('status', state=IDLE)"
    )
    assert (
        repr(WorkflowEvent.request_info("r1", "a", "?", bool))
        == "WorkflowEvent('request_info', data='?', executor_id='a', request_id='r1')"
    )
    assert "from_executor=True" in repr(WorkflowEvent("x", from_executor=True))


def test_states_are_their_names() -> None:
    assert all(state == state.name for state in WorkflowRunState)
    assert WorkflowRunState("IDLE_WITH_PENDING_REQUESTS")


# ---------------------------------------------------------------------- errors as data


def test_error_details_describe_an_exception_and_dont_keep_it() -> None:
    try:
        raise LookupError("gone")
    except LookupError as exc:
        details = WorkflowErrorDetails.from_exception(exc, executor_id="a", extra={"n": [1]})

    assert (details.error_type, details.message, details.executor_id) == (
        "LookupError",
        "gone",
        "a",
    )
    assert details.traceback is not None
    assert "raise LookupError" in details.traceback
    assert details.extra == {"n": [1]}
    assert decode(encode(details)) == details


def test_an_exception_that_was_never_raised_has_no_traceback() -> None:
    assert WorkflowErrorDetails.from_exception(ValueError("no")) == DETAILS


def test_a_workflow_message_needs_its_data_only() -> None:
    message = WorkflowMessage("x")

    assert (message.data, message.source_id, message.target_id) == ("x", "", None)
    assert message.type == "standard"
