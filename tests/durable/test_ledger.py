"""What a commit changes is all that has to be stored, and nothing is missing from it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import attrs
import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from actors import WorkflowBuilder, quorum
from actors.checkpoint import InMemoryCheckpointStorage
from actors.testing import seeds
from actors.workflows._durable._changes import Changes
from actors.workflows._durable._gate import DurableGate
from actors.workflows._durable._ledger import GraphLedger
from actors.workflows._durable._where import place_of
from protocols import WorkflowConvergenceException
from tests.durable.kit import Asks, Lists, Wild


class CheckingGate(DurableGate):
    """Holds what was stored against what there is, at every commit."""

    commits = 0
    entries: dict[str, Any] | None = None

    def _write(self, kind: Any, facts: Any, release: Any = None) -> None:
        run, log = self._writer.run, self._writer.log
        if self.entries is None:
            self.entries = {} if log.stored is None else log.stored.values()
        self._changes.apply_to(self.entries)
        wanted: dict[str, Any] = {}
        for conductor in run.conductors:
            fresh = GraphLedger(conductor.graph, place_of(conductor), Changes())
            wanted.update(fresh.all_of(conductor))
            wanted.update(fresh.waiting_children(conductor))
        assert _compared(self.entries) == _compared(wanted)
        type(self).commits += 1
        super()._write(kind, facts, release)


def _compared(entries: dict[str, Any]) -> dict[str, Any]:
    """What both ways have; outputs and children in progress are known to one of them only."""
    beside = ("outputs", "ended", "held", "child")
    return {k: v for k, v in entries.items() if not k.endswith(beside)}


@attrs.frozen
class Shape:
    """A graph: edges forward, joins, and a map, all by numbers of executors."""

    edges: list[tuple[int, int]]
    joins: list[tuple[list[int], Any]]
    asks: bool
    maps: bool
    schedule: Any

    def build(self, storage: Any) -> Any:
        nodes: list[Any] = [Wild(f"n{n}") for n in range(5 + len(self.joins))]
        if self.asks:
            nodes[3] = Asks("n3")
        builder = WorkflowBuilder(
            start_executor=nodes[0],
            checkpoint_storage=storage,
            name="flow",
            max_iterations=12,
            schedule=self.schedule,
        )
        if self.maps:
            lister, last = Lists("lister"), Wild("last")
            builder.add_edge(nodes[0], lister).add_map_edges(lister, Wild("each"), last)
        for one, other in self.edges:
            builder.add_edge(nodes[one], nodes[other])
        for target, (sources, policy) in enumerate(self.joins, 5):
            builder.add_fan_in_edges([nodes[n] for n in sources], nodes[target], join=policy)
        return builder.build()


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    # A tree, so that everybody is reached; and some more, back and forth.
    edges = {(draw(st.integers(0, n - 1)), n) for n in range(1, 5)}
    more = st.sampled_from([(a, b) for a in range(5) for b in range(1, 5) if a != b])
    edges |= set(draw(st.lists(more, max_size=3)))
    policies = st.sampled_from(["all", "any", "all_reachable", quorum(2)])
    sources = st.lists(st.integers(0, 4), min_size=2, max_size=3, unique=True)
    joins = draw(st.lists(st.tuples(sources, policies), max_size=2))
    schedule = draw(st.sampled_from(["superstep", "flow"]))
    return Shape(sorted(edges), joins, draw(st.booleans()), draw(st.booleans()), schedule)


@pytest.mark.filterwarnings("ignore::actors.WorkflowGraphWarning")
@settings(max_examples=25)
@given(shapes(), st.integers(2, 5))
def test_what_commits_changed_adds_up_to_all_there_is(shape: Shape, first: int) -> None:
    @seeds(2)
    async def run() -> None:
        before = CheckingGate.commits
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("actors.workflows._durable._gate.DurableGate", CheckingGate)
            await run_to_the_end(shape, first)
        assert CheckingGate.commits > before

    run()


async def run_to_the_end(shape: Shape, first: int) -> None:
    workflow = shape.build(InMemoryCheckpointStorage())
    with suppress(WorkflowConvergenceException):
        result = await workflow.run(first)
        for _ in range(3):
            requests = result.get_request_info_events()
            if not requests:
                break
            result = await workflow.run(responses={each.request_id: 2 for each in requests})
