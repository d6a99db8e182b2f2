"""Middleware around runs, model calls and tool calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from actors import (
    Agent,
    AgentContext,
    ChatContext,
    ChatMiddleware,
    ContextProvider,
    FunctionInvocationContext,
    MiddlewareTermination,
    RunRecorder,
    SessionContext,
    tool,
)
from actors.testing import ScriptedAgent, ScriptedChatClient
from protocols import AgentResponse, Content, Message

Next = Callable[[], Awaitable[None]]


async def shown(context: AgentContext, call_next: Next) -> None:
    """Around a whole run; told apart by the type of its first parameter."""
    print(f"{context.agent.name} begins")
    await call_next()
    print(f"{context.agent.name} has answered {context.result.text!r}")


class NoSecrets(ChatMiddleware):
    """Around each call of the model."""

    async def process(self, context: ChatContext, call_next: Next) -> None:
        """Ask without what is nobody's business."""
        context.messages = [
            Message(one.role, [one.text.replace("hunter2", "*****")]) if one.text else one
            for one in context.messages
        ]
        await call_next()


async def dry_run(  # noqa: ASYNC910 (there is nothing to wait for)
    context: FunctionInvocationContext, call_next: Next
) -> None:
    """Instead of some calls of tools."""
    if context.function.name == "delete":
        context.result = f"would have deleted {context.arguments['path']}"
    else:
        await call_next()


async def office_hours(context: AgentContext, call_next: Next) -> None:
    """Instead of a run, sometimes."""
    if "night" in context.messages[-1].text:
        closed = AgentResponse(messages=[Message("assistant", ["We are closed."])])
        raise MiddlewareTermination(result=closed)
    await call_next()


class Today(ContextProvider):
    """Adds a message to each run."""

    async def before_run(  # noqa: ASYNC910 (nothing to wait for)
        self, *, context: SessionContext, **_: object
    ) -> None:
        """Say which day it is."""
        context.extend_messages(self, [Message("user", ["It is Monday."])])


@tool
def delete(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


async def main() -> None:
    """Run an agent with all of it, and an agent of another make with what goes around it."""
    recorder = RunRecorder()
    call = Content.from_function_call("1", "delete", arguments={"path": "x"})
    model = ScriptedChatClient(call, "Done.")
    agent = Agent(
        model,
        name="clerk",
        tools=[delete],
        middleware=[recorder, shown, office_hours, NoSecrets(), dry_run],
    )
    await agent.run("Delete x, the password is hunter2.")
    print(model.seen[0].texts[-1])
    print(model.seen[1].messages[-1].contents[0].result)
    print((await agent.run("It is night.")).text)
    print([f"{step.kind} {step.name}" for step in recorder.runs[0].steps])

    remote = ScriptedAgent("Good morning.", name="remote")
    wrapped = remote.as_builder().use(shown).use_context_providers(Today("today")).build()
    await wrapped.run("Hello!")
    print(remote.seen[0].texts)


if __name__ == "__main__":
    trio.run(main)
