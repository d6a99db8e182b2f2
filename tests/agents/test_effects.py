"""Model calls and tool calls go through the one seam at which a durable run records them."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
import trio

from actors.agents._agent._agent import Agent
from actors.agents._tools._decorator import tool
from actors.testing._scripted import ScriptedChatClient
from protocols._content._item import Content
from protocols._effects import Effect, EffectEntry, current_effects, current_idempotency_key
from protocols._responses import ChatResponse
from tests.agents.toolkit import both, call, calls, results, run


@attrs.define
class Entry:
    journal: Journal
    key: str

    @property
    def is_known(self) -> bool:
        return self.key in self.journal.known

    @property
    def result(self) -> Any:
        return self.journal.known[self.key]

    @property
    def idempotency_key(self) -> str:
        return f"id of {self.key}"

    async def done(self, result: Any) -> None:
        await trio.lowlevel.checkpoint()
        self.journal.known[self.key] = result

    async def failed(self, error: Exception) -> None:
        await trio.lowlevel.checkpoint()
        self.journal.failures.append(f"{self.key}: {error}")


@attrs.define
class Journal:
    """Keeps everything; what is known is not done again."""

    known: dict[str, Any] = attrs.field(factory=dict)
    effects: list[Effect] = attrs.field(factory=list)
    failures: list[str] = attrs.field(factory=list)

    async def begin(self, effect: Effect) -> EffectEntry:
        await trio.lowlevel.checkpoint()
        self.effects.append(effect)
        return Entry(self, effect.key)

    def keys(self) -> list[str]:
        return [f"{one.kind} {one.name} {one.key}" for one in self.effects]


def agent_of(client: Any, log: list[Any]) -> Agent:
    @tool(idempotent=True)
    async def note(n: int) -> str:
        log.append((n, current_idempotency_key.get()))
        return f"noted {n}"

    return Agent(client, name="A", tools=note)


@both
async def test_what_was_recorded_is_not_done_again(way: str) -> None:
    """R40: intents with key, arguments and declaration; the same keys at each repetition."""
    journal, log = Journal(), list[Any]()
    current_effects.set(journal)
    client: ScriptedChatClient[Any] = ScriptedChatClient(
        calls(call("a", "note", {"n": 1}), call("b", "note", {"n": 2})), "end of it"
    )
    first = await run(agent_of(client, log), way, "hi")
    keys = ["model scripted turn 0", "tool note turn 1/call 0 a/tool",
            "tool note turn 1/call 1 b/tool", "model scripted turn 1"]  # fmt: skip
    assert sorted(journal.keys()) == sorted(keys)
    assert journal.keys()[0] == keys[0]
    assert sorted(log) == [(1, "id of turn 1/call 0 a/tool"), (2, "id of turn 1/call 1 b/tool")]
    by_key = {one.key: one for one in journal.effects}
    assert by_key["turn 1/call 0 a/tool"].arguments == {"n": 1}
    assert all(one.idempotent for one in journal.effects)

    replayed: ScriptedChatClient[Any] = ScriptedChatClient()
    again = await run(agent_of(replayed, log), way, "hi")
    assert again.messages == first.messages
    assert len(log) == 2
    assert replayed.seen == []
    digests = {key: one.digest for key, one in by_key.items()}
    assert {one.key: one.digest for one in journal.effects[4:]} == digests


@both
async def test_failures_are_recorded_and_reach_whoever_they_reached_before(way: str) -> None:
    @tool
    async def fails() -> None:
        raise LookupError("no")

    journal = Journal()
    current_effects.set(journal)
    client: ScriptedChatClient[Any] = ScriptedChatClient(call("1", "fails"), LookupError("down"))
    with pytest.raises(LookupError, match="down"):
        await run(Agent(client, tools=fails), way, "hi")
    assert journal.failures == ["turn 1/call 0 1/tool: no", "turn 1: down"]


async def test_a_replayed_stream_comes_in_one_update_and_a_stream_left_early_stays_unknown() -> (
    None
):
    journal = Journal()
    current_effects.set(journal)
    client: ScriptedChatClient[Any] = ScriptedChatClient("one two", "one two")
    agent = Agent(client)
    async with agent.run("hi", stream=True) as stream:
        await anext(stream)
    assert journal.known == {}
    assert [one.text async for one in agent.run("hi", stream=True)] == ["one", " two"]
    assert isinstance(journal.known["turn 0"], ChatResponse)
    updates = [one.text async for one in agent.run("hi", stream=True)]
    assert updates[0] == "one two"
    assert len(client.seen) == 2


@both
async def test_an_agent_as_a_tool_is_recorded_by_what_it_does_itself(way: str) -> None:
    journal = Journal()
    current_effects.set(journal)
    inner = Agent(ScriptedChatClient("inner"), name="inner")
    client: ScriptedChatClient[Any] = ScriptedChatClient(
        Content.from_function_call("c", "inner", arguments={"task": "t"}), "end"
    )
    final = await run(Agent(client, tools=inner.as_tool()), way, "hi")
    assert results(final.messages) == [("c", "inner")]
    assert journal.keys() == [
        "model scripted turn 0", "model scripted turn 1/call 0 c/turn 0", "model scripted turn 1",
    ]  # fmt: skip
