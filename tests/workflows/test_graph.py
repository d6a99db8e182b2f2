"""Edges, routes and joins: who gets a message, and what the graph knows beforehand."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
import trio
from hypothesis import given, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from actors.workflows._graph._context_api import WorkflowContext
from actors.workflows._graph._definition import Graph
from actors.workflows._graph._edges import (
    INTERNAL_SOURCE_ID,
    Edge,
    EdgeGroup,
    FanInEdgeGroup,
    FanOutEdgeGroup,
    SingleEdgeGroup,
)
from actors.workflows._graph._executor import Executor
from actors.workflows._graph._handlers import handler
from actors.workflows._graph._joins import Join, JoinBuffer
from actors.workflows._graph._routing import accepting_joins, choose_targets, static_targets
from actors.workflows._graph._switch import (
    SwitchCaseEdgeGroup,
    SwitchCaseEdgeGroupCase as Case,
    SwitchCaseEdgeGroupDefault as Default,
)
from actors.workflows._running._carry import Carry
from protocols._errors import (
    EdgeConditionError,
    EdgeSelectionError,
    WorkflowException,
    WorkflowRunnerException,
)


class Ints(Executor):
    @handler
    async def number(self, message: int, ctx: WorkflowContext[int, str]) -> None: ...


class Texts(Executor):
    @handler
    async def text(self, message: str, ctx: WorkflowContext[str]) -> None: ...


class Lists(Executor):
    @handler
    async def numbers(self, message: list[int], ctx: WorkflowContext) -> None: ...


def graph(*groups: EdgeGroup, **kinds: type[Executor]) -> Graph:
    """Return a graph in which all executors take ints, or what *kinds* says."""
    names = dict.fromkeys(["s"])
    for group in groups:
        names |= dict.fromkeys([*group.source_executor_ids, *group.target_executor_ids])
    return Graph("s", {name: kinds.get(name, Ints)(name) for name in names}, groups)


class Asked:
    """A condition that writes down what it was asked."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.messages: list[Any] = []

    def __call__(self, message: Any) -> Any:
        self.messages.append(message)
        return self.answer


async def boom(message: Any) -> bool:
    await trio.lowlevel.checkpoint()
    raise KeyError(message)


# ------------------------------------------------------------------------------- edges


def test_an_edge_is_named_after_its_ends() -> None:
    edge = Edge("a", "b")

    assert edge.id == "a->b"
    assert edge.to_dict() == {"source_id": "a", "target_id": "b"}
    assert edge == Edge("a", "b")


def test_a_condition_is_described_by_its_name() -> None:
    def is_big(message: int) -> bool:
        return message > 5

    assert Edge("a", "b", is_big).to_dict()["condition_name"] == "is_big"
    assert Edge("a", "b", lambda _: True).condition_name == "<lambda>"
    assert Edge("a", "b", Asked(True)).condition_name == "Asked"
    assert Edge("a", "b").condition_name is None


@pytest.mark.parametrize("ends", [("", "b"), ("a", "")])
def test_an_edge_needs_both_ends(ends: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        Edge(*ends)


async def test_an_edge_asks_its_condition_sync_or_async() -> None:
    async def even(message: int) -> bool:
        await trio.lowlevel.checkpoint()
        return message % 2 == 0

    assert await Edge("a", "b").should_route(1)
    assert await Edge("a", "b", lambda message: message).should_route(1)
    assert not await Edge("a", "b", lambda message: message).should_route(0)
    assert await Edge("a", "b", even).should_route(2)
    assert not await Edge("a", "b", even).should_route(1)


def test_groups_have_the_same_ids_in_every_process() -> None:
    cases: list[Case | Default] = [Case(bool, "b"), Default("c")]

    assert SingleEdgeGroup("a", "b").id == "SingleEdgeGroup/a->b"
    assert FanOutEdgeGroup("a", ["b", "c"]).id == "FanOutEdgeGroup/a->b,c"
    assert FanInEdgeGroup(["a", "b"], "c").id == "FanInEdgeGroup/a,b->c"
    assert SwitchCaseEdgeGroup("a", cases).id == "SwitchCaseEdgeGroup/a->b,c"
    assert SingleEdgeGroup("a", "b", id="mine").id == "mine"


def test_a_group_describes_itself() -> None:
    def pick(message: int, targets: list[str]) -> list[str]:
        return targets

    group = FanOutEdgeGroup("a", ["b", "c"], pick)

    assert group.source_executor_ids == ["a"]
    assert group.target_executor_ids == ["b", "c"]
    assert group.to_dict() == {
        "id": group.id,
        "type": "FanOutEdgeGroup",
        "edges": [{"source_id": "a", "target_id": "b"}, {"source_id": "a", "target_id": "c"}],
        "selection_func_name": "pick",
    }


def test_a_switch_describes_its_cases_and_shares_targets() -> None:
    group = SwitchCaseEdgeGroup("a", [Case(bool, "b"), Case(callable, "c"), Default("b")])

    assert group.to_dict()["cases"] == [
        {"type": "Case", "target_id": "b", "condition_name": "bool"},
        {"type": "Case", "target_id": "c", "condition_name": "callable"},
        {"type": "Default", "target_id": "b"},
    ]
    assert [edge.id for edge in group.edges] == ["a->b", "a->c"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: FanOutEdgeGroup("a", ["b"]),
        lambda: FanInEdgeGroup(["a"], "b"),
        lambda: SwitchCaseEdgeGroup("a", [Default("b")]),
    ],
    ids=["fan-out", "fan-in", "switch"],
)
def test_a_group_of_one_is_refused(make: Callable[[], EdgeGroup]) -> None:
    with pytest.raises(ValueError, match="at least two"):
        make()


@pytest.mark.parametrize(
    "cases",
    [[Case(bool, "b"), Case(bool, "c")], [Default("b"), Default("c")]],
    ids=["none", "two"],
)
def test_a_switch_needs_exactly_one_default(cases: list[Case | Default]) -> None:
    with pytest.raises(ValueError, match=r"'a'.*exactly one"):
        SwitchCaseEdgeGroup("a", cases)


def test_a_default_before_other_cases_is_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    SwitchCaseEdgeGroup("a", [Default("b"), Case(bool, "c")])

    assert "not its last case" in caplog.text


def test_the_input_of_a_run_has_a_source_of_its_own() -> None:
    assert INTERNAL_SOURCE_ID("a") == "internal:a"


# ------------------------------------------------------------------------ static routes


def test_plain_edges_are_answered_in_order_of_declaration() -> None:
    made = graph(SingleEdgeGroup("s", "c"), FanOutEdgeGroup("s", ["b", "a"]))

    assert made.routes["s"].is_static
    assert static_targets(made, "s", 1) == ("c", "b", "a")
    assert static_targets(made, "a", 1) == (), "nobody is behind it"


def test_a_target_that_cant_take_the_message_is_left_out() -> None:
    made = graph(FanOutEdgeGroup("s", ["a", "b"]), b=Texts)

    assert static_targets(made, "s", 1) == ("a",)
    assert static_targets(made, "s", "x") == ("b",)
    assert static_targets(made, "s", 1.5) == ()
    assert static_targets(graph(SingleEdgeGroup("s", "a")), "s", "x") == ()


def test_a_message_for_one_target_goes_there_or_nowhere() -> None:
    made = graph(SingleEdgeGroup("s", "a"), FanOutEdgeGroup("s", ["b", "c"]), c=Texts)

    assert static_targets(made, "s", 1, "b") == ("b",)
    assert static_targets(made, "s", 1, "c") == (), "it can't take it"
    assert static_targets(made, "s", 1, "z") == (), "no edge leads there"


async def test_the_general_way_gives_the_same_answers() -> None:
    made = graph(SingleEdgeGroup("s", "a"), FanOutEdgeGroup("s", ["b", "c"]), c=Texts)

    for message in (1, "x", 1.5):
        for target in (None, "a", "b", "c", "z"):
            answer = await choose_targets(made, "s", message, target)
            assert answer == static_targets(made, "s", message, target)
    assert await choose_targets(made, "c", "x") == ()


# ---------------------------------------------------------------------------- conditions


async def test_a_condition_is_asked_once_and_its_truth_counts() -> None:
    yes, no = Asked([1]), Asked("")
    made = graph(
        SingleEdgeGroup("s", "a", yes), SingleEdgeGroup("s", "b"), SingleEdgeGroup("s", "c", no)
    )

    assert not made.routes["s"].is_static
    assert made.routes["s"].static == ("b",)
    assert await choose_targets(made, "s", 1) == ("a", "b"), "in order of declaration"
    assert (yes.messages, no.messages) == ([1], [1])


async def test_an_async_condition_is_awaited() -> None:
    async def is_big(message: int) -> bool:
        await trio.lowlevel.checkpoint()
        return message > 5

    made = graph(SingleEdgeGroup("s", "a", is_big))

    assert await choose_targets(made, "s", 9) == ("a",)
    assert await choose_targets(made, "s", 1) == ()


async def test_a_condition_isnt_asked_about_what_cant_go_its_way() -> None:
    """First the wanted target, then the type, then the condition."""
    asked = Asked(True)
    made = graph(SingleEdgeGroup("s", "a", asked), SingleEdgeGroup("s", "b"))

    assert await choose_targets(made, "s", 1, "b") == ("b",)
    assert await choose_targets(made, "s", "text") == ()
    assert asked.messages == []


async def test_each_edge_of_a_group_of_somebodys_own_has_its_say() -> None:
    group = EdgeGroup(
        edges=[Edge("s", "a", Asked(True)), Edge("s", "b", Asked(False)), Edge("s", "c")]
    )

    assert await choose_targets(graph(group), "s", 1) == ("a", "c")


@pytest.mark.parametrize(
    ("group", "edge_id"),
    [
        (SingleEdgeGroup("s", "a", lambda message: message.nope), "s->a"),
        (SingleEdgeGroup("s", "a", boom), "s->a"),
        (
            SwitchCaseEdgeGroup("s", [Case(lambda message: message.nope, "a"), Default("b")]),
            "s->a",
        ),
        (
            FanOutEdgeGroup("s", ["a", "b"], lambda message, _: message.nope),
            "FanOutEdgeGroup/s->a,b",
        ),
    ],
    ids=["condition", "async condition", "switch", "selector"],
)
async def test_a_broken_predicate_is_an_error_that_names_the_edge(
    group: EdgeGroup, edge_id: str
) -> None:
    """It must neither count as false nor fall through to the default."""
    with pytest.raises(EdgeConditionError, match=edge_id) as caught:
        await choose_targets(graph(group), "s", 1)

    assert caught.value.edge_id == edge_id
    assert isinstance(caught.value, WorkflowRunnerException)
    assert isinstance(caught.value.__cause__, AttributeError | KeyError)


# ------------------------------------------------------------------------------ switches


async def test_a_switch_takes_the_first_case_that_wants_the_message() -> None:
    first, second, third = Asked(False), Asked(True), Asked(True)
    made = graph(
        SwitchCaseEdgeGroup(
            "s", [Case(first, "a"), Case(second, "b"), Case(third, "c"), Default("d")]
        )
    )

    assert await choose_targets(made, "s", 1) == ("b",)
    assert (first.messages, second.messages, third.messages) == ([1], [1], [])


async def test_a_switch_falls_back_to_its_default() -> None:
    async def never(message: object) -> bool:
        await trio.lowlevel.checkpoint()
        return False

    made = graph(SwitchCaseEdgeGroup("s", [Case(never, "a"), Default("b")]))

    assert await choose_targets(made, "s", 1) == ("b",)


async def test_a_switch_doesnt_look_for_another_case_if_the_chosen_cant_take_it() -> None:
    made = graph(SwitchCaseEdgeGroup("s", [Case(bool, "a"), Default("b")]), a=Texts)

    assert await choose_targets(made, "s", 1) == ()


async def test_a_message_addressed_elsewhere_asks_no_switch() -> None:
    asked = Asked(True)
    switch = SwitchCaseEdgeGroup("s", [Case(asked, "a"), Default("b")])
    made = graph(switch, SingleEdgeGroup("s", "z"))

    assert await choose_targets(made, "s", 1, "z") == ("z",)
    assert asked.messages == []
    assert await choose_targets(made, "s", 1, "a") == ("a",)
    assert await choose_targets(made, "s", 1, "b") == (), "the switch chose another"


# ----------------------------------------------------------------------------- selectors


async def test_a_selector_picks_among_all_targets() -> None:
    seen: list[Any] = []

    def pick(message: int, targets: list[str]) -> list[str]:
        seen.append((message, targets))
        return ["c", "a", "c"]

    made = graph(FanOutEdgeGroup("s", ["a", "b", "c"], pick))

    assert await choose_targets(made, "s", 1) == ("a", "c"), "each once, in declaration order"
    assert await choose_targets(made, "s", 1, "b") == (), "not selected"
    assert await choose_targets(made, "s", 1, "c") == ("c",)
    assert seen == [(1, ["a", "b", "c"])] * 3
    assert await choose_targets(made, "s", "text") == ()
    assert len(seen) == 3, "nobody could take it, so nobody was asked"


async def test_a_selector_may_be_async_and_select_nobody() -> None:
    async def pick(message: int, targets: list[str]) -> list[str]:
        await trio.lowlevel.checkpoint()
        return []

    assert await choose_targets(graph(FanOutEdgeGroup("s", ["a", "b"], pick)), "s", 1) == ()


async def test_a_selector_that_picks_a_stranger_is_an_error() -> None:
    made = graph(FanOutEdgeGroup("s", ["a", "b"], lambda *_: ["a", "z"]))

    with pytest.raises(EdgeSelectionError, match="'z'") as caught:
        await choose_targets(made, "s", 1)
    assert isinstance(caught.value, RuntimeError), "what MAF raises"


@pytest.mark.parametrize(
    "nonsense", [None, "a", b"a", 5, [1], [["a"]], ["a", None], [{}]], ids=repr
)
async def test_a_selector_that_returns_nonsense_is_an_error_that_says_what(nonsense: Any) -> None:
    made = graph(FanOutEdgeGroup("s", ["a", "b"], lambda *_: nonsense))

    with pytest.raises(EdgeSelectionError, match=r"the selection_func of .*'a', 'b'") as caught:
        await choose_targets(made, "s", 1)
    assert caught.value.edge_id == "FanOutEdgeGroup/s->a,b"


async def test_a_condition_whose_answer_has_no_truth_is_an_error_that_names_the_edge() -> None:
    class Neither:
        def __bool__(self) -> bool:
            raise ValueError("ambiguous")

    made = graph(SingleEdgeGroup("s", "a", lambda _: cast("bool", Neither())))
    with pytest.raises(EdgeConditionError, match=r"'s->a' gave a Neither.*ambiguous"):
        await choose_targets(made, "s", 1)


# --------------------------------------------------------------------------------- joins


def test_the_graph_knows_its_joins() -> None:
    made = graph(FanOutEdgeGroup("s", ["a", "b"]), FanInEdgeGroup(["b", "a"], "j"), j=Lists)

    assert made.joins == (Join(("b", "a"), "j"),)
    assert made.routes["a"].joins == (0,)
    assert made.routes["a"].static == ()
    assert static_targets(made, "a", 1) == ()


def test_a_join_takes_only_what_its_target_takes_a_list_of() -> None:
    made = graph(
        FanInEdgeGroup(["a", "b"], "j"), FanInEdgeGroup(["a", "b"], "k"), j=Lists, k=Texts
    )

    assert accepting_joins(made, "a", 1) == (0,)
    assert accepting_joins(made, "a", "x") == ()
    assert accepting_joins(made, "a", 1, "j") == (0,)
    assert accepting_joins(made, "a", 1, "k") == ()
    assert accepting_joins(made, "j", 1) == ()
    assert accepting_joins(graph(SingleEdgeGroup("s", "a")), "s", 1) == ()


def test_a_join_fires_with_one_item_of_each_source_in_declared_order() -> None:
    buffer = JoinBuffer(Join(("a", "b"), "j"))

    assert not buffer.offer("b", "b0")
    assert not buffer.offer("b", "b1")
    assert buffer.missing == ("a",)
    assert buffer.offer("a", "a0")
    assert buffer.waiting == {"a": ("a0",), "b": ("b0", "b1")}
    assert buffer.release()[1] == ["a0", "b0"]
    assert buffer.waiting == {"b": ("b1",)}, "surplus waits for the next firing"
    assert not buffer.is_empty


def test_a_join_refuses_a_source_that_isnt_its_own() -> None:
    with pytest.raises(ValueError, match="'z' is no source"):
        JoinBuffer(Join(("a", "b"), "j")).offer("z", 1)


SOURCES = ("a", "b", "c")


class JoinAgainstLists(RuleBasedStateMachine):
    """A join buffer does what one list for each source would do."""

    def __init__(self) -> None:
        super().__init__()
        self.buffer = JoinBuffer(Join(SOURCES, "j"))
        self.lists: dict[str, list[int]] = {source: [] for source in SOURCES}
        self.n = 0

    @rule(source=st.sampled_from(SOURCES))
    def offer(self, source: str) -> None:
        self.n += 1
        self.lists[source].append(self.n)
        assert self.buffer.offer(source, self.n) == all(self.lists.values())

    @precondition(lambda self: all(self.lists.values()))
    @rule()
    def release(self) -> None:
        assert self.buffer.release()[1] == [self.lists[source].pop(0) for source in SOURCES]

    @rule()
    def save_and_restore(self) -> None:
        self.buffer = JoinBuffer(self.buffer.join, self.buffer.waiting)

    @invariant()
    def looks_the_same(self) -> None:
        waiting = {source: tuple(items) for source, items in self.lists.items() if items}
        assert self.buffer.waiting == waiting
        assert self.buffer.missing == tuple(each for each in SOURCES if each not in waiting)
        assert self.buffer.is_complete == (len(waiting) == len(SOURCES))
        assert self.buffer.is_empty == (not waiting)


TestJoinAgainstLists = JoinAgainstLists.TestCase


@given(st.permutations(SOURCES))
def test_the_order_of_arrival_doesnt_show_in_what_a_join_gives(order: Sequence[str]) -> None:
    buffer = JoinBuffer(Join(SOURCES, "j"))
    for source in order:
        buffer.offer(source, source)

    assert buffer.release()[1] == list(SOURCES)


# --------------------------------------------------------------- designation, factories


def test_without_a_designation_all_outputs_count() -> None:
    assert graph(SingleEdgeGroup("s", "a")).designations == {"s": "output", "a": "output"}


def test_with_a_designation_the_rest_is_hidden() -> None:
    executors: dict[str, Executor] = {name: Ints(name) for name in "abc"}
    made = Graph("a", executors, output_ids=("a",), intermediate_ids=("b",))

    assert [made.designation(name) for name in "abc"] == ["output", "intermediate", None]


def test_a_factory_gives_each_run_an_executor_of_its_own() -> None:
    shared = Ints("a")
    made = Graph("a", {"a": shared, "b": Ints("b")}, factories={"b": lambda: Ints("b")})

    one, other = Carry(), Carry()

    assert one.executor(made, "a") is other.executor(made, "a") is shared
    assert one.executor(made, "b") is one.executor(made, "b")
    assert one.executor(made, "b") is not other.executor(made, "b")
    assert made.shared_executor_ids == ("a",)


def test_a_factory_that_changes_its_mind_is_an_error() -> None:
    made = Graph("a", {"a": Ints("a")}, factories={"a": lambda: Ints("other")})

    with pytest.raises(WorkflowException, match=r"'a'.*'other'"):
        made.make_executor("a")


def test_the_pure_half_needs_no_trio() -> None:
    import actors.workflows._graph._definition as module
    import actors.workflows._graph._routing as routing

    assert all("import trio" not in inspect.getsource(each) for each in (module, routing))


def test_a_wide_join_asks_each_source_once_and_not_all_of_them() -> None:
    """A search among n sources per item would make a fan-in of n cost n squared."""
    compared = 0

    class Name(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    names = [Name(f"source {n}") for n in range(2000)]
    buffer = JoinBuffer(Join(tuple(names), "target"))
    for name in names:
        # Equal, and not the same object: identity would answer too quickly to count.
        buffer.offer(Name(f"{name}"), 1)

    assert buffer.release()[1] == [1] * 2000
    assert compared < 20 * 2000
