"""Tools: functions that a model can call, and an agent as one of them.

A scripted client stands in for a model, so that what it calls is known.
"""

from __future__ import annotations

from typing import Annotated, Any

import trio

from actors import Agent, FunctionInvocationContext, tool
from actors.testing import ScriptedChatClient
from protocols import Content, Message

STOCK = {"apple": 3, "pear": 0}


@tool
def in_stock(fruit: Annotated[str, "in the singular"]) -> int:
    """Say how many pieces of a fruit there are."""
    return STOCK[fruit]


@tool(max_invocations=1)
async def order(fruit: str, pieces: int, ctx: FunctionInvocationContext) -> str:
    """Order fruit."""
    await trio.lowlevel.checkpoint()
    return f"ordered {pieces} x {fruit} for {ctx.kwargs['customer']}"


def calls(*wanted: tuple[str, dict[str, Any]]) -> Message:
    """What a model says when it wants tools to be called."""
    contents = [
        Content.from_function_call(f"call_{n}", name, arguments=arguments)
        for n, (name, arguments) in enumerate(wanted)
    ]
    return Message("assistant", contents)


async def main() -> None:
    """Run a shop assistant, and then a manager who has one."""
    model = ScriptedChatClient(
        calls(("in_stock", {"fruit": "apple"}), ("in_stock", {"fruit": "kiwi"})),
        calls(("order", {"fruit": "pear", "pieces": 5})),
        "Three apples are here, five pears will be.",
    )
    assistant = Agent(model, "You work in a shop.", name="assistant", tools=[in_stock, order])
    response = await assistant.run(
        "What is there?", function_invocation_kwargs={"customer": "Ada"}
    )
    for message in response.messages:
        for item in message.contents:
            if item.type == "function_result":
                print(f"{item.call_id}: {item.result}")
    print(response.text)

    helper = Agent(ScriptedChatClient("We have apples."), name="helper", tools=[in_stock])
    boss = ScriptedChatClient(calls(("helper", {"task": "look"})), "Sell the apples.")
    manager = Agent(boss, name="manager", tools=[helper.as_tool()])
    print((await manager.run("What shall we do?")).text)


if __name__ == "__main__":
    trio.run(main)
