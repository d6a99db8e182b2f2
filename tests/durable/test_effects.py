"""What a turn did to the world is not done again when the turn is."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import trio

from actors import (
    Agent,
    Executor,
    Happened,
    Repeat,
    Supervision,
    UnknownOutcomeError,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowRunState,
    handler,
)
from actors.agents._tools._decorator import tool
from actors.checkpoint import InMemoryCheckpointStorage
from actors.testing import ScriptedChatClient, cancel_everywhere
from actors.workflows import AgentExecutor
from protocols import Content, StorageError, WorkflowConvergenceException, current_idempotency_key
from tests.durable.kit import infos_of, only_run
from tests.durable.shaky import ShakyStorage
from tests.workflows.kit import Node, chain

State = WorkflowRunState
AT_ONCE = Supervision(max_restarts=5)


class Pays(Executor):
    """Does two things to the world, and then whatever it was told to."""

    state = ()

    def __init__(self, calls: list[str], then: Any = None, *, idempotent: bool = False) -> None:
        super().__init__("pays")
        self.calls, self.then, self.idempotent = calls, then, idempotent

    async def pay(self, what: str) -> str:
        self.calls.append(what)
        await trio.lowlevel.checkpoint()
        return f"paid {what} under {current_idempotency_key.get()}"

    @handler
    async def go(self, message: int, ctx: WorkflowContext[int, list[str]]) -> None:
        first = await ctx.step(self.pay, "rent", idempotent=self.idempotent)
        second = await ctx.step(self.pay, "tax", idempotent=self.idempotent)
        if self.then is not None:
            await self.then(ctx)
        await ctx.yield_output([first, second])


async def test_a_retry_does_not_repeat_steps() -> None:
    calls: list[str] = []

    async def fails_twice(ctx: Any) -> None:
        if ctx.attempt < 3:
            raise ValueError(ctx.attempt)

    workflow = chain(Pays(calls, fails_twice), supervision=AT_ONCE)
    (output,) = (await workflow.run(1)).get_outputs()
    assert calls == ["rent", "tax"]
    assert [each.split(" under ")[0] for each in output] == ["paid rent", "paid tax"]


async def test_without_a_store_and_without_retries_a_step_is_just_called() -> None:
    calls: list[str] = []
    await chain(Pays(calls)).run(1)
    assert calls == ["rent", "tax"]


async def test_each_step_has_a_key_of_its_own_that_stays_the_same() -> None:
    keys: list[str] = []

    async def note(ctx: Any) -> None:
        async def look() -> None:
            keys.append(current_idempotency_key.get() or "")
            await trio.lowlevel.checkpoint()
            raise KeyError("try again")

        keys.append(ctx.idempotency_key)
        await ctx.step(look, idempotent=True)

    storage = InMemoryCheckpointStorage()
    workflow = chain(Pays([], note), supervision=AT_ONCE, checkpoint_storage=storage)
    with pytest.raises(KeyError):
        await workflow.run(1)
    turn, step = keys[:2]
    assert keys == [turn, step] * 6
    assert turn == f"{await only_run(storage)}/pays/1"
    assert step == f"{turn}/step look"


def interrupted_at(storage: Any, calls: list[str], **options: Any) -> tuple[Workflow, trio.Event]:
    """A workflow whose turn waits for ever after its two steps."""
    waits = trio.Event()

    async def wait(ctx: Any) -> None:
        if not waits.is_set():
            waits.set()
            await trio.sleep_forever()

    return chain(Pays(calls, wait, **options), checkpoint_storage=storage, name="flow"), waits


@pytest.mark.parametrize("position", range(1, 6))
async def test_a_turn_that_was_broken_off_anywhere_repeats_no_recorded_step(
    position: int, autojump_clock: trio.testing.MockClock
) -> None:
    """The log up to each position is what a crash there would leave."""
    calls: list[str] = []
    storage = InMemoryCheckpointStorage()
    workflow, _ = interrupted_at(storage, calls)
    with trio.move_on_after(5):
        await workflow.run(1)
    assert calls == ["rent", "tax"]
    run_id = await only_run(storage)
    calls.clear()
    there = f"{run_id}@{position}"
    # 1: the input; 2, 4: intents; 3, 5: results.
    if position in {2, 4}:
        with pytest.raises(
            UnknownOutcomeError, match="broken off during the step 'pay'"
        ) as caught:
            await workflow.run(checkpoint_id=there)
        assert calls == []
        assert caught.value.executor_id == "pays"
        asked = caught.value.request_id
        result = await workflow.run(
            checkpoint_id=there, responses={asked: Happened("paid by hand")}
        )
        assert calls == (["tax"] if position == 2 else [])
        assert result.get_outputs()[0][position // 2 - 1] == "paid by hand"
        calls.clear()
        await workflow.run(checkpoint_id=there, responses={asked: Repeat()})
        assert calls == ["rent", "tax"][position // 2 - 1 :]
    else:
        await workflow.run(checkpoint_id=there)
        assert calls == ["rent", "tax"][position // 2 :]


async def test_an_answer_about_an_unknown_outcome_is_stored_before_it_is_used(
    autojump_clock: trio.testing.MockClock,
) -> None:
    calls: list[str] = []
    storage = InMemoryCheckpointStorage()
    workflow, _ = interrupted_at(storage, calls)
    with trio.move_on_after(5):
        await workflow.run(1)
    run_id = await only_run(storage)
    with pytest.raises(UnknownOutcomeError) as caught:
        await workflow.run(checkpoint_id=f"{run_id}@2")
    answer = {caught.value.request_id: Happened("by hand")}
    result = await workflow.run(checkpoint_id=f"{run_id}@2", responses=answer)
    again = await workflow.run(checkpoint_id=f"{(await storage.list_runs())[-1].run_id}@2")
    assert result.get_outputs()[0][0] == again.get_outputs()[0][0] == "by hand"
    with pytest.raises(TypeError, match=r"answer Happened\(result\) or Repeat"):
        await workflow.run(checkpoint_id=f"{run_id}@2", responses={caught.value.request_id: 7})


async def test_idempotent_steps_write_no_intent_and_are_repeated_under_the_same_key(
    autojump_clock: trio.testing.MockClock,
) -> None:
    calls: list[str] = []
    storage = InMemoryCheckpointStorage()
    workflow, _ = interrupted_at(storage, calls, idempotent=True)
    with trio.move_on_after(5):
        await workflow.run(1)
    run_id = await only_run(storage)
    assert (await storage.read_run(run_id)).position.sequence == 1 + 2 + 1
    await workflow.run(checkpoint_id=f"{run_id}@1")
    assert calls == ["rent", "tax", "rent", "tax"]


async def test_an_executor_can_do_without_a_journal() -> None:
    calls: list[str] = []
    storage = InMemoryCheckpointStorage()

    async def fails_once(ctx: Any) -> None:
        if ctx.attempt < 2:
            raise ValueError(ctx.attempt)

    pays = Pays(calls, fails_once)
    pays.journal = False
    workflow = chain(pays, checkpoint_storage=storage, supervision=AT_ONCE)
    await workflow.run(1)
    assert calls == ["rent", "tax", "rent", "tax"]


async def test_a_step_whose_result_cannot_be_stored_fails_the_run() -> None:
    async def odd(ctx: Any) -> None:
        await ctx.step(object)

    storage = InMemoryCheckpointStorage()
    workflow = chain(Pays([], odd), checkpoint_storage=storage)
    with pytest.raises(Exception, match="register_type"):
        await workflow.run(1)
    assert workflow.status is State.FAILED


async def test_an_effect_waits_until_its_intent_is_safe(
    autojump_clock: trio.testing.MockClock,
) -> None:
    times: list[float] = []
    async with trio.open_nursery() as nursery:
        storage = ShakyStorage(nursery, seconds=1.0, fails=lambda n: n == 3)
        start = trio.current_time()

        class Notes(list[str]):
            def append(self, what: str) -> None:
                times.append(trio.current_time() - start)

        with pytest.raises(StorageError):
            await chain(Pays(Notes()), checkpoint_storage=storage).run(1)
    # The second intent could not be stored, so the second step wasn't done.
    assert times == [2.0]


# ------------------------------------------------------------------ agents


def paying_agent(calls: list[str], seen: list[int]) -> AgentExecutor:
    """An agent whose model calls a tool, and then says that it is done."""

    @tool
    def pay(what: str) -> str:
        calls.append(what)
        return f"paid {what}"

    def reply(messages: Any) -> Any:
        is_paid = messages[-1].role == "tool"
        seen.append(2 if is_paid else 1)
        if is_paid:
            return "done"
        return Content.from_function_call("c1", "pay", arguments={"what": "rent"})

    client = ScriptedChatClient(reply, repeat=True)
    return AgentExecutor(Agent(client, name="payer", tools=[pay]))


@pytest.mark.parametrize("stream", [False, True])
async def test_an_agents_turn_resumes_from_any_commit_without_paying_twice(stream: bool) -> None:
    storage = InMemoryCheckpointStorage()

    def make(calls: list[str], seen: list[int]) -> Any:
        return chain(paying_agent(calls, seen), checkpoint_storage=storage, name="flow")

    async def go(workflow: Workflow, **how: Any) -> list[str]:
        if not stream:
            return [each.text for each in (await workflow.run(**how)).get_outputs()]
        async with workflow.run(**how, stream=True) as events:
            final = await events.get_final_response()
        return ["".join(each.text for each in final.get_outputs())]

    calls: list[str] = []
    seen: list[int] = []
    assert await go(make(calls, seen), message="pay!") == ["done"]
    assert (calls, seen) == (["rent"], [1, 2])
    run_id = await only_run(storage)
    # The input, the model's answer, the tool's intent and result, the next answer, the round.
    last = (await storage.read_run(run_id)).position.sequence
    assert last == 6
    for position in range(1, last):
        calls, seen = [], []
        there = {"checkpoint_id": f"{run_id}@{position}"}
        if position == 3:
            with pytest.raises(UnknownOutcomeError, match="the tool 'pay'") as caught:
                await go(make(calls, seen), **there)
            there["responses"] = {caught.value.request_id: Repeat()}  # type: ignore[assignment]
            calls, seen = [], []
        assert await go(make(calls, seen), **there) == ["done"]
        assert calls == (["rent"] if position < 4 else [])
        assert seen == [1, 2][(position > 1) + (position > 4) :]


async def test_a_retry_asks_the_model_anew_and_pays_once() -> None:
    calls: list[str] = []
    seen: list[int] = []
    fails = [True]

    class Fails(AgentExecutor):
        async def _run_agent(self, *args: Any, **kwargs: Any) -> Any:
            response = await super()._run_agent(*args, **kwargs)
            if fails and fails.pop():
                raise ValueError("the answer was no good")
            return response

    agent = paying_agent(calls, seen).agent
    workflow = chain(Fails(agent), supervision=AT_ONCE)
    await workflow.run("pay!")
    assert calls == ["rent"]
    assert seen == [1, 2, 1, 2]


async def test_a_session_goes_on_after_a_restart() -> None:
    """Case C10 of the list of known failures: what an agent was in the middle of got lost."""
    storage = InMemoryCheckpointStorage()
    seen: list[list[str]] = []

    def answer(messages: Any) -> str:
        seen.append([each.text for each in messages])
        return f"answer {len(messages)}"

    def make() -> Any:
        a = AgentExecutor(Agent(ScriptedChatClient(answer, repeat=True), name="a"))
        b = AgentExecutor(Agent(ScriptedChatClient(answer, repeat=True), name="b"))
        builder = WorkflowBuilder(
            start_executor=a, checkpoint_storage=storage, name="flow", max_iterations=4
        )
        return builder.add_edge(a, b).add_edge(b, a).build()

    with pytest.raises(WorkflowConvergenceException):
        await make().run("hello")
    wanted = list(seen)
    for n, info in enumerate((await infos_of(storage, "flow"))[:4]):
        seen.clear()
        with pytest.raises(WorkflowConvergenceException):
            await make().run(checkpoint_id=info.checkpoint_id)
        assert seen[: 4 - n] == wanted[n:]


def test_a_cancel_anywhere_pays_nothing_twice_and_says_what_it_does_not_know() -> None:
    outcomes: Counter[str] = Counter()

    async def scenario() -> None:
        calls: list[str] = []
        storage = InMemoryCheckpointStorage()

        def make() -> Any:
            return chain(Node("a"), Pays(calls), checkpoint_storage=storage, name="flow")

        try:
            await make().run(1)
        except trio.Cancelled:
            with trio.CancelScope(shield=True):
                outcomes[await resumed(make, storage)] += 1
            raise
        finally:
            assert len(calls) == len(set(calls))

    async def resumed(make: Any, storage: Any) -> str:
        found = await infos_of(storage, "flow")
        if not found:
            return "never begun"
        try:
            result = await make().run(checkpoint_id=found[-1].checkpoint_id)
        except UnknownOutcomeError as exc:
            return f"unknown: {exc.name}"
        assert [str(each)[:4] for each in result.get_outputs()] == ["1", "['pa"]
        return "done"

    cancel_everywhere(scenario)
    assert set(outcomes) == {"never begun", "unknown: pay", "done"}
