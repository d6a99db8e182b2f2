"""Following a run while it goes on: events as they happen, and the result after them."""

from __future__ import annotations

import trio

from actors import Agent, WorkflowBuilder
from actors.testing import ScriptedChatClient

poet = Agent(ScriptedChatClient("The frog jumps in.", repeat=True), name="poet")
critic = Agent(ScriptedChatClient("Too short.", repeat=True), name="critic")
workflow = (
    WorkflowBuilder(
        start_executor=poet, output_from=[critic], intermediate_output_from="all_other"
    )
    .add_edge(poet, critic)
    .build()
)


async def main() -> None:
    # Leaving the block ends the run, also in the middle: nothing goes on behind its back.
    async with workflow.run("Write a haiku.", stream=True) as events:
        async for event in events:
            if event.type in {"intermediate", "output"}:
                print(f"{event.executor_id}: {event.data.text}")
            elif event.type == "superstep_completed":
                print(f"-- end of round {event.iteration}")
        result = await events.get_final_response()
    print(result.get_final_state())


if __name__ == "__main__":
    trio.run(main)
