"""A tool is a function, with what a model is told about it."""

from __future__ import annotations

import functools
import gc
import threading
import weakref
from contextvars import ContextVar
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
import trio
from pydantic import BaseModel, Field

from actors.agents._middleware._contexts import FunctionInvocationContext
from actors.agents._tools._arguments import parsed_arguments
from actors.agents._tools._collection import normalize_tools
from actors.agents._tools._decorator import tool
from actors.agents._tools._function_tool import FunctionTool
from actors.agents._tools._results import SKIP_PARSING
from protocols._content._item import Content
from protocols._errors import ToolException
from protocols._message import Message

if TYPE_CHECKING:
    from decimal import Decimal


@tool
def add(x: int, y: Annotated[int, "the other one"] = 2) -> int:
    """Add two numbers.

    As in school.
    """
    return x + y


# ------------------------------------------------------------------- what the model is told


def test_a_tool_tells_its_name_its_docstring_and_its_signature() -> None:
    assert add.name == "add"
    assert add.description == "Add two numbers.\n\nAs in school."
    assert add.parameters() == {
        "properties": {
            "x": {"title": "X", "type": "integer"},
            "y": {
                "default": 2, "description": "the other one", "title": "Y", "type": "integer",
            },
        },
        "required": ["x"],
        "title": "add_input",
        "type": "object",
    }  # fmt: skip
    assert add.to_json_schema_spec()["function"]["name"] == "add"
    assert add(1) == 3
    assert (add.approval_mode, add.declaration_only) == ("never_require", False)


def test_what_the_signature_says_becomes_the_schema() -> None:
    class Point(BaseModel):
        x: int

    def f(  # type: ignore[no-untyped-def]
        plain,  # noqa: ANN001
        mode: Literal["a", "b"],
        point: Point,
        noted: Annotated[int, Field(ge=1, description="d")],
        *args: int,
        maybe: int | None = None,
        ctx: FunctionInvocationContext | None = None,
        **kwargs: Any,
    ) -> None: ...

    properties = FunctionTool(func=f).parameters()["properties"]
    assert list(properties) == ["plain", "mode", "point", "noted", "maybe"]
    assert properties["plain"]["type"] == "string"
    assert properties["mode"]["enum"] == ["a", "b"]
    assert properties["noted"] == {
        "description": "d", "minimum": 1, "title": "Noted", "type": "integer",
    }  # fmt: skip


def test_an_annotation_that_cannot_be_resolved_says_which() -> None:
    def f(amount: Decimal) -> None: ...

    with pytest.raises(ToolException, match="'Decimal' of parameter amount"):
        FunctionTool(func=f).parameters()


def test_two_contexts_are_one_too_many() -> None:
    def f(a: FunctionInvocationContext, b: FunctionInvocationContext) -> None: ...

    with pytest.raises(ValueError, match="a, b"):
        FunctionTool(func=f)


def test_limits_and_names_are_checked() -> None:
    with pytest.raises(ValueError, match="max_invocations must be at least 1"):
        FunctionTool(func=len, max_invocations=0)
    with pytest.raises(ValueError, match="needs a name"):
        FunctionTool(input_model={"type": "object"})


async def test_a_schema_of_ones_own_takes_the_place_of_the_signature() -> None:
    schema = {
        "type": "object",
        "properties": {
            "n": {"type": "integer"},
            "unit": {"enum": ["m", "ft"]},
            "share": {"type": ["number", "null"]},
        },
        "required": ["n"],
        "additionalProperties": False,
    }

    @tool(name="measure", description="d", schema=schema)
    def f(ctx, **kwargs: Any) -> Any:  # type: ignore[no-untyped-def]  # noqa: ANN001
        return [ctx.function.name, kwargs]

    assert f.parameters() == schema
    (item,) = await f.invoke(arguments={"n": 1, "share": None})
    assert item.text == '["measure",{"n":1,"share":null}]'
    for wrong, complaint in [
        ({}, "missing: n"),
        ({"n": 1, "z": 1}, "unknown: z"),
        ({"n": "1"}, "n is integer, not str"),
        ({"n": True}, "n is integer, not bool"),
        ({"n": 1, "unit": "in"}, "unit is one of"),
        ({"n": 1, "share": "x"}, "share is number or null"),
    ]:
        with pytest.raises(TypeError, match=complaint):
            await f.invoke(arguments=wrong)


async def test_a_pydantic_class_can_be_the_schema() -> None:
    class Where(BaseModel):
        city: str
        days: int = 1

    @tool(schema=Where)
    def weather(city: str, days: int = 1) -> str:
        return f"{city} {days}"

    assert (await weather.invoke(arguments=Where(city="Oslo")))[0].text == "Oslo 1"
    assert (await weather.invoke(city="Oslo", days=2))[0].text == "Oslo 2"
    with pytest.raises(TypeError, match="weather takes no zip"):
        await weather.invoke(zip="1")


# ---------------------------------------------------------------------- checking and running


async def test_arguments_are_checked_before_the_function_runs() -> None:
    with pytest.raises(TypeError, match="x: Input should be a valid integer"):
        await add.invoke(arguments={"x": "one"})
    with pytest.raises(TypeError, match="x: Field required"):
        await add.invoke()
    assert (await add.invoke(arguments={"x": "1"}))[0].text == "3"


async def test_values_are_what_the_annotations_say() -> None:
    class Point(BaseModel):
        x: int

    @tool
    async def f(point: Point, maybe: int | None = 5) -> str:
        return f"{type(point).__name__} {point.x} {maybe}"

    given = {"point": {"x": 1}, "maybe": None}
    assert (await f.invoke(arguments=given))[0].text == "Point 1 None"


async def test_a_function_that_is_not_async_runs_in_a_thread_with_the_callers_variables() -> None:
    who: ContextVar[str] = ContextVar("who")
    who.set("me")

    @tool
    def f() -> list[Any]:
        return [threading.current_thread() is not threading.main_thread(), who.get()]

    assert (await f.invoke(skip_parsing=True)) == [True, "me"]


async def test_what_gives_an_awaitable_is_awaited() -> None:
    async def inner(x: int) -> int:
        await trio.lowlevel.checkpoint()
        return x

    class Callable:
        async def __call__(self, x: int) -> int:
            await trio.lowlevel.checkpoint()
            return x

    made: list[FunctionTool[Any]] = [
        FunctionTool(name="a", func=lambda x: inner(int(x))),
        FunctionTool(name="b", func=functools.partial(inner, x=3)),
        FunctionTool(name="c", func=Callable()),
    ]
    for one in made:
        given = {} if one.name == "b" else {"x": "3"}
        assert (await one.invoke(arguments=given))[0].text == "3"


async def test_the_context_goes_to_whoever_has_a_parameter_for_it() -> None:
    @tool
    async def f(x: int, ctx: FunctionInvocationContext, **more: Any) -> Any:
        return [x, ctx.kwargs["user"], ctx.metadata["call_id"], more]

    context = FunctionInvocationContext(
        function=f, kwargs={"user": "u", "conversation_id": "never"}
    )
    given = await f.invoke(
        arguments={"x": 1}, context=context, tool_call_id="c1", skip_parsing=True
    )
    assert given == [1, "u", "c1", {"user": "u"}]  # L6


async def test_a_cancelled_tool_in_a_thread_is_waited_for_unless_it_may_be_abandoned() -> None:
    release = threading.Event()
    done: list[str] = []

    def slow() -> None:
        release.wait(5)
        done.append("slow")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(tool(slow).invoke)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
        release.set()
    assert done == ["slow"]
    release.clear()
    with trio.move_on_after(0.01) as scope:
        await tool(slow, abandon_on_cancel=True).invoke()
    assert scope.cancelled_caught
    assert done == ["slow"]
    release.set()


# ----------------------------------------------------------------------------- results


class HasDict:
    def __repr__(self) -> str:
        return "HasDict()"

    def to_dict(self) -> dict[str, int]:
        return {"a": 1}


@pytest.mark.parametrize(
    ("result", "texts"),
    [
        (None, [""]),
        ("text", ["text"]),
        (Content.from_text("c"), ["c"]),
        ([Content.from_text("c"), {"a": 1}], ["c", '{"a":1}']),
        ({"a": [1, "ü"]}, ['{"a":[1,"ü"]}']),
        ([1, 2], ["[1,2]"]),
        (HasDict(), ['{"a":1}']),
        ([HasDict()], ['[{"a":1}]']),
        (True, ["true"]),
        ({1, 2}, ["[1,2]"]),
        (object, ["<class 'object'>"]),
    ],
    ids=repr,
)
def test_a_result_becomes_content(result: Any, texts: list[str]) -> None:
    found = [item.text for item in FunctionTool.parse_result(result)]
    assert [text.strip('"') if text else text for text in found] == texts


async def test_a_parser_of_ones_own_says_what_the_model_reads() -> None:
    assert (await tool(lambda: 1, name="a", result_parser=lambda n: f"<{n}>").invoke())[
        0
    ].text == "<1>"
    broken = tool(lambda: 1, name="b", result_parser=lambda n: n.nothing)
    assert (await broken.invoke())[0].text == "1"
    assert await tool(lambda: 1, name="c", result_parser=SKIP_PARSING).invoke() == 1


# ------------------------------------------------------------------------------ limits


async def test_called_by_hand_the_limits_count_all_calls() -> None:
    twice = tool(lambda: 1, name="twice", max_invocations=2)
    await twice.invoke()
    await twice.invoke()
    with pytest.raises(ToolException, match="may be called 2 times"):
        await twice.invoke()


@pytest.mark.parametrize("is_async", [True, False])
async def test_exceptions_count_whether_the_function_is_async_or_not(is_async: bool) -> None:
    async def fails_async() -> None:
        raise LookupError

    def fails() -> None:
        raise LookupError

    once = tool(fails_async if is_async else fails, max_invocation_exceptions=1)
    with pytest.raises(LookupError):
        await once.invoke()
    with pytest.raises(ToolException, match="has failed 1 times"):
        await once.invoke()


async def test_a_tool_that_is_only_declared_cannot_be_invoked() -> None:
    declared: FunctionTool[Any] = FunctionTool(name="ask", input_model={"type": "object"})
    assert declared.declaration_only
    with pytest.raises(ToolException, match="only declared"):
        await declared.invoke()
    with pytest.raises(ToolException, match="only declared"):
        declared()


# -------------------------------------------------------------------------- as an object


async def test_a_tool_of_an_object_is_always_the_same_one() -> None:
    class Counter:
        def __init__(self, n: int) -> None:
            self.n = n

        @tool(max_invocations=1)
        def count(self, by: int) -> int:
            """Count on."""
            return self.n + by

    one, two = Counter(1), Counter(2)
    assert one.count is one.count
    assert one.count is not two.count
    assert list(one.count.parameters()["properties"]) == ["by"]
    assert (await one.count.invoke(by=1))[0].text == "2"
    assert (await two.count.invoke(by=1))[0].text == "3"
    with pytest.raises(ToolException):
        await one.count.invoke(by=1)


async def test_a_tool_survives_as_data() -> None:
    assert add.func is not None
    gated = tool(add.func, name="add", approval_mode="always_require", max_invocations=2)
    data = gated.to_dict()
    assert data["type"] == "function_tool"
    declared = FunctionTool.from_dict(data)
    assert declared.declaration_only
    assert declared.to_dict() == data
    for dependencies in ({"func": add.func}, {"name:add": {"func": add.func}}):
        again = FunctionTool.from_dict(data, dependencies={"function_tool": dependencies})
        assert (await again.invoke(x=1))[0].text == "3"
    with pytest.raises(ValueError, match="data of a message"):
        FunctionTool.from_dict({"type": "message"})


def test_tools_keep_neither_functions_nor_objects_alive() -> None:
    class Counter:
        @tool
        def count(self) -> int:
            return 1

    def local() -> None: ...

    @functools.wraps(local)
    def wrapper() -> None: ...

    counter = Counter()
    bound = counter.count
    (made,) = normalize_tools(local)
    wrapper.__dict__.update(local.__dict__)
    assert normalize_tools(wrapper)[0].func is wrapper
    gone = [weakref.ref(one) for one in (counter, local, made)]
    del counter, bound, local, made, wrapper
    gc.collect()
    assert [one() for one in gone] == [None, None, None]


def toolless() -> None: ...


def test_functions_become_tools_and_the_same_function_the_same_tool() -> None:
    hosted = {"type": "web_search"}
    first, *rest = normalize_tools([toolless, add, hosted])
    assert isinstance(first, FunctionTool)
    assert rest == [add, hosted]
    assert normalize_tools(toolless) == [first]
    assert normalize_tools(len)[0].func is len
    assert normalize_tools(None) == []


# ------------------------------------------------------------ arguments as models send them


@pytest.mark.parametrize("given", [None, "", "  ", "{}", {}])
def test_no_arguments_are_an_empty_mapping(given: Any) -> None:
    """Case H13 of the list."""
    assert parsed_arguments(given) == {}


def test_a_line_break_inside_of_a_string_is_understood() -> None:
    assert parsed_arguments('{"a": "x\ny"}') == {"a": "x\ny"}


@pytest.mark.parametrize(
    "given", ['{"a":', "[1]", "null", '"x"', "{'a':1}", '{"a":1}{"a":1}', "7", "x" * 1_000_000]
)
def test_whatever_is_no_json_object_is_an_error_with_a_short_quotation(given: str) -> None:
    """Case H12 of the list."""
    with pytest.raises(ValueError, match="the arguments are") as caught:
        parsed_arguments(given)
    assert len(str(caught.value)) < 500


def test_the_message_class_is_no_tool() -> None:
    assert normalize_tools([Message])[0].name == "Message"
