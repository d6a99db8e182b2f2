"""What does a chain of agents cost besides the agents, and does it stay linear?"""

from __future__ import annotations

from typing import Any

import trio

from actors import AgentExecutor, BaseAgent, ResponseStream, Workflow, WorkflowBuilder
from bench._meter import Meter
from bench._registry import Beside, Row, ours, theirs
from protocols import AgentResponse, AgentResponseUpdate, Message


class Instant(BaseAgent):
    """Answers at once, in one message or in *updates* updates; remembers nothing.

    Args:
        name: its id in the workflow.
        updates: how many a streamed answer has.
        waits: whether a streamed answer gives way before each of them.
    """

    def __init__(self, name: str, updates: int = 1, *, waits: bool = False) -> None:
        super().__init__(name=name)
        self.updates = updates
        self.waits = waits

    def run(self, messages: Any = None, *, stream: bool = False, **kwargs: Any) -> Any:  # noqa: ARG002
        """Answer "ok"."""
        return self._stream() if stream else self._answer()

    async def _answer(self) -> AgentResponse[Any]:
        return AgentResponse(messages=[Message("assistant", ["ok"])])

    def _stream(self) -> ResponseStream[AgentResponseUpdate, AgentResponse[Any]]:
        return ResponseStream(self._updates(), finalizer=AgentResponse.from_updates)

    async def _updates(self) -> Any:
        for _ in range(self.updates):
            if self.waits:
                await trio.lowlevel.checkpoint()
            yield AgentResponseUpdate(contents=["t"], role="assistant")


def workflow_of(*agents: Instant) -> Workflow:
    """Make a workflow in which each agent hears the ones before it."""
    links = [AgentExecutor(agent) for agent in agents]
    builder = WorkflowBuilder(start_executor=links[0], max_iterations=len(links) + 5)
    if len(links) > 1:
        builder.add_chain(links)
    return builder.build()


async def chain(meter: Meter, length: int) -> None:
    """Each agent gets the whole conversation, and adds a message to it."""
    workflow = workflow_of(*(Instant(f"a{i}") for i in range(length)))
    for _ in meter.laps(max(5, 200 // length), units=1):
        result = await workflow.run("hi")
        assert len(result.get_outputs()) == length


OURS = {length: ours(f"chain of {length} agents", chain, length) for length in (10, 50, 200)}


def _row(length: int, *others: Beside, at_least: float | None = None) -> Row:
    theirs_beside = theirs("maf", "MAF", "agents", length, at_least=at_least)
    return Row(f"agents.{length}", "run", OURS[length], (theirs_beside, *others), unit="ms")


ROWS = (
    _row(10),
    _row(50),
    _row(200, Beside(OURS[10], at_most=25), at_least=200),
)
