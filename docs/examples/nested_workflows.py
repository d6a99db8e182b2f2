"""A workflow inside of another one, and a workflow as an agent."""

import trio

from actors import Message, WorkflowBuilder, WorkflowContext, WorkflowExecutor, executor


@executor(id="split")
async def split(  # noqa: ASYNC910  (there is at least one word)
    messages: list[Message], ctx: WorkflowContext[str]
) -> None:
    for word in messages[-1].text.split():
        await ctx.send_message(word)


@executor(id="count")
async def count(word: str, ctx: WorkflowContext[int, int]) -> None:
    await ctx.yield_output(len(word))


@executor(id="tell")
async def tell(letters: int, ctx: WorkflowContext[str, str]) -> None:
    await ctx.yield_output(f"{letters} letters")


counting = WorkflowBuilder(start_executor=count, name="counting").build()
# Each word begins a run of its own inside; what that yields is sent on.
counter = WorkflowExecutor(counting, "counter")
workflow = (
    WorkflowBuilder(start_executor=split, name="letters").add_chain([split, counter, tell]).build()
)


async def main() -> None:
    async with workflow.run([Message("user", ["frog and toad"])], stream=True) as events:
        async for event in events:
            if event.type in {"inner_output", "output"}:
                print("/".join((*(event.path or ()), event.executor_id or "")), event.data)

    agent = workflow.as_agent()
    response = await agent.run("one fish")
    print(agent.name, "says", [message.text for message in response.messages])


trio.run(main)
