"""A tool that a person has to approve: the session remembers the question."""

from __future__ import annotations

import json

import trio

from actors import Agent, AgentSession, tool
from actors.testing import ScriptedChatClient
from protocols import Content, Message


@tool
def balance() -> int:
    """Say how much money there is."""
    return 100


@tool(approval_mode="always_require")
def pay(amount: int, to: str) -> str:
    """Pay somebody."""
    return f"paid {amount} to {to}"


def model() -> ScriptedChatClient:
    """A model that wants two things at once."""
    wants = [
        Content.from_function_call("c1", "balance"),
        Content.from_function_call("c2", "pay", arguments={"amount": 30, "to": "Ada"}),
    ]
    return ScriptedChatClient(Message("assistant", wants), "Ada has her money.")


async def main() -> None:
    """Ask, store the session, answer in another program."""
    client = model()
    agent = Agent(client, name="bank", tools=[balance, pay])
    session = agent.create_session()
    response = await agent.run("Pay Ada what I owe her.", session=session)
    for request in response.user_input_requests:
        wanted = request.function_call
        assert wanted is not None
        print(f"May I call {wanted.name}({dict(wanted.parse_arguments() or {})})?")

    stored = json.dumps(session.to_dict())  # the program may end here

    session = AgentSession.from_dict(json.loads(stored))
    answers = [one.to_function_approval_response(True) for one in response.user_input_requests]
    response = await agent.run(Message("user", answers), session=session)
    print(response.messages[0].contents[0].result)
    print(response.text)
    # The answer is used up: sent again, it runs nothing.
    print((await again(session, answers)).contents)


async def again(session: AgentSession, answers: list[Content]) -> Message:
    """Send the answer once more."""
    agent = Agent(ScriptedChatClient("That is done."), name="bank", tools=[balance, pay])
    response = await agent.run([Message("user", answers), "Well?"], session=session)
    return response.messages[0]


if __name__ == "__main__":
    trio.run(main)
