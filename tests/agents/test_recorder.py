"""A recorder is middleware that logs runs as data."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio

from actors.agents._agent._agent import Agent
from actors.agents._middleware._recorder import RunRecord, RunRecorder
from actors.agents._tools._decorator import tool
from actors.testing._scripted import ScriptedChatClient
from tests.agents.toolkit import both, call, calls, run


@tool
async def waits(seconds: int) -> str:
    await trio.sleep(seconds)
    return f"waited {seconds}"


@both
async def test_a_run_is_recorded_with_all_its_steps(way: str, autojump_clock: Any) -> None:
    seen: list[RunRecord] = []
    recorder = RunRecorder(seen.append)
    client: ScriptedChatClient[Any] = ScriptedChatClient(
        calls(call("1", "waits", {"seconds": 2}), call("2", "waits", {"seconds": 1})), "end"
    )
    agent = Agent(client, name="A", tools=waits, middleware=recorder)
    session = agent.create_session(session_id="s")
    await run(agent, way, "hi", session=session)
    (record,) = recorder.runs
    assert seen == [record]
    assert (record.agent, record.session_id, record.error) == ("A", "s", None)
    assert record.messages[0]["contents"][0]["text"] == "hi"
    assert record.response["messages"][-1]["contents"][0]["text"] == "end"
    assert record.seconds == 2
    kinds = [(step.kind, step.name) for step in record.steps]
    assert kinds == [("model", "scripted"), ("tool", "waits"), ("tool", "waits"),
                     ("model", "scripted")]  # fmt: skip
    tools = sorted(record.steps[1:3], key=lambda step: step.given["call_id"])
    assert [step.given for step in tools] == [
        {"call_id": "1", "arguments": {"seconds": 2}},
        {"call_id": "2", "arguments": {"seconds": 1}},
    ]
    assert [(step.got[0]["text"], step.seconds) for step in tools] == [
        ("waited 2", 2), ("waited 1", 1),
    ]  # fmt: skip
    assert len(record.steps[3].given["messages"]) == 3
    assert record.steps[3].got["messages"][0]["contents"][0]["text"] == "end"
    json.dumps(record.to_dict())


@both
async def test_a_run_that_fails_is_recorded_with_its_error(way: str) -> None:
    recorder = RunRecorder()
    agent = Agent(ScriptedChatClient(LookupError("down")), middleware=recorder)
    with pytest.raises(LookupError):
        await run(agent, way, "hi")
    (record,) = recorder.runs
    assert record.error == "LookupError('down')"
    assert record.steps[0].error == "LookupError('down')"
    assert record.response is None


@both
async def test_inner_runs_have_records_of_their_own(way: str) -> None:
    recorder = RunRecorder()
    inner = Agent(ScriptedChatClient("inner says"), name="inner", middleware=recorder)
    client: ScriptedChatClient[Any] = ScriptedChatClient(call("1", "inner", {"task": "t"}), "end")
    await run(Agent(client, name="outer", tools=inner.as_tool(), middleware=recorder), way, "hi")
    outer_record, inner_record = recorder.runs
    assert (outer_record.agent, inner_record.agent) == ("outer", "inner")
    assert [step.kind for step in outer_record.steps] == ["model", "tool", "model"]
    assert [step.kind for step in inner_record.steps] == ["model"]


async def test_only_so_many_records_are_kept() -> None:
    recorder = RunRecorder(keep=2)
    agent = Agent(ScriptedChatClient("a", repeat=True), middleware=recorder)
    for _ in range(3):
        await agent.run("hi")
    assert len(recorder.runs) == 2
