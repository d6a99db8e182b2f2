"""Agents in a workflow that is a function: two poets at once, a critic, and a second try."""

from __future__ import annotations

from typing import Any

import trio

from actors import (
    Agent,
    FunctionalWorkflow,
    gather,
    open_local_model,
    step,
    workflow,
)


def build(client: Any) -> FunctionalWorkflow[str]:
    """Make the workflow, with agents on this chat client."""
    short = {"temperature": 0, "max_tokens": 40}
    poet = Agent(client, "You write one short sentence.", name="poet", default_options=short)
    critic = Agent(client, "You say which text is better.", name="critic", default_options=short)

    # A call of a model is a step: when the workflow is run again, it isn't paid for again.
    @step
    async def write(prompt: str) -> str:
        return (await poet.run(prompt)).text.strip()

    @step
    async def compare(one: str, other: str) -> str:
        return (await critic.run(f"1. {one}\n2. {other}")).text.strip()

    @workflow(description="Writes about a topic, twice, and compares.")
    async def contest(topic: str) -> str:
        serious, funny = await gather(
            write(f"Write about {topic}, seriously."),
            write(f"Write about {topic}, as a joke."),
        )
        verdict = await compare(serious, funny)
        return f"{serious}\n{funny}\n{verdict}"

    return contest


async def main() -> None:
    """Run it on the model of this machine, and follow the steps."""
    async with open_local_model() as model, model.client() as client:
        contest = build(client)
        async with contest.run("frogs", stream=True) as events:
            async for event in events:
                if event.type == "executor_completed":
                    print(f"{event.executor_id}: {event.data}")
            result = await events.get_final_response()
        print(f"steps that ran: {result.replay.live if result.replay else 0}")


if __name__ == "__main__":
    trio.run(main)
