"""Providers contribute to a run, and keep what it adds to the conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from actors.agents._agent._context import ContextProvider, SessionContext
from actors.agents._middleware._contexts import (
    AgentContext,
    ChatContext,
    FunctionInvocationContext,
)
from actors.agents._middleware._kinds import (
    agent_middleware,
    chat_middleware,
    function_middleware,
)
from actors.agents._sessions._history import HistoryProvider, InMemoryHistoryProvider
from protocols._content._item import Content
from protocols._errors import MiddlewareException
from protocols._message import Message
from protocols._responses import AgentResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

USER = Message("user", ["hi"])
SAID = Message("assistant", ["hello"])
CALL = Content.from_function_call("c1", "delete", arguments={"path": "/"})


def context_of(*messages: Message, response: AgentResponse | None = None) -> SessionContext:
    context = SessionContext(session_id="s1", input_messages=list(messages))
    if response is not None:
        context._answered(response)
    return context


# ---------------------------------------------------------------------- the context


def test_messages_of_providers_come_in_their_order_before_the_input() -> None:
    context = context_of(USER, response=AgentResponse(messages=[SAID]))
    context.extend_messages("b", [Message("system", ["B"])])
    context.extend_messages("a", [Message("system", ["A"])])
    context.extend_messages("b", [Message("system", ["B2"])])
    texts = [one.text for one in context.get_messages(include_input=True, include_response=True)]
    assert texts == ["B", "B2", "A", "hi", "hello"]
    assert [one.text for one in context.get_messages(["a"])] == ["A"]
    assert [one.text for one in context.get_messages(exclude_sources=["b"])] == ["A"]


def test_messages_say_where_they_are_from_and_the_original_stays_as_it_was() -> None:
    provider = ContextProvider("memory")
    given = Message("user", ["x"], additional_properties={"k": 1})
    context = context_of()
    context.extend_messages(provider, [given], origin_session_ids=["s0"])
    (kept,) = context.context_messages["memory"]
    assert kept.additional_properties == {
        "k": 1,
        "_attribution": {
            "source_id": "memory",
            "source_type": "ContextProvider",
            "origin_session_ids": ["s0"],
        },
    }
    assert given.additional_properties == {"k": 1}
    context.extend_messages("other", [kept])
    assert context.context_messages["other"] == [kept]


def test_instructions_tools_and_middleware_are_collected() -> None:
    class Tool:
        def __init__(self) -> None:
            self.additional_properties: dict[str, Any] = {}

    tool, plain = Tool(), object()
    context = context_of()
    context.extend_instructions("p", "one")
    context.extend_instructions("p", ["two", "three"])
    context.extend_tools("p", [tool, plain])
    assert context.instructions == ["one", "two", "three"]
    assert context.tools == [tool, plain]
    assert tool.additional_properties == {"context_source": "p"}

    @chat_middleware
    async def chat(context: ChatContext, call_next: Any) -> None: ...

    @function_middleware
    async def function(context: FunctionInvocationContext, call_next: Any) -> None: ...

    @agent_middleware
    async def agent(context: AgentContext, call_next: Any) -> None: ...

    context.extend_middleware("p", chat)
    context.extend_middleware("q", [function])
    assert context.get_middleware() == [chat, function]
    for wrong in (agent, [chat, agent], "m1"):
        with pytest.raises(MiddlewareException):
            context.extend_middleware("q", wrong)


def test_the_options_of_a_context_can_only_be_read() -> None:
    context = SessionContext(options={"temperature": 1})
    with pytest.raises(TypeError):
        context.options["temperature"] = 2


async def test_a_provider_need_not_do_anything() -> None:
    provider = ContextProvider("p")
    for hook in (provider.before_run, provider.after_run):
        await hook(agent=None, session=None, context=context_of(), state={})


# ---------------------------------------------------------------------- the history


async def run_of(provider: HistoryProvider, state: dict[str, Any], *said: Message) -> list[str]:
    """Do what a run does with one provider; give what the model got."""
    context = context_of(USER, response=AgentResponse(messages=list(said)))
    await provider.before_run(agent=None, session=None, context=context, state=state)
    got = [one.text for one in context.get_messages(include_input=True)]
    await provider.after_run(agent=None, session=None, context=context, state=state)
    return got


async def test_the_history_in_memory_is_given_back_in_order() -> None:
    provider = InMemoryHistoryProvider()
    state: dict[str, Any] = {}
    assert provider.source_id == InMemoryHistoryProvider.DEFAULT_SOURCE_ID == "in_memory"
    assert await run_of(provider, state, SAID) == ["hi"]
    assert await run_of(provider, state, SAID) == ["hi", "hello", "hi"]
    assert state["messages"] == [USER, SAID, USER, SAID]
    assert state["messages"][1] is SAID


async def test_a_list_of_messages_that_somebody_put_there_is_history_too() -> None:
    state: dict[str, Any] = {"messages": [Message("user", ["before"])]}
    assert await run_of(InMemoryHistoryProvider(), state, SAID) == ["before", "hi"]
    assert [one.text for one in state["messages"]] == ["before", "hi", "hello"]


async def test_a_history_that_agent_framework_has_saved_is_gone_on_with() -> None:
    saved = [{"type": "message", **Message("user", ["before"]).to_dict()}]
    state: dict[str, Any] = {"messages": saved}
    assert await run_of(InMemoryHistoryProvider(), state, SAID) == ["before", "hi"]
    assert all(isinstance(one, Message) for one in state["messages"])
    assert [one.text for one in state["messages"]] == ["before", "hi", "hello"]


async def test_a_sink_keeps_messages_and_never_gives_them_back() -> None:
    provider = InMemoryHistoryProvider("audit", load_messages=False)
    state: dict[str, Any] = {}
    await run_of(provider, state, SAID)
    assert await run_of(provider, state, SAID) == ["hi"]
    assert state["not_loaded"] is True
    assert len(state["messages"]) == 4


@pytest.mark.parametrize(
    ("flags", "kept"),
    [
        ({"store_inputs": False}, ["hello"]),
        ({"store_outputs": False}, ["hi"]),
        ({"store_inputs": False, "store_outputs": False}, []),
        ({"store_context_messages": True}, ["A", "B", "hi", "hello"]),
        ({"store_context_messages": True, "store_context_from": ["b"]}, ["B", "hi", "hello"]),
    ],
)
async def test_flags_say_what_is_kept(flags: dict[str, Any], kept: list[str]) -> None:
    provider = InMemoryHistoryProvider(**flags)
    state: dict[str, Any] = {}
    context = context_of(USER, response=AgentResponse(messages=[SAID]))
    context.extend_messages("a", [Message("system", ["A"])])
    context.extend_messages("b", [Message("system", ["B"])])
    context.extend_messages(provider, [Message("user", ["own"])])
    await provider.after_run(agent=None, session=None, context=context, state=state)
    assert [one.text for one in state.get("messages", ())] == kept


async def test_messages_that_compaction_excluded_can_be_skipped() -> None:
    gone = Message("user", ["gone"], additional_properties={"_excluded": True})
    state: dict[str, Any] = {"messages": [gone, USER]}
    provider = InMemoryHistoryProvider(skip_excluded=True)
    assert await provider.get_messages("s1", state=state) == [USER]


async def test_without_a_state_there_is_nothing_to_keep() -> None:
    provider = InMemoryHistoryProvider()
    await provider.save_messages("s1", [USER])
    assert await provider.get_messages("s1") == []


async def test_answered_approvals_are_left_out_and_open_ones_stay() -> None:
    """H2: an approval that was given once must not be there to be given again."""
    asked = Content.from_function_approval_request("a1", CALL)
    open_one = Content.from_function_approval_request("a2", CALL)
    messages = [
        USER,
        Message("assistant", ["wait", asked]),
        Message("user", [asked.to_function_approval_response(approved=True)]),
        Message("assistant", [open_one]),
        Message("user", []),
    ]
    state: dict[str, Any] = {"messages": messages}
    context = context_of()
    await InMemoryHistoryProvider().before_run(
        agent=None, session=None, context=context, state=state
    )
    kept = context.get_messages()
    assert [list(one.contents) for one in kept] == [
        list(USER.contents),
        [Content.from_text("wait")],
        [open_one],
        [],
    ]


async def test_a_history_of_ones_own_needs_two_methods() -> None:
    class Half(HistoryProvider):
        async def get_messages(
            self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
        ) -> Sequence[Message]:
            return [USER]

    state: dict[str, Any] = {}
    with pytest.raises(NotImplementedError, match="Half needs a save_messages"):
        await run_of(Half("half"), state)
    with pytest.raises(NotImplementedError, match="get_messages"):
        await run_of(HistoryProvider("none"), state)
