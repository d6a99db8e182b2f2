"""A function that runs in the turn of an executor keeps what its steps came to with that turn."""

from __future__ import annotations

from typing import Any

import pytest

from actors import (
    AgentExecutor,
    Executor,
    Happened,
    Supervision,
    UnknownOutcomeError,
    Workflow,
    WorkflowContext,
    WorkflowRunContext,
    handler,
    step,
    workflow,
)
from actors.checkpoint import InMemoryCheckpointStorage
from protocols import Message
from tests.durable.kit import latest, only_run
from tests.workflows.kit import chain


class Works(Executor):
    """Has a function do its work, and fails as often as it was told to."""

    state = ()

    def __init__(self, calls: list[str], failures: int = 1) -> None:
        super().__init__("works")
        self.calls, self.failures = calls, failures

        @step
        async def look(what: str) -> str:
            calls.append(f"look {what}")
            return what.upper()

        @step(idempotent=False)
        async def pay(what: str, ctx: WorkflowRunContext) -> list[str]:
            calls.append(f"pay {what}")
            ctx.set_state("paid", what)
            return [what]

        @workflow
        async def child(what: str) -> str:
            return await look(what)

        @workflow
        async def work(what: str, ctx: WorkflowRunContext) -> list[str]:
            found = await look(what)
            paid = await pay(found)
            paid.append(await child(ctx.get_state("paid", "nothing")))
            return paid

        self.work = work

    @handler
    async def go(self, message: str, ctx: WorkflowContext[str, list[str]]) -> None:
        result = await self.work(message)
        if self.failures:
            self.failures -= 1
            raise ValueError("after all was done")
        await ctx.yield_output(result)


DONE = ["look a", "pay A", "look A"]


async def test_a_resume_repeats_no_step_of_a_function() -> None:
    calls: list[str] = []
    storage = InMemoryCheckpointStorage()
    with pytest.raises(ValueError, match="after all"):
        await chain(Works(calls), checkpoint_storage=storage, name="flow").run("a")
    assert calls == DONE
    flow = chain(Works(calls, failures=0), checkpoint_storage=storage, name="flow")
    result = await flow.run(checkpoint_id=await latest(storage))
    assert result.get_outputs() == [["A", "A"]]
    assert calls == DONE


async def test_a_retry_repeats_no_step_of_a_function_and_gets_what_it_returned() -> None:
    calls: list[str] = []
    flow = chain(Works(calls, failures=2), supervision=Supervision(max_restarts=3))
    # What the first attempt appended to a result is no part of it.
    assert (await flow.run("a")).get_outputs() == [["A", "A"]]
    assert calls == DONE


@pytest.mark.parametrize("position", range(1, 6))
async def test_a_function_that_was_broken_off_anywhere_goes_on_where_it_was(position: int) -> None:
    """The log up to each position is what a crash there would leave."""
    calls: list[str] = []
    storage = InMemoryCheckpointStorage()

    def make() -> Workflow:
        made: Workflow = chain(Works(calls, 0), checkpoint_storage=storage, name="flow")
        return made

    await make().run("a")
    there = f"{await only_run(storage)}@{position}"
    calls.clear()
    # 1: the input; 2: a result; 3: an intent; 4, 5: results.
    how: dict[str, Any] = {"checkpoint_id": there}
    if position == 3:
        with pytest.raises(UnknownOutcomeError, match="'pay'") as caught:
            await make().run(**how)
        assert calls == []
        how["responses"] = {caught.value.request_id: Happened(["by hand"])}
        # Who answers knows what it returned, not what it would have set.
        assert (await make().run(**how)).get_outputs() == [["by hand", "NOTHING"]]
        assert calls == ["look nothing"]
        return
    assert (await make().run(**how)).get_outputs() == [["A", "A"]]
    assert calls == DONE[(0, 1, 0, 2, 3)[position - 1] :]


async def test_an_agent_made_of_a_function_repeats_no_step_either() -> None:
    calls: list[str] = []

    @step
    async def think(said: str) -> str:
        calls.append(said)
        return f"thought of {said}"

    @workflow
    async def thinker(messages: list[Message]) -> str:
        return await think(messages[-1].text)

    class Fails(Executor):
        state = ()

        def __init__(self, fails: bool) -> None:
            super().__init__("fails")
            self.fails = fails

        @handler
        async def go(self, message: Any, ctx: WorkflowContext[Any, str]) -> None:
            if self.fails:
                raise ValueError("no")
            await ctx.yield_output(message.agent_response.text)

    storage = InMemoryCheckpointStorage()

    def make(fails: bool) -> Workflow:
        agent = AgentExecutor(thinker.as_agent(name="thinker"), id="thinker")
        made: Workflow = chain(agent, Fails(fails), checkpoint_storage=storage, name="flow")
        return made

    with pytest.raises(ValueError, match="no"):
        await make(fails=True).run("life")
    run_id = await only_run(storage)
    # Position 2 is within the agent's turn: the step is done, and the turn isn't.
    result = await make(fails=False).run(checkpoint_id=f"{run_id}@2")
    assert result.get_outputs()[-1] == "thought of life"
    assert calls == ["life"]
