"""What tests are told with must itself be right."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from actors.testing._script import ScriptOverError
from actors.testing._scripted import ScriptedAgent, ScriptedChatClient
from protocols._content._item import Content
from protocols._message import Message
from protocols._responses import (
    AgentResponse,
    AgentResponseUpdate,
    ChatResponse,
    ChatResponseUpdate,
)

CALL = Content.from_function_call("c1", "f", arguments="{}")
TWO = ChatResponse(
    messages=[
        Message("assistant", ["one"]),
        Message("assistant", ["two"]),
        Message("tool", ["x"]),
    ],
    conversation_id="conv",
    finish_reason="length",
    usage_details={"input_token_count": 3},
)


async def from_afar(messages: list[Message]) -> str:
    await trio.lowlevel.checkpoint()
    return f"you said {messages[-1].text}"


REPLIES = [
    ("hello  there", "hello  there"),
    (CALL, ""),
    (Message("assistant", ["said"], author_name="x"), "said"),
    (TWO, "one\ntwo\nx"),
    ([ChatResponseUpdate(contents=["a"], role="assistant"), "b"], "ab"),
    (from_afar, "you said hi"),
    (lambda messages: messages[-1].text.upper(), "HI"),
]


@pytest.mark.parametrize(("reply", "text"), REPLIES)
async def test_a_reply_is_the_same_as_a_stream_and_at_once(reply: Any, text: str) -> None:
    client: ScriptedChatClient[Any] = ScriptedChatClient(reply, reply)
    whole = await client.get_response("hi")
    stream = client.get_response("hi", stream=True)
    updates = [update async for update in stream]
    final = await stream.get_final_response()
    assert whole.text == final.text == text
    assert [one.contents for one in whole.messages] == [one.contents for one in final.messages]
    assert whole.usage_details == final.usage_details
    assert whole.conversation_id == final.conversation_id
    assert updates[-1].finish_reason == final.finish_reason
    assert [one.stream for one in client.seen] == [False, True]


async def test_a_text_streams_word_by_word() -> None:
    stream = ScriptedChatClient("a b  c").get_response("hi", stream=True)
    assert [update.text async for update in stream] == ["a", " b", " ", " c"]


@pytest.mark.parametrize("error", [LookupError("no"), LookupError])
async def test_an_exception_is_raised(error: Any) -> None:
    client: ScriptedChatClient[Any] = ScriptedChatClient(error, error)
    with pytest.raises(LookupError):
        await client.get_response("hi")
    with pytest.raises(LookupError):
        await client.get_response("hi", stream=True).get_final_response()


async def test_an_exception_among_updates_is_raised_there() -> None:
    client: ScriptedChatClient[Any] = ScriptedChatClient(
        ["a", ValueError("b")], ["a", LookupError()]
    )
    stream = client.get_response("hi", stream=True)
    assert (await anext(stream)).text == "a"
    with pytest.raises(ValueError, match="b"):
        await anext(stream)
    with pytest.raises(LookupError):
        await client.get_response("hi")


async def test_a_script_that_is_over_says_so() -> None:
    client: ScriptedChatClient[Any] = ScriptedChatClient("once")
    await client.get_response("hi")
    with pytest.raises(ScriptOverError, match="ScriptedChatClient has 1 replies"):
        await client.get_response("hi")
    with pytest.raises(ScriptOverError):
        await ScriptedChatClient(repeat=True).get_response("hi")


async def test_a_script_may_begin_again() -> None:
    agent = ScriptedAgent("a", "b", repeat=True)
    assert [(await agent.run("hi")).text for _ in range(5)] == ["a", "b", "a", "b", "a"]


async def test_what_is_no_reply_is_refused() -> None:
    with pytest.raises(TypeError, match="a int is no reply"):
        await ScriptedChatClient(7).get_response("hi")


async def test_a_gate_holds_every_update_up(autojump_clock: trio.testing.MockClock) -> None:
    async def wait() -> None:
        await trio.sleep(1)

    client: ScriptedChatClient[Any] = ScriptedChatClient("a b", "a b", wait=wait)
    await client.get_response("hi", stream=True).get_final_response()
    assert trio.current_time() == pytest.approx(2, abs=0.01)
    await client.get_response("hi")
    assert trio.current_time() == pytest.approx(3, abs=0.01)


async def test_a_scripted_agent_remembers_what_it_was_asked() -> None:
    agent = ScriptedAgent(
        AgentResponse(messages=[Message("assistant", ["ok"])]), "again", name="A"
    )
    session = agent.create_session()
    assert (await agent.run(["hi", "ho"], session=session, client_kwargs={"k": 1})).text == "ok"
    stream = agent.run("more", stream=True, options={"seed": 1})
    assert [type(update) async for update in stream] == [AgentResponseUpdate]
    assert (await stream.get_final_response()).text == "again"
    first, second = agent.seen
    assert first.texts == ["hi", "ho"]
    assert (first.session, first.kwargs) == (session, {"client_kwargs": {"k": 1}})
    assert (second.stream, second.options) == (True, {"seed": 1})
    assert agent.name == "A"
