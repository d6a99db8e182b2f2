"""What type checkers know of a tool; mypy reads this file, and it is run, too."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, assert_type

import pytest

from actors import Agent, FunctionInvocationContext, FunctionTool, tool
from actors.testing import ScriptedChatClient


@tool
async def awaited(x: int) -> str:
    return str(x)


@tool
def plain(x: int, y: float = 0) -> float:
    return x + y


@tool(name="other", approval_mode="never_require")
async def named(x: int) -> list[str]:
    return [str(x)]


class Shop:
    @tool
    async def sell(self, what: str) -> int:
        return len(what)

    @tool(max_invocations=2)
    def price(self, what: str, ctx: FunctionInvocationContext) -> int:
        return len(what)


async def test_a_tool_is_called_and_awaited_as_its_function_is() -> None:
    assert assert_type(await awaited(1), str) == "1"
    assert assert_type(plain(1, y=2), float) == 3
    assert assert_type(await named(x=1), list[str]) == ["1"]
    for each in (awaited, plain, named):
        tools: FunctionTool[Any] = each
        assert isinstance(tools, FunctionTool)


async def test_what_its_function_would_not_take_is_an_error_for_type_checkers() -> None:
    with pytest.raises(TypeError):
        plain()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        plain("1", z=2)  # type: ignore[arg-type, call-arg]
    with pytest.raises(TypeError):
        await awaited()  # type: ignore[call-arg]


async def test_a_tool_that_is_a_method_is_one_of_its_object() -> None:
    shop = Shop()
    assert_type(shop.sell, FunctionTool[Coroutine[Any, Any, int]])
    assert await shop.sell("pear") == 4
    assert isinstance(Shop.sell, FunctionTool)


async def test_tools_of_all_kinds_go_where_tools_are_taken() -> None:
    def bare(x: int) -> int:
        return x

    made = tool(bare, name="made")
    assert_type(made(1), int)
    agent = Agent(
        ScriptedChatClient("end"), tools=[awaited, plain, named, Shop().sell, made, bare]
    )
    assert assert_type((await agent.run("hi")).text, str) == "end"
    contents = await awaited.invoke(arguments={"x": 1})
    assert contents[0].text == "1"
