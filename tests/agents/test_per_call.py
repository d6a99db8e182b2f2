"""A history that is kept turn by turn shows a model the same, and never a call without a result."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import trio

from actors.agents._agent._agent import Agent
from actors.agents._agent._context import ContextProvider, SessionContext
from actors.agents._sessions._history import InMemoryHistoryProvider
from actors.agents._tools._decorator import tool
from actors.testing import ScriptedChatClient
from protocols._content._item import Content
from protocols._errors import AgentInvalidRequestException, ChatClientInvalidResponseException
from protocols._message import Message
from protocols._responses import ChatResponse

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
PER_CALL = pytest.mark.parametrize("per_call", [False, True], ids=["at the end", "per call"])


def call(number: int) -> Content:
    return Content.from_function_call(f"c{number}", "look", arguments="{}")


class Facts(ContextProvider):
    """Adds a message, and notes what it is shown afterwards."""

    def __init__(self) -> None:
        super().__init__("facts")
        self.shown: list[int] = []

    async def before_run(self, *, context: SessionContext, **_: Any) -> None:
        context.extend_messages(self, [Message("system", ["CTX"])])

    async def after_run(self, *, context: SessionContext, **_: Any) -> None:
        assert context.response is not None
        self.shown.append(len(context.response.messages))


def made(*replies: Any, **kwargs: Any) -> tuple[Agent, ScriptedChatClient[Any]]:
    @tool
    async def look() -> str:
        await trio.lowlevel.checkpoint()
        return "found"

    client: ScriptedChatClient[Any] = ScriptedChatClient(*replies)
    return Agent(client, tools=[look], **kwargs), client


async def answer(agent: Agent, text: str, session: Any, *, stream: bool) -> Any:
    if stream:
        return await agent.run(text, session=session, stream=True).get_final_response()
    return await agent.run(text, session=session)


def kept(session: Any) -> list[Message]:
    return list(session.state.get("in_memory", {}).get("messages", ()))


def shape(messages: list[Message]) -> list[str]:
    return [
        " ".join(c.type if c.type != "text" else str(c.text) for c in m.contents) for m in messages
    ]


@BOTH
@PER_CALL
async def test_the_model_is_shown_the_same_and_the_store_holds_the_same(
    stream: bool, per_call: bool
) -> None:
    """Vectors TV25 and TV26: the context stands in every turn, in the order of the list."""
    facts = Facts()
    agent, client = made(
        call(1), "one", call(2), "two",
        context_providers=[InMemoryHistoryProvider(), facts],
        require_per_service_call_history_persistence=per_call,
    )  # fmt: skip
    session = agent.create_session()
    await answer(agent, "U", session, stream=stream)
    await answer(agent, "V", session, stream=stream)
    turn = ["function_call", "function_result"]
    assert [shape(seen.messages) for seen in client.seen] == [
        ["CTX", "U"],
        ["CTX", "U", *turn],
        ["U", *turn, "one", "CTX", "V"],
        ["U", *turn, "one", "CTX", "V", *turn],
    ]
    assert shape(kept(session)) == ["U", *turn, "one", "V", *turn, "two"]
    assert facts.shown == [3, 3]


@BOTH
async def test_a_turn_is_kept_while_the_next_one_is_asked(stream: bool) -> None:
    seen: list[list[str]] = []
    session: Any = None

    def look_at_the_store(_: Any) -> str:
        seen.append(shape(kept(session)))
        return "done"

    agent, _ = made(call(1), look_at_the_store, require_per_service_call_history_persistence=True)
    session = agent.create_session()
    await answer(agent, "U", session, stream=stream)
    assert seen == [["U", "function_call", "function_result"]]


@BOTH
@PER_CALL
async def test_after_a_failed_turn_the_history_is_closed(stream: bool, per_call: bool) -> None:
    """Vector TV27: a closed transcript, and no call that nothing answers."""
    agent, client = made(
        call(1), RuntimeError("down"), "again",
        require_per_service_call_history_persistence=per_call,
    )  # fmt: skip
    session = agent.create_session()
    with pytest.raises(RuntimeError, match="down"):
        await answer(agent, "U", session, stream=stream)
    assert shape(kept(session)) == ["U", "function_call", "function_result"]
    await answer(agent, "V", session, stream=stream)
    assert shape(client.seen[-1].messages) == ["U", "function_call", "function_result", "V"]


@BOTH
async def test_a_cancelled_tool_leaves_a_closed_history_and_nothing_twice(stream: bool) -> None:
    """Case D7 of the list, with a history that is kept turn by turn."""

    @tool
    async def hang() -> str:
        await trio.sleep(999)
        return ""

    hanging = Content.from_function_call("c2", "hang", arguments="{}")
    agent, _ = made(call(1), hanging, "x", require_per_service_call_history_persistence=True)
    agent.default_options["tools"] = [*agent.default_options["tools"], hang]
    session = agent.create_session()
    with trio.move_on_after(0.05):
        await answer(agent, "U", session, stream=stream)
    turn = ["function_call", "function_result"]
    assert shape(kept(session)) == ["U", *turn, *turn]


@BOTH
async def test_a_service_that_keeps_the_conversation_is_not_sent_it_again(
    stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    replies = [
        ChatResponse(messages=[Message("assistant", [text])], conversation_id="conv_1")
        for text in ("one", "two")
    ]
    client: ScriptedChatClient[Any] = ScriptedChatClient(*replies, stores=True)
    agent = Agent(
        client,
        context_providers=[InMemoryHistoryProvider()],
        require_per_service_call_history_persistence=True,
    )
    session = agent.create_session()
    with caplog.at_level(logging.WARNING):
        await answer(agent, "U", session, stream=stream)
        await answer(agent, "V", session, stream=stream)
    assert "load_messages=False" in caplog.text
    assert [shape(seen.messages) for seen in client.seen] == [["U"], ["V"]]
    assert shape(kept(session)) == ["U", "one", "V", "two"]


async def test_a_service_that_was_to_keep_it_and_gives_no_id_is_told_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    client: ScriptedChatClient[Any] = ScriptedChatClient("one", stores=True)
    agent = Agent(
        client,
        context_providers=[InMemoryHistoryProvider(load_messages=False)],
        require_per_service_call_history_persistence=True,
    )
    with caplog.at_level(logging.WARNING):
        await agent.run("U", session=agent.create_session())
    assert "gave no id" in caplog.text


@BOTH
async def test_two_keepers_of_one_conversation_are_refused(stream: bool) -> None:
    agent, client = made("one", require_per_service_call_history_persistence=True)
    given = agent.get_session("conv_1")
    agent.context_providers.append(InMemoryHistoryProvider())
    with pytest.raises(AgentInvalidRequestException, match="conv_1"):
        await answer(agent, "U", given, stream=stream)
    assert client.seen == []
    surprise = ChatResponse(messages=[Message("assistant", ["x"])], conversation_id="conv_2")
    agent, _ = made(surprise, require_per_service_call_history_persistence=True)
    with pytest.raises(ChatClientInvalidResponseException, match="conv_2"):
        await answer(agent, "U", agent.create_session(), stream=stream)


async def test_without_a_session_there_is_nothing_to_keep() -> None:
    agent, _ = made(call(1), "one", require_per_service_call_history_persistence=True)
    assert (await agent.run("U")).text == "one"
