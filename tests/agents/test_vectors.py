"""Scenarios with known results, from the values of a message up to a whole run over HTTP."""

from __future__ import annotations

from typing import Any

import openai
import pytest
import trio
from pydantic import BaseModel, ValidationError

from actors import (
    Agent,
    AgentMiddlewareLayer,
    AgentResponse,
    AgentResponseUpdate,
    AgentSession,
    BaseAgent,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    InMemoryHistoryProvider,
    Message,
    OpenAIChatCompletionClient,
    RetryPolicy,
    tool,
)
from actors.agents._middleware._contexts import AgentContext, FunctionInvocationContext
from actors.testing._fake_openai import open_fake_openai
from actors.testing._fake_replies import answers, chunk, completion, stalls_after
from actors.testing._scripted import ScriptedAgent, ScriptedChatClient
from protocols._errors import MiddlewareTermination
from tests.agents.toolkit import both, call, run, shape, unpaired
from tests.openai.conftest import NO_CERTIFICATES

# ----------------------------------------------------------------------------- values


def test_texts_are_joined_as_each_level_says() -> None:
    """TV1."""
    messages = [Message("assistant", ["a", "b"])] * 2
    assert messages[0].text == "a b"
    assert ChatResponse(messages=messages).text == "a b\na b"
    assert AgentResponse(messages=messages).text == "a ba b"


@pytest.mark.parametrize(
    ("response", "update"),
    [(ChatResponse, ChatResponseUpdate), (AgentResponse, AgentResponseUpdate)],
)
def test_updates_add_up_to_messages(response: Any, update: Any) -> None:
    """TV2."""
    result = Content.from_function_result("c", result="r")
    usages = [Content.from_usage({"input_token_count": n}) for n in (1, 2)]
    joined = response.from_updates([
        update(contents=["a"], role="assistant", message_id="1", continuation_token={"t": 1}),
        update(contents=["b"], message_id="1"),
        update(contents=["c"], message_id="2"),
        update(contents=[result], role="tool"),
        update(contents=["d"], role="assistant", message_id="1"),
        update(contents=[usages[0]]),
        update(contents=[usages[1]], finish_reason="stop"),
    ])  # fmt: skip
    assert shape(joined.messages) == [
        "assistant: ab", "assistant: c", "tool: result c", "assistant: d",
    ]  # fmt: skip
    assert joined.usage_details == {"input_token_count": 3}
    assert (joined.finish_reason, joined.continuation_token) == ("stop", None)


def test_parts_of_parallel_calls_find_the_call_they_belong_to() -> None:
    """TV3."""

    def part(call_id: str, name: str, arguments: str) -> ChatResponseUpdate:
        made = Content.from_function_call(call_id, name, arguments=arguments)
        return ChatResponseUpdate(contents=[made], role="assistant")

    usage = {"input_token_count": 3, "output_token_count": 4, "total_token_count": 7}
    joined = ChatResponse.from_updates([
        part("c0", "f", ""), part("c1", "g", ""), part("c0", "", '{"x"'), part("c1", "", '{"y"'),
        part("c0", "", ":1}"), part("c1", "", ":2}"),
        ChatResponseUpdate(contents=[Content.from_usage(usage)]),
    ])  # fmt: skip
    (message,) = joined.messages
    assert [(item.name, item.parse_arguments()) for item in message.contents] == [
        ("f", {"x": 1}), ("g", {"y": 2}),
    ]  # fmt: skip
    assert joined.usage_details == usage


@pytest.mark.parametrize("response", [ChatResponse, AgentResponse])
def test_a_structured_value_is_parsed_of_the_last_text(response: Any) -> None:
    """TV8."""

    class X(BaseModel):
        x: int

    def said(*texts: str, wanted: Any = X) -> Any:
        messages = [Message("assistant", [text]) for text in texts]
        return response(messages=messages, response_format=wanted)

    assert said('{"x":1}', " ").value == X(x=1)
    bad = said("nope")
    for _ in range(2):
        with pytest.raises(ValidationError):
            _ = bad.value
    with pytest.raises(ValueError, match="JSON"):
        _ = said("nope", wanted={"type": "object"}).value
    assert said().value is None


# ------------------------------------------------------------------------- whole runs


@both
@pytest.mark.parametrize("per_call", [False, True])
async def test_a_run_that_a_tool_ends_is_in_the_history_to_its_last_result(
    per_call: bool, way: str
) -> None:
    """Case G4 of the list: in each way of keeping it."""
    noop = tool(lambda: "r", name="noop")

    async def ends(context: FunctionInvocationContext, call_next: Any) -> None:
        await call_next()
        if context.metadata["call_id"] == "c":
            raise MiddlewareTermination

    client: ScriptedChatClient[Any] = ScriptedChatClient(*(call(one, "noop") for one in "abc"))
    agent = Agent(
        client,
        tools=noop,
        middleware=ends,
        context_providers=[InMemoryHistoryProvider()],
        require_per_service_call_history_persistence=per_call,
    )
    session = agent.create_session()
    final = await run(agent, way, "hi", session=session)
    assert shape(session.held_messages()) == ["user: hi", *shape(final.messages)]
    assert shape(final.messages) == [
        "assistant: call a", "tool: result a", "assistant: call b", "tool: result b",
        "assistant: call c", "tool: result c",
    ]  # fmt: skip


@both
async def test_a_class_of_ones_own_gets_the_layer_by_deriving_from_it(way: str) -> None:
    """OT2: the layer stands before the class that has the run."""

    class Mine(AgentMiddlewareLayer, ScriptedAgent):
        pass

    seen: list[str] = []

    async def sees(context: AgentContext, call_next: Any) -> None:
        seen.append(context.messages[0].text)
        await call_next()

    agent = Mine("a", "b", middleware=[sees])
    assert (await run(agent, way, "hi")).text == "a"
    assert (await run(agent, way, "ho", middleware=[sees])).text == "b"
    assert seen == ["hi", "ho", "ho"]
    assert isinstance(agent, BaseAgent)


# --------------------------------------------------------------------------- over HTTP


def _delta(call_id: str, name: str) -> list[dict[str, Any]]:
    function = {"name": name, "arguments": "{}"}
    return [{"index": 0, "id": call_id, "type": "function", "function": function}]


def client_of(url: str) -> OpenAIChatCompletionClient:
    made = OpenAIChatCompletionClient(
        "m", api_key="none", base_url=url, retry=RetryPolicy(max_retries=0), timeout=30
    )
    make = made._sdk.make
    made._sdk.make = lambda: make(  # type: ignore[call-arg]  # a partial
        http_client=openai.DefaultAsyncHttpxClient(verify=NO_CERTIFICATES)
    )
    return made


async def test_fifty_cancelled_streams_leave_no_connection_and_whole_histories() -> None:
    """Case D4 of the list: the turns before are kept, with their usage."""
    noop = tool(lambda: "r", name="noop")
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    calls_first = answers(
        whole=completion(tool_calls=_delta("c1", "noop"), finish_reason="tool_calls", usage=usage),
        chunks=[chunk(tool_calls=_delta("c1", "noop"), finish_reason="tool_calls", usage=usage)],
    )
    kept: list[Any] = []

    class Keeps(InMemoryHistoryProvider):
        async def after_run(self, *, context: Any, **kwargs: Any) -> None:
            kept.append(context.response)
            await super().after_run(context=context, **kwargs)

    async with open_fake_openai() as server, client_of(server.base_url) as client:
        agent = Agent(client, name="A", tools=noop, context_providers=[Keeps()])
        for _ in range(50):
            server.add(calls_first, stalls_after("one ", "two "))
            session = agent.create_session()
            await _cancelled_at_the_first_text(agent, session)
            held = session.held_messages()
            assert shape(held)[:3] == ["user: hi", "assistant: call c1", "tool: result c1"]
            assert shape(held)[3].startswith("assistant: one")
            assert unpaired(held) == []
        await server.wait_disconnects(50)
        assert kept[-1].usage_details["input_token_count"] == 3
        assert kept[-1].incomplete
    assert server.open_connections == 0


async def _cancelled_at_the_first_text(agent: Agent, session: AgentSession) -> None:
    with trio.CancelScope() as scope:
        stream = agent.run("hi", stream=True, session=session)
        async for update in stream:
            if update.text:
                scope.cancel()
    assert scope.cancelled_caught
