"""Messages join a run while it goes on, each once, and are kept with its input."""

from __future__ import annotations

from typing import Any

import pytest

from actors.agents._agent._agent import Agent
from actors.agents._injection import (
    MESSAGE_INJECTION_PENDING_MESSAGES_STATE_KEY,
    MessageInjectionMiddleware,
    enqueue_messages,
)
from actors.agents._tools._decorator import tool
from actors.testing import ScriptedChatClient
from protocols._content._item import Content
from protocols._errors import ChatClientInvalidRequestException

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
WHERE = pytest.mark.parametrize("where", ["agent", "client", "run"])
CALL = Content.from_function_call("c1", "look", arguments="{}")


def made(where: str, *replies: Any, **kwargs: Any) -> tuple[Agent, ScriptedChatClient[Any], Any]:
    middleware = [MessageInjectionMiddleware()]
    of: dict[str, dict[str, Any]] = {
        name: {"middleware": middleware} if name == where else {} for name in ("agent", "client")
    }
    client: ScriptedChatClient[Any] = ScriptedChatClient(*replies, **of["client"])
    agent = Agent(client, **of["agent"], **kwargs)

    async def run(text: str, *, session: Any, stream: bool) -> Any:
        of_run = middleware if where == "run" else None
        running = agent.run(text, session=session, stream=stream, middleware=of_run)
        return await (running.get_final_response() if stream else running)  # type: ignore[union-attr]

    return agent, client, run


@BOTH
@WHERE
async def test_what_a_tool_wants_to_say_is_read_in_the_next_turn(stream: bool, where: str) -> None:
    @tool
    def look() -> str:
        enqueue_messages(session, "by the way")
        return "found"

    agent, client, run = made(where, CALL, "one", "two", tools=[look])
    session = agent.create_session()
    answer = await run("U", session=session, stream=stream)
    assert answer.text == "one"
    assert client.seen[1].texts == ["U", "", "", "by the way"]
    await run("V", session=session, stream=stream)
    kept = [m.text for m in session.state["in_memory"]["messages"]]
    assert kept == ["U", "by the way", "", "", "one", "V", "two"]


@BOTH
async def test_where_there_would_be_no_turn_any_more_there_is_one_more(stream: bool) -> None:
    session: Any = None

    def answers_too_early(_: Any) -> str:
        enqueue_messages(session, "and one more thing")
        return "done"

    agent, client, run = made("agent", answers_too_early, "really done")
    session = agent.create_session()
    answer = await run("U", session=session, stream=stream)
    assert client.seen[1].texts == ["U", "done", "and one more thing"]
    assert [m.text for m in answer.messages] == ["done", "really done"]
    assert MessageInjectionMiddleware.get_pending_messages(session) == []


@BOTH
async def test_what_waits_before_a_run_joins_its_first_turn(stream: bool) -> None:
    agent, client, run = made("agent", "one")
    session = agent.create_session()
    enqueue_messages(session, "first of all")
    assert [m.text for m in MessageInjectionMiddleware.get_pending_messages(session)] == [
        "first of all"
    ]
    await run("U", session=session, stream=stream)
    assert client.seen[0].texts == ["U", "first of all"]
    assert MESSAGE_INJECTION_PENDING_MESSAGES_STATE_KEY not in session.state


async def test_without_the_middleware_messages_go_on_waiting() -> None:
    client: ScriptedChatClient[Any] = ScriptedChatClient("one")
    agent = Agent(client)
    session = agent.create_session()
    enqueue_messages(session, "hello?")
    await agent.run("U", session=session)
    assert client.seen[0].texts == ["U"]
    assert len(MessageInjectionMiddleware.get_pending_messages(session)) == 1


@BOTH
async def test_without_a_session_there_is_nowhere_to_wait(stream: bool) -> None:
    client: ScriptedChatClient[Any] = ScriptedChatClient(
        "x", middleware=[MessageInjectionMiddleware()]
    )
    with pytest.raises(ChatClientInvalidRequestException, match="needs a session"):
        if stream:
            await client.get_response("U", stream=True).get_final_response()
        else:
            await client.get_response("U")


@BOTH
async def test_a_history_that_is_kept_turn_by_turn_has_them_too(stream: bool) -> None:
    @tool
    def look() -> str:
        enqueue_messages(session, "by the way")
        return "found"

    agent, _, run = made(
        "agent", CALL, "one", tools=[look], require_per_service_call_history_persistence=True
    )
    session = agent.create_session()
    await run("U", session=session, stream=stream)
    kept = [m.text for m in session.state["in_memory"]["messages"]]
    assert kept == ["U", "", "", "by the way", "one"]
