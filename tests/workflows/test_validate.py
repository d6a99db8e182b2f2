"""What is wrong with a graph, what is only suspicious, and that all of it is said at once."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import pytest

from actors.workflows._graph._builder import WorkflowBuilder
from actors.workflows._graph._context_api import WorkflowContext
from actors.workflows._graph._double_delivery import doubly_reached
from actors.workflows._graph._edges import (
    EdgeGroup,
    FanInEdgeGroup,
    FanOutEdgeGroup,
    SingleEdgeGroup,
)
from actors.workflows._graph._executor import Executor
from actors.workflows._graph._handlers import handler
from actors.workflows._graph._switch import (
    Case,
    Default,
    SwitchCaseEdgeGroup,
    SwitchCaseEdgeGroupCase,
    SwitchCaseEdgeGroupDefault,
)
from actors.workflows._graph._validate import validate_workflow_graph
from actors.workflows._graph._validation_errors import (
    EdgeDuplicationError,
    GraphConnectivityError,
    TypeCompatibilityError,
    ValidationTypeEnum,
    WorkflowGraphWarning,
    WorkflowValidationError,
)
from protocols._errors import WorkflowException


class Step(Executor):
    @handler
    async def number(self, message: int, ctx: WorkflowContext[int]) -> None: ...


class Texts(Executor):
    @handler
    async def text(self, message: str, ctx: WorkflowContext[str]) -> None: ...


class Either(Executor):
    @handler
    async def either(self, message: int | str, ctx: WorkflowContext[int | str]) -> None: ...


class AnythingGoes(Executor):
    @handler
    async def anything(self, message: object, ctx: WorkflowContext[Any]) -> None: ...


class Mute(Executor):
    @handler
    async def anything(self, message: object, ctx: WorkflowContext) -> None: ...


class Lists(Executor):
    @handler
    async def numbers(self, message: list[int], ctx: WorkflowContext) -> None: ...


def check(*groups: EdgeGroup, start: str = "a", **kinds: type[Executor]) -> None:
    """Validate a graph in which every executor is a Step, or what *kinds* says."""
    names = [*(each for group in groups for each in group.source_executor_ids)]
    names += [each for group in groups for each in group.target_executor_ids]
    executors = {name: kinds.get(name, Step)(name) for name in names}
    validate_workflow_graph(groups, executors, start)


def single(edge_id: str, condition: Any = None) -> SingleEdgeGroup:
    source_id, target_id = edge_id.split("->")
    return SingleEdgeGroup(source_id, target_id, condition)


# ------------------------------------------------------------------------- connectivity


def test_a_good_graph_has_no_problems() -> None:
    check(single("a->b"), single("b->c"))


def test_a_start_outside_of_the_graph_is_a_problem() -> None:
    with pytest.raises(GraphConnectivityError, match="'z' isn't in the graph") as caught:
        check(single("a->b"), start="z")

    assert caught.value.validation_type is ValidationTypeEnum.GRAPH_CONNECTIVITY
    assert isinstance(caught.value, WorkflowException)
    assert str(caught.value).startswith("[GRAPH_CONNECTIVITY] the start executor")


def test_executors_that_no_message_can_reach_are_a_problem() -> None:
    with pytest.raises(GraphConnectivityError, match="ever reach 'c', 'd'"):
        check(single("a->b"), single("c->d"))


def test_an_edge_to_nobody_is_a_problem() -> None:
    with pytest.raises(GraphConnectivityError, match=r"'a->b' names 'b'"):
        validate_workflow_graph([single("a->b")], {"a": Step("a")}, Step("a"))


def test_an_output_of_nobody_is_a_problem() -> None:
    with pytest.raises(WorkflowValidationError, match="wanted from 'z'") as caught:
        validate_workflow_graph([], {"a": Step("a")}, "a", ["a", "z"])

    assert caught.value.validation_type is ValidationTypeEnum.OUTPUT_VALIDATION


# --------------------------------------------------------------------------- duplicates


@pytest.mark.parametrize(
    "again",
    [single("a->b", bool), FanOutEdgeGroup("a", ["b", "c"]), FanInEdgeGroup(["a", "c"], "b")],
    ids=lambda group: type(group).__name__,
)
def test_the_same_edge_twice_is_a_problem_across_groups(again: EdgeGroup) -> None:
    with pytest.raises(EdgeDuplicationError) as caught:
        check(single("a->b"), again, b=AnythingGoes)

    assert caught.value.edge_id == "a->b"
    assert caught.value.validation_type is ValidationTypeEnum.EDGE_DUPLICATION


def test_cases_that_share_a_target_are_one_edge() -> None:
    check(
        SwitchCaseEdgeGroup(
            "a", [SwitchCaseEdgeGroupCase(bool, "b"), SwitchCaseEdgeGroupDefault("b")]
        )
    )


# -------------------------------------------------------------------------------- types


def test_an_edge_that_nothing_can_pass_is_a_problem() -> None:
    with pytest.raises(
        TypeCompatibilityError, match="'a' sends int, and 'b' takes only str"
    ) as it:
        check(single("a->b"), b=Texts)

    error = it.value
    assert (error.source_executor_id, error.target_executor_id) == ("a", "b")
    assert (error.source_types, error.target_types) == ([int], [str])
    assert error.validation_type is ValidationTypeEnum.TYPE_COMPATIBILITY


def test_one_type_that_can_pass_is_enough() -> None:
    check(single("a->b"), a=Either, b=Texts)


def test_any_goes_anywhere_and_anything_goes_to_object() -> None:
    check(single("a->b"), single("b->c"), b=AnythingGoes)


def test_the_target_of_a_join_takes_lists() -> None:
    fan_out = FanOutEdgeGroup("a", ["b", "c"])
    fan_in = FanInEdgeGroup(["b", "c"], "j")

    check(fan_out, fan_in, j=Lists)
    with pytest.raises(TypeCompatibilityError, match=r"'b' sends list\[int\]") as caught:
        check(fan_out, fan_in)
    assert len(caught.value.problems) == 2, "one for each source"


def test_an_edge_without_types_is_skipped_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    check(single("a->b"), a=Mute)
    assert "what 'a' sends declares no types" in caplog.text


def test_a_target_without_types_is_skipped_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bare = Executor("b", defer_discovery=True)
    validate_workflow_graph([single("a->b")], {"a": Step("a"), "b": bare}, "a")

    assert "what 'b' takes declares no types" in caplog.text


# ------------------------------------------------------------------------- all at once


def test_all_problems_are_reported_at_once_in_a_fixed_order() -> None:
    with pytest.raises(EdgeDuplicationError) as caught:
        check(single("a->b"), single("a->b", bool), single("c->d"), b=Texts)

    kinds = [type(each) for each in caught.value.problems]
    assert kinds == [
        EdgeDuplicationError,
        TypeCompatibilityError,
        TypeCompatibilityError,
        GraphConnectivityError,
    ]
    lines = str(caught.value).splitlines()
    assert [line.split("]")[0] for line in lines] == [
        "[EDGE_DUPLICATION",
        "[TYPE_COMPATIBILITY",
        "[TYPE_COMPATIBILITY",
        "[GRAPH_CONNECTIVITY",
    ]
    assert "twice" in caught.value.message


# --------------------------------------------------------------------------- suspicions


def test_a_self_loop_is_warned_about_and_a_dead_end_is_noted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    check(single("a->a"), single("a->b"))

    notes = {(record.levelname, record.args) for record in caplog.records}
    assert ("WARNING", ("a",)) in notes
    assert ("INFO", ("b",)) in notes


def test_a_node_at_the_end_of_two_ways_is_warned_about_and_joins_are_mentioned() -> None:
    s, a, d = Step("s"), Step("a"), Step("d")
    builder = WorkflowBuilder(start_executor=s).add_edge(s, a).add_edge(a, d).add_edge(s, d)

    with pytest.warns(
        WorkflowGraphWarning, match=r"'d' runs once per.*'s'.*add_fan_in_edges"
    ) as it:
        builder.build()
    assert it[0].filename == __file__, "the warning points at who built it"


def test_a_join_needs_no_warning() -> None:
    s, a, j = Step("s"), Step("a"), Lists("j")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        WorkflowBuilder(start_executor=s).add_edge(s, a).add_fan_in_edges([a, s], j).build()


def test_a_switch_needs_no_warning_where_its_branches_meet() -> None:
    s, a, b, d = (Step(name) for name in "sabd")
    builder = WorkflowBuilder(start_executor=s)
    builder.add_switch_case_edge_group(s, [Case(bool, a), Default(b)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        builder.add_edge(a, d).add_edge(b, d).build()


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([single("s->a"), single("a->d")], []),
        ([single("s->d"), single("s->a"), single("a->d")], [("d", "s")]),
        ([FanOutEdgeGroup("s", ["a", "b"]), single("a->d"), single("b->d")], [("d", "s")]),
        ([single("s->a", bool), single("s->b"), single("a->d"), single("b->d")], []),
        # A loop back isn't a second way.
        ([single("s->w"), single("w->r"), single("r->w")], []),
        ([single("s->s"), single("s->a")], []),
        # Below a node that runs twice, the later ones are the fault of that node alone.
        (
            [single("s->d"), single("s->a"), single("a->d"), single("d->e")],
            [("d", "s")],
        ),
        # A join and a plain edge beside it are two ways again.
        (
            [
                FanOutEdgeGroup("s", ["a", "b"]),
                FanInEdgeGroup(["a", "b"], "j"),
                single("s->j"),
            ],
            [("j", "s")],
        ),
        ([FanOutEdgeGroup("s", ["a", "b"]), FanInEdgeGroup(["a", "b"], "j")], []),
    ],
    ids=["chain", "shortcut", "fan-out", "condition", "loop", "self", "below", "mixed", "join"],
)
def test_double_delivery_is_found_where_it_is_certain(
    groups: list[EdgeGroup], expected: list[tuple[str, str]]
) -> None:
    assert list(doubly_reached(groups)) == expected
