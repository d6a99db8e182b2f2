"""A first workflow: two executors and a condition."""

from __future__ import annotations

import trio

from actors import WorkflowBuilder, WorkflowContext, executor

MOST_WORDS = 5


@executor
async def count_words(text: str, ctx: WorkflowContext[int]) -> None:
    await ctx.send_message(len(text.split()))


@executor
async def praise(words: int, ctx: WorkflowContext[None, str]) -> None:
    await ctx.yield_output(f"{words} words: short enough")


@executor
async def complain(words: int, ctx: WorkflowContext[None, str]) -> None:
    await ctx.yield_output(f"{words} words: too long")


workflow = (
    WorkflowBuilder(start_executor=count_words)
    .add_edge(count_words, praise, condition=lambda words: words <= MOST_WORDS)
    .add_edge(count_words, complain, condition=lambda words: words > MOST_WORDS)
    .build()
)


async def main() -> None:
    result = await workflow.run("Brevity is the soul of wit")
    print(result.get_outputs())


if __name__ == "__main__":
    trio.run(main)
