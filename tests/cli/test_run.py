"""``actors run``: what goes in, what comes out, and the exit codes."""

from __future__ import annotations

import json
import signal

import pytest

from tests.cli.conftest import ECHO, Folder

ASKS = """
from actors import Executor, WorkflowBuilder, WorkflowContext, handler, response_handler

class Clerk(Executor):
    @handler
    async def ask(self, text: str, ctx: WorkflowContext[None]) -> None:
        await ctx.request_info(f"Shall I {text}?", bool, request_id="q1")

    @response_handler
    async def answered(self, asked: str, answer: bool, ctx: WorkflowContext[None]) -> None: ...

workflow = WorkflowBuilder(start_executor=Clerk("clerk")).build()
"""

# Sends SIGINT to its own process: what Ctrl-C does, at a known moment.
INTERRUPTS = """
import signal
import trio
from actors import WorkflowBuilder, WorkflowContext, executor

@executor
async def stubborn(text: str, ctx: WorkflowContext[None, str]) -> None:
    await ctx.yield_output("half a sen")
    try:
        signal.raise_signal(signal.SIGINT)
        await trio.sleep_forever()
    finally:
        with open("closed", "w") as file:
            file.write("in order")

workflow = WorkflowBuilder(start_executor=stubborn).build()
"""

AGENT = """
from actors import Agent, WorkflowBuilder
from actors.testing import ScriptedChatClient

poet = Agent(ScriptedChatClient("A frog\\njumps in."), name="poet")
workflow = WorkflowBuilder(start_executor=poet).build()
"""


def test_lines_of_the_executors_go_to_standard_output(folder: Folder) -> None:
    result = folder.actors("run", "flow.py", "hi")
    assert (result.code, result.out) == (0, "shout | hearing hi\nrepeat | HI! HI!\n")
    assert result.err.startswith("done in ")


def test_without_streaming_there_are_only_the_outputs(folder: Folder) -> None:
    result = folder.actors("run", "flow.py", "hi", "--no-stream")
    assert (result.code, result.out) == (0, "hearing hi\nHI! HI!\n")


def test_the_words_of_an_agent_come_in_lines_and_are_counted(folder: Folder) -> None:
    folder.write("poem.py", AGENT)
    result = folder.actors("run", "poem.py", "go on")
    assert result.out == "poet | A frog\npoet | jumps in.\n"


def test_the_updates_of_an_agent_are_one_output(folder: Folder) -> None:
    folder.write("poem.py", AGENT)
    result = folder.actors("run", "poem.py", "go on", "--no-stream")
    assert result.out == "A frog\njumps in.\n"


@pytest.mark.parametrize("stream", ["--stream", "--no-stream"])
def test_json_has_a_line_for_each_event_and_one_for_the_result(
    folder: Folder, stream: str
) -> None:
    result = folder.actors("run", "flow.py", "hi", "--json", stream)
    *events, last = [json.loads(line) for line in result.out.splitlines()]
    assert result.code == 0
    assert [e["data"] for e in events if e["type"] == "output"] == ["hearing hi", "HI! HI!"]
    assert {e["executor_id"] for e in events if e["type"] == "executor_completed"} == {
        "shout",
        "repeat",
    }
    assert events[-1] == {"type": "status", "origin": "FRAMEWORK", "state": "IDLE"}
    assert last.pop("seconds") >= 0
    assert last == {
        "type": "result",
        "state": "IDLE",
        "exit_code": 0,
        "outputs": ["hearing hi", "HI! HI!"],
    }


def test_what_the_users_code_prints_stays_out_of_the_json(folder: Folder) -> None:
    folder.write(
        "noisy.py",
        "print('loading')\n" + ECHO.replace("    if text", "    print(1)\n    if text", 1),
    )
    result = folder.actors("run", "noisy.py", "hi", "--json")
    assert [json.loads(line) for line in result.out.splitlines()]
    assert "loading\n1\n" in result.err


@pytest.mark.parametrize("stream", ["--stream", "--no-stream"])
def test_a_failed_run_names_the_executor_and_the_line(folder: Folder, stream: str) -> None:
    result = folder.actors("run", "flow.py", "fail", stream)
    assert result.code == 1
    assert "Error: executor 'repeat' failed: ValueError: no such word (flow.py, line 13)" in (
        result.err
    )
    assert "Traceback" not in result.err


def test_the_traceback_is_there_for_those_who_want_it(folder: Folder) -> None:
    result = folder.actors("run", "flow.py", "fail", "--traceback")
    assert "Traceback (most recent call last):" in result.err
    assert 'raise ValueError("no such word")' in result.err


def test_json_says_what_failed(folder: Folder) -> None:
    result = folder.actors("run", "flow.py", "fail", "--json")
    last = json.loads(result.out.splitlines()[-1])
    assert (last["state"], last["exit_code"]) == ("FAILED", 1)
    assert last["error"] == {
        "type": "ValueError",
        "message": "no such word",
        "executor_id": "repeat",
        "place": "flow.py, line 13",
    }
    assert result.err.startswith("Error: ")


def test_a_run_that_waits_for_a_person_has_an_exit_code_of_its_own(folder: Folder) -> None:
    folder.write("clerk.py", ASKS)
    result = folder.actors("run", "clerk.py", "sign")
    assert result.code == 3
    assert "q1 (clerk, wants bool): Shall I sign?" in result.err


def test_json_has_the_open_requests(folder: Folder) -> None:
    folder.write("clerk.py", ASKS)
    result = folder.actors("run", "clerk.py", "sign", "--json")
    *events, last = [json.loads(line) for line in result.out.splitlines()]
    request = {
        "request_id": "q1",
        "source_executor_id": "clerk",
        "data": "Shall I sign?",
        "response_type": "bool",
    }
    assert (result.code, last["requests"]) == (3, [request])
    assert [e["request_id"] for e in events if e["type"] == "request_info"] == ["q1"]


@pytest.mark.parametrize("stream", ["--stream", "--no-stream"])
def test_ctrl_c_stops_in_order_and_says_what_was_stopped(folder: Folder, stream: str) -> None:
    folder.write("stubborn.py", INTERRUPTS)
    before = signal.getsignal(signal.SIGINT)
    result = folder.actors("run", "stubborn.py", "hi", stream)
    assert result.code == 130
    assert "The run was stopped; at work: stubborn." in result.err
    assert (folder.path / "closed").read_text() == "in order"
    assert signal.getsignal(signal.SIGINT) is before


def test_json_says_what_ctrl_c_stopped(folder: Folder) -> None:
    folder.write("stubborn.py", INTERRUPTS)
    result = folder.actors("run", "stubborn.py", "hi", "--json")
    last = json.loads(result.out.splitlines()[-1])
    assert (last["state"], last["stopped"], last["outputs"]) == ("CANCELLED", ["stubborn"], [])


def test_ctrl_c_while_the_workflow_is_made_stops_that(folder: Folder) -> None:
    folder.write(
        "slow.py",
        "import signal, trio\n"
        "async def workflow():\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "    await trio.sleep_forever()\n",
    )
    result = folder.actors("run", "slow.py", "hi")
    assert result.code == 130
    assert "no executor was at work" in result.err


def test_ctrl_c_while_the_file_is_loaded_ends_the_command(folder: Folder) -> None:
    folder.write("slow.py", "import signal\nsignal.raise_signal(signal.SIGINT)\n")
    result = folder.actors("run", "slow.py", "hi")
    assert (result.code, result.out) == (130, "")
    assert "interrupted" in result.err


def test_supersteps_can_be_limited(folder: Folder) -> None:
    result = folder.actors("run", "flow.py", "hi", "--max-iterations", "1")
    assert result.code == 1
    assert "WorkflowConvergenceException" in result.err
    assert result.err.rstrip().endswith("or here with --max-iterations")
    assert folder.actors("run", "flow.py", "hi", "--max-iterations", "2").code == 0


def test_a_handler_that_calls_exit_fails_its_run(folder: Folder) -> None:
    folder.write(
        "quits.py", ECHO.replace('raise ValueError("no such word")', "raise SystemExit(7)")
    )
    result = folder.actors("run", "quits.py", "fail")
    assert result.code == 1
    assert "SystemExit: 7" in result.err


def test_every_error_of_a_group_is_named(folder: Folder) -> None:
    group = "raise ExceptionGroup('both', [ValueError('one'), KeyError('two')])"
    folder.write("group.py", ECHO.replace('raise ValueError("no such word")', group))
    result = folder.actors("run", "group.py", "fail")
    assert "ExceptionGroup: both" in result.err
    assert "  ValueError: one\n  KeyError: 'two'\n" in result.err


def test_a_retry_is_told_with_its_reason(folder: Folder) -> None:
    folder.write(
        "retry.py",
        "from actors import Backoff, Supervision, WorkflowBuilder, WorkflowContext, executor\n"
        "@executor\n"
        "async def flaky(text: str, ctx: WorkflowContext[None, str]) -> None:\n"
        "    await ctx.yield_output(f'try {ctx.attempt}')\n"
        "    if ctx.attempt == 1:\n"
        "        raise OSError('the line is dead')\n"
        "workflow = WorkflowBuilder(\n"
        "    start_executor=flaky, supervision=Supervision(backoff=Backoff(base=0))\n"
        ").build()\n",
    )
    result = folder.actors("run", "retry.py", "hi")
    assert (result.code, result.out) == (0, "flaky | try 1\nflaky | try 2\n")
    assert "flaky: what it said in attempt 1 doesn't count" in result.err
    assert "flaky: attempt 2, after OSError: the line is dead" in result.err


def test_warnings_and_the_users_own_events_are_remarks(folder: Folder) -> None:
    folder.write(
        "events.py",
        "from actors import WorkflowBuilder, WorkflowContext, WorkflowEvent, executor\n"
        "@executor\n"
        "async def teller(text: str, ctx: WorkflowContext[str]) -> None:\n"
        "    await ctx.add_event(WorkflowEvent('progress', data=0.5))\n"
        "    await ctx.send_message(text)\n"
        "workflow = WorkflowBuilder(start_executor=teller).build()\n",
    )
    result = folder.actors("run", "events.py", "hi")
    assert "progress: 0.5" in result.err
