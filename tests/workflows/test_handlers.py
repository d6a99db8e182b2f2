"""What the two decorators read from a method, and what they refuse."""

from __future__ import annotations

import functools
from typing import Any, Never, TypeVar, cast

import attrs
import pytest

from actors.workflows._graph._context_api import WorkflowContext
from actors.workflows._graph._handlers import (
    MARK,
    HandlerSpec,
    ResponseHandlerSpec,
    handler,
    response_handler,
)

T = TypeVar("T")


@attrs.frozen
class Order:
    n: int


def spec_of(method: object) -> HandlerSpec:
    return cast("HandlerSpec", getattr(method, MARK))


def response_spec_of(method: object) -> ResponseHandlerSpec:
    return cast("ResponseHandlerSpec", getattr(method, MARK))


# --------------------------------------------------------------- types from annotations


def test_a_bare_handler_declares_what_its_annotations_say() -> None:
    @handler
    async def place(self: Any, order: Order, ctx: WorkflowContext[int | str, bool]) -> None: ...

    spec = spec_of(place)

    assert spec.name == "place"
    assert spec.message_type is Order
    assert spec.output_types == (int, str)
    assert spec.workflow_output_types == (bool,)
    assert spec.function is place


@pytest.mark.parametrize(
    ("context", "sent", "yielded"),
    [
        (WorkflowContext, (), ()),
        (WorkflowContext[int], (int,), ()),
        (WorkflowContext[int, str], (int,), (str,)),
        (WorkflowContext[Never, str], (), (str,)),
        (WorkflowContext[None], (type(None),), ()),
        (WorkflowContext[Any], (Any,), ()),
        (WorkflowContext[int | str | None], (int, str, type(None)), ()),
        (WorkflowContext[list[int | str]], (list[int | str],), ()),
        ("WorkflowContext[Order]", (Order,), ()),
    ],
)
def test_the_contexts_types_are_what_is_sent_and_what_is_yielded(
    context: Any, sent: tuple[Any, ...], yielded: tuple[Any, ...]
) -> None:
    async def handle(self: Any, message: int, ctx: Any) -> None: ...

    handle.__annotations__["ctx"] = context
    spec = spec_of(handler(handle))

    assert (spec.output_types, spec.workflow_output_types) == (sent, yielded)


def test_any_among_the_members_of_a_union_says_nothing() -> None:
    async def handle(self: Any, message: int, ctx: Any) -> None: ...

    handle.__annotations__["ctx"] = WorkflowContext[int | Any]

    assert spec_of(handler(handle)).output_types == (int,)


def test_parentheses_without_types_mean_the_same() -> None:
    @handler()
    async def handle(self: Any, message: Order, ctx: WorkflowContext) -> None: ...

    assert spec_of(handle).message_type is Order


def test_an_unresolvable_return_annotation_is_nobodys_problem() -> None:
    @handler
    async def handle(self: Any, message: int, ctx: WorkflowContext) -> Missing: ...  # type: ignore[name-defined]  # noqa: F821

    assert spec_of(handle).message_type is int


def test_a_decorator_below_handler_may_wrap_the_method() -> None:
    def logged(method: Any) -> Any:
        @functools.wraps(method)
        def call(*args: Any) -> Any:
            return method(*args)

        return call

    @handler
    @logged
    async def handle(self: Any, message: Order, ctx: WorkflowContext[int]) -> None: ...

    assert spec_of(handle).message_type is Order
    assert spec_of(handle).output_types == (int,)


# -------------------------------------------------------------- types from the decorator


def test_types_in_the_decorator_replace_all_annotations() -> None:
    @handler(input=int | str, output=Order)
    async def handle(self: Any, message: bytes, ctx: WorkflowContext[bytes, bytes]) -> None: ...

    spec = spec_of(handle)

    assert spec.message_type == int | str
    assert spec.output_types == (Order,)
    assert spec.workflow_output_types == (), "what isn't given means none"


def test_types_in_the_decorator_need_no_annotations() -> None:
    @handler(input="Order", workflow_output="list[Order]")
    async def handle(self, message, ctx):  # type: ignore[no-untyped-def]  # noqa: ANN001
        ...

    assert spec_of(handle).message_type is Order
    assert spec_of(handle).workflow_output_types == (list[Order],)


def test_a_string_that_names_nothing_is_a_name_error_that_helps() -> None:
    async def handle(self: Any, message: Any, ctx: Any) -> None: ...

    with pytest.raises(NameError, match=r"handle.*'Missing'.*module level"):
        handler(input="Missing")(handle)
    with pytest.raises(NameError, match="can't be resolved"):
        handler(input="int or")(handle)
    with pytest.raises(ValueError, match="no type that values"):
        handler(input="int[5]")(handle)


def test_types_in_the_decorator_need_the_input_among_them() -> None:
    async def handle(self: Any, message: int, ctx: WorkflowContext) -> None: ...

    with pytest.raises(ValueError, match="input="):
        handler(output=int)(handle)


def test_a_wrong_context_is_refused_even_if_its_types_come_from_the_decorator() -> None:
    async def handle(self: Any, message: int, ctx: int) -> None: ...

    with pytest.raises(ValueError, match="WorkflowContext"):
        handler(input=int)(handle)


# -------------------------------------------------------------------------- refusals


async def no_context(self: Any, message: int) -> None: ...
async def too_much(self: Any, message: int, ctx: WorkflowContext, more: int) -> None: ...
async def keyword(self: Any, message: int, *, ctx: WorkflowContext) -> None: ...
async def starred(self: Any, *message: int) -> None: ...
async def no_message(self: Any, message, ctx: WorkflowContext) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001
async def bare_context(self: Any, message: int, ctx) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001
async def wrong_context(self: Any, message: int, ctx: str) -> None: ...
async def three_types(self: Any, message: int, ctx: WorkflowContext[int, int, int]) -> None: ...  # type: ignore[type-arg]
async def no_type(self: Any, message: int, ctx: WorkflowContext[5]) -> None: ...  # type: ignore[valid-type]
async def generic(self: Any, message: list[T], ctx: WorkflowContext) -> None: ...
async def generic_context(self: Any, message: int, ctx: WorkflowContext[dict[str, T]]) -> None: ...
async def unknown(self: Any, message: Missing, ctx: WorkflowContext) -> None: ...  # type: ignore[name-defined]  # noqa: F821
async def unknown_context(self: Any, message: int, ctx: WorkflowContext[Missing]) -> None: ...  # type: ignore[name-defined]  # noqa: F821
async def drip(self: Any, message: int, ctx: WorkflowContext) -> Any:
    yield message


def not_async(self: Any, message: int, ctx: WorkflowContext) -> None: ...


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (no_context, r"takes 2 parameters.*\(self, message, ctx\)"),
        (too_much, "takes 4 parameters"),
        (keyword, "'ctx'"),
        (starred, "'message'"),
        (no_message, "annotate 'message'"),
        (bare_context, "annotate 'ctx'"),
        (wrong_context, "must be WorkflowContext"),
        (three_types, "at most two"),
        (no_type, "5 is no type"),
        (generic, "type variable"),
        (generic_context, "type variable"),
        (unknown, "Missing"),
        (unknown_context, "Missing"),
        (not_async, "async def not_async"),
        (drip, "drip has a `yield` in it.*yield_output"),
        (staticmethod(no_context), "no plain method"),
        (5, "no plain method"),
    ],
)
def test_a_method_that_cant_be_a_handler_is_refused_by_name(method: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        handler(method)


# ------------------------------------------------------------------ response handlers


def test_a_bare_response_handler_declares_what_its_annotations_say() -> None:
    @response_handler
    async def answered(
        self: Any, original_request: Order, response: bool, ctx: WorkflowContext[int, str]
    ) -> None: ...

    spec = response_spec_of(answered)

    assert (spec.request_type, spec.response_type) == (Order, bool)
    assert (spec.output_types, spec.workflow_output_types) == ((int,), (str,))


def test_the_context_of_a_response_handler_may_stay_unannotated() -> None:
    @response_handler
    async def answered(self: Any, original_request: Order, response: bool, ctx) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        ...

    assert response_spec_of(answered).output_types == ()


def test_a_response_handlers_types_may_come_from_the_decorator() -> None:
    @response_handler(request=Order, response="bool", output=int)
    async def answered(self, original_request, response, ctx):  # type: ignore[no-untyped-def]  # noqa: ANN001
        ...

    spec = response_spec_of(answered)

    assert (spec.request_type, spec.response_type, spec.output_types) == (Order, bool, (int,))


@pytest.mark.parametrize("given", [{"request": int}, {"response": int}, {"output": int}])
def test_types_in_the_decorator_need_request_and_response(given: dict[str, Any]) -> None:
    async def answered(self: Any, request: int, response: int, ctx: WorkflowContext) -> None: ...

    with pytest.raises(ValueError, match="must be among them"):
        response_handler(**given)(answered)


async def no_response(self: Any, request: int, ctx: WorkflowContext) -> None: ...
async def bare_response(self: Any, request: int, response, ctx: WorkflowContext) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001
async def bare_request(self: Any, request, response: int, ctx: WorkflowContext) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (no_response, "takes 3 parameters"),
        (bare_response, "annotate 'response'"),
        (bare_request, "annotate 'request'"),
    ],
)
def test_a_method_that_cant_take_answers_is_refused_by_name(method: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        response_handler(method)


# ------------------------------------------------------------------- other participants


def test_a_context_class_may_bring_the_decorator_of_its_own_kind() -> None:
    """One ``@handler`` is exported, and actors have handlers too."""
    marked = []

    class OtherContext:
        @staticmethod
        def __handler_decorator__(method: Any) -> Any:
            marked.append(method)
            return method

    async def handle(self: Any, message: int, ctx: Any) -> int:
        return message

    handle.__annotations__["ctx"] = OtherContext

    assert handler(handle) is handle
    assert marked == [handle]
    assert not hasattr(handle, MARK)
