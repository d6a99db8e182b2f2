"""How a workflow is put together: participants, edges, options, designation of outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Never

import attrs
import pytest

from actors import EchoChatClient
from actors._core._supervision._decide import Supervision
from actors.workflows._agents._agent_executor import AgentExecutor
from actors.workflows._graph._builder import WorkflowBuilder
from actors.workflows._graph._context_api import WorkflowContext
from actors.workflows._graph._edges import FanInEdgeGroup, FanOutEdgeGroup, SingleEdgeGroup
from actors.workflows._graph._executor import Executor
from actors.workflows._graph._function_executor import executor
from actors.workflows._graph._handlers import handler
from actors.workflows._graph._switch import Case, Default, SwitchCaseEdgeGroup
from actors.workflows._graph._validation_errors import (
    GraphConnectivityError,
    ValidationTypeEnum,
    WorkflowValidationError,
)


class Step(Executor):
    """Sends strings, yields strings, and takes strings and lists of them."""

    @handler
    async def text(self, message: str, ctx: WorkflowContext[str, str]) -> None: ...

    @handler
    async def texts(self, message: list[str], ctx: WorkflowContext[str, str]) -> None: ...


class Silent(Executor):
    """Yields nothing."""

    @handler
    async def text(self, message: str, ctx: WorkflowContext[str]) -> None: ...


class SelfMade(Step):
    """Makes itself: its class is a factory."""

    def __init__(self) -> None:
        super().__init__("made")


@attrs.define(eq=False)
class FakeAgent:
    name: str | None = "writer"
    id: str = "agent-1"
    description: str | None = None

    def run(self, messages: Any = None, **_: Any) -> Any: ...

    def create_session(self, *, session_id: str | None = None) -> Any: ...

    def get_session(self, service_session_id: Any, *, session_id: str | None = None) -> Any: ...


a, b, c, d = (Step(name) for name in "abcd")


def edges_of(builder: WorkflowBuilder) -> list[str]:
    groups = builder.build().graph.edge_groups
    return [edge.id for group in groups for edge in group.edges]


# ------------------------------------------------------------------------------- edges


def test_all_adders_return_the_builder_and_add_their_edges() -> None:
    builder = (
        WorkflowBuilder(start_executor=a)
        .add_edge(a, b, bool)
        .add_switch_case_edge_group(b, [Case(bool, c), Default(d)])
        .add_multi_selection_edge_group(c, [a, b], lambda _, targets: targets)
    )
    groups = builder.build().graph.edge_groups

    assert [type(group) for group in groups] == [
        SingleEdgeGroup,
        SwitchCaseEdgeGroup,
        FanOutEdgeGroup,
    ]
    assert groups[0].edges[0].condition is bool
    assert groups[2].is_conditional


def test_a_fan_out_meets_again_in_a_fan_in() -> None:
    builder = WorkflowBuilder(start_executor=a).add_fan_out_edges(a, [b, c])
    graph = builder.add_fan_in_edges([c, b], d).build().graph

    assert isinstance(graph.edge_groups[1], FanInEdgeGroup)
    assert graph.joins[0].sources == ("c", "b")


def test_a_chain_is_its_edges_and_may_close_a_loop() -> None:
    assert edges_of(WorkflowBuilder(start_executor=a).add_chain([a, b, a])) == ["a->b", "b->a"]


@pytest.mark.parametrize(
    "add",
    [
        lambda builder: builder.add_chain([a]),
        lambda builder: builder.add_fan_out_edges(a, [b]),
        lambda builder: builder.add_fan_in_edges([a], b),
        lambda builder: builder.add_multi_selection_edge_group(a, [b], lambda _, ids: ids),
        lambda builder: builder.add_switch_case_edge_group(a, [Default(b)]),
    ],
    ids=["chain", "fan-out", "fan-in", "selection", "switch"],
)
def test_a_group_of_one_is_refused_at_once(add: Callable[[WorkflowBuilder], object]) -> None:
    with pytest.raises(ValueError, match="at least two"):
        add(WorkflowBuilder(start_executor=a))


def test_a_lone_executor_is_a_workflow() -> None:
    graph = WorkflowBuilder(start_executor=a).build().graph

    assert (graph.start_id, list(graph.executors)) == ("a", ["a"])


def test_two_builds_are_two_workflows_of_the_same_executors() -> None:
    builder = WorkflowBuilder(start_executor=a).add_edge(a, b)
    one = builder.build()
    other = builder.add_edge(b, c).build()

    assert len(one.graph.edge_groups) == 1, "what was built doesn't change any more"
    assert list(one.graph.executors) == ["a", "b"]
    assert one.graph.executors["a"] is other.graph.executors["a"]


# ------------------------------------------------------------------------- participants


def test_the_start_executor_must_be_given() -> None:
    with pytest.raises(TypeError, match="start_executor"):
        WorkflowBuilder()  # type: ignore[call-arg]


def test_two_executors_with_one_id_are_refused_where_the_second_is_added() -> None:
    builder = WorkflowBuilder(start_executor=a)

    with pytest.raises(ValueError, match="Two executors have the id 'a'"):
        builder.add_edge(a, Step("a"))


def test_an_agent_is_wrapped_once_and_goes_by_its_name() -> None:
    agent = FakeAgent()
    graph = WorkflowBuilder(start_executor=agent).add_edge(agent, agent, bool).build().graph
    wrapped = graph.executors["writer"]

    assert isinstance(wrapped, AgentExecutor)
    assert wrapped.agent is agent
    assert list(graph.executors) == ["writer"]


def test_an_agent_without_a_name_goes_by_its_id() -> None:
    assert WorkflowBuilder(start_executor=FakeAgent(None)).build().graph.start_id == "agent-1"


def test_an_agent_without_name_and_id_is_refused_with_advice() -> None:
    with pytest.raises(ValueError, match=r'name="\.\.\.", or wrap it'):
        WorkflowBuilder(start_executor=FakeAgent(None, ""))


def test_two_agents_with_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match=r"'writer'.*an agent goes by its name"):
        WorkflowBuilder(start_executor=FakeAgent()).add_edge(FakeAgent(id="2"), a)


def test_a_factory_makes_an_executor_for_each_run() -> None:
    def make() -> Step:
        return Step("made")

    graph = WorkflowBuilder(start_executor=a).add_edge(a, make).add_edge(make, b).build().graph

    assert list(graph.factories) == ["made"]
    assert graph.make_executor("made") is not graph.make_executor("made")


def test_a_class_is_a_factory() -> None:
    graph = WorkflowBuilder(start_executor=SelfMade).build().graph

    assert type(graph.make_executor("made")) is SelfMade


def test_a_factory_may_make_agents() -> None:
    graph = WorkflowBuilder(start_executor=FakeAgent).build().graph
    one, other = graph.make_executor("writer"), graph.make_executor("writer")

    assert isinstance(one, AgentExecutor)
    assert isinstance(other, AgentExecutor)
    assert one.agent is not other.agent


def plain_function(message: str, ctx: WorkflowContext) -> None: ...


class Homeless(Executor):
    """Forgets its base class."""

    def __init__(self) -> None:
        pass

    @handler
    async def handle(self, message: str, ctx: WorkflowContext) -> None: ...


@pytest.mark.parametrize(
    ("nobody", "advice"),
    [
        (5, "@executor"),
        (None, "@executor"),
        (plain_function, "@executor"),
        ("a", "as objects and not by their ids"),
        (Step, "give an object of it"),
        (EchoChatClient(), "make an agent of it"),
        (WorkflowBuilder(start_executor=a).build(), "WorkflowExecutor"),
        (Homeless(), r"Homeless has no id: .* super\(\)"),
    ],
    ids=["int", "None", "function", "str", "class", "client", "workflow", "no super"],
)
def test_what_cant_take_part_is_refused_with_advice(nobody: Any, advice: str) -> None:
    with pytest.raises(TypeError, match=advice):
        WorkflowBuilder(start_executor=nobody)


def test_a_single_participant_where_there_are_to_be_several_is_refused() -> None:
    with pytest.raises(TypeError, match="give a list of participants"):
        WorkflowBuilder(start_executor=a).add_fan_out_edges(a, b)  # type: ignore[arg-type]


@pytest.mark.parametrize("made", [5, Step], ids=["int", "class"])
def test_a_factory_that_makes_nothing_of_use_is_refused(made: Any) -> None:
    with pytest.raises(TypeError, match="can't take part"):
        WorkflowBuilder(start_executor=lambda: made)


def test_a_builtin_that_hides_its_signature_is_tried() -> None:
    with pytest.raises(TypeError, match="can't take part"):
        WorkflowBuilder(start_executor=dict)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------ options


def test_options_become_settings() -> None:
    supervision = Supervision(max_restarts=2)
    settings = (
        WorkflowBuilder(
            7,
            "news",
            "writes news",
            start_executor=a,
            schedule="superstep",
            supervision=supervision,
            on_checkpoint_error="warn",
            max_in_flight=10,
        )
        .build()
        .settings
    )

    assert settings.max_iterations == 7
    assert (settings.name, settings.description) == ("news", "writes news")
    assert settings.supervision is supervision
    assert (settings.schedule, settings.on_checkpoint_error) == ("superstep", "warn")
    assert settings.max_in_flight == 10


def test_a_workflow_without_a_name_gets_one_of_its_own() -> None:
    one, other = (WorkflowBuilder(start_executor=a).build().settings for _ in range(2))

    assert one.name.startswith("WorkflowBuilder-")
    assert one.name != other.name
    assert one.max_iterations == 100


@pytest.mark.parametrize(
    "option",
    [
        {"schedule": "fast"},
        {"durability": "never"},
        {"on_checkpoint_error": "ignore"},
        {"max_in_flight": 0},
        {"max_iterations": -1},
        {"output_from": "all_other"},
        {"intermediate_output_from": "some"},
    ],
    ids=str,
)
def test_a_value_that_an_option_doesnt_know_is_refused(option: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(option))) as caught:
        WorkflowBuilder(start_executor=a, **option)

    assert len(caught.value.args) == 1
    assert repr(*option.values()) in str(caught.value)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"max_iterations": "3"}, "max_iterations is an int, not '3'"),
        ({"max_attempts": None}, "max_attempts is an int"),
        ({"checkpoint_storage": "runs.db"}, "open_storage"),
        ({"supervision": "one_for_one"}, "Supervision"),
    ],
    ids=lambda given: str(given) if isinstance(given, dict) else "",
)
def test_a_value_of_another_type_is_refused(option: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        WorkflowBuilder(start_executor=a, **option)


# --------------------------------------------------------------------------- designation


@executor
async def quiet(message: str, ctx: WorkflowContext[str]) -> None: ...


def designated(**options: Any) -> dict[str, str]:
    """Return who counts as what in a -> b -> c -> silent, where the last yields nothing."""
    chain = [a, b, c, Silent("silent")]
    graph = WorkflowBuilder(start_executor=a, **options).add_chain(chain).build().graph
    return dict(graph.designations)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"a": "output", "b": "output", "c": "output", "silent": "output"}),
        ({"output_from": "all"}, {"a": "output", "b": "output", "c": "output"}),
        ({"output_from": [a]}, {"a": "output"}),
        (
            {"output_from": [a], "intermediate_output_from": [b]},
            {"a": "output", "b": "intermediate"},
        ),
        (
            {"output_from": [a], "intermediate_output_from": "all_other"},
            {"a": "output", "b": "intermediate", "c": "intermediate"},
        ),
        (
            {"intermediate_output_from": "all_other"},
            {"a": "intermediate", "b": "intermediate", "c": "intermediate"},
        ),
        (
            {"output_from": [], "intermediate_output_from": "all"},
            {"a": "intermediate", "b": "intermediate", "c": "intermediate"},
        ),
        ({"intermediate_output_from": [b]}, {"b": "intermediate"}),
        (
            {"output_from": "all", "intermediate_output_from": "all_other"},
            {"a": "output", "b": "output", "c": "output"},
        ),
    ],
    ids=lambda value: None,
)
def test_outputs_count_as_designated(options: dict[str, Any], expected: dict[str, str]) -> None:
    assert designated(**options) == expected


def test_all_as_outputs_wins_over_a_list_of_intermediate_ones_and_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    options = {"output_from": "all", "intermediate_output_from": [b]}

    assert designated(**options) == {"a": "output", "b": "output", "c": "output"}
    assert "'b'" in caplog.text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"output_from": []}, "both empty"),
        ({"output_from": [], "intermediate_output_from": []}, "both empty"),
        ({"output_from": [a, a]}, "more than once"),
        ({"output_from": [a], "intermediate_output_from": [a, b]}, "'a' is in output_from and"),
        ({"output_from": [a], "intermediate_output_from": "all"}, "'a' is in output_from and"),
        ({"output_from": [Step("z")]}, "'z', which isn't in the graph"),
        ({"output_from": [FakeAgent("z")]}, "'z', which isn't in the graph"),
        ({"output_from": [Silent("silent")]}, "'silent', which declares no output"),
    ],
    ids=["empty", "both", "twice", "shared", "all", "stranger", "agent", "mute"],
)
def test_a_wrong_designation_is_a_validation_error(options: dict[str, Any], words: str) -> None:
    with pytest.raises(WorkflowValidationError, match=words) as caught:
        designated(**options)

    assert caught.value.validation_type is ValidationTypeEnum.OUTPUT_VALIDATION
    assert str(caught.value).startswith("[OUTPUT_VALIDATION] ")


@pytest.mark.parametrize("entry", ["a", 5])
def test_a_designation_lists_participants_not_names(entry: Any) -> None:
    with pytest.raises(TypeError, match="list the executors"):
        designated(output_from=[entry])


def test_the_old_name_of_output_from_still_works() -> None:
    with pytest.warns(DeprecationWarning, match="output_from"):
        assert designated(output_executors=[a]) == {"a": "output"}


def test_both_names_of_output_from_are_too_many() -> None:
    with pytest.raises(TypeError, match="two names"):
        designated(output_executors=[a], output_from=[a])


def test_the_designation_is_reported_together_with_the_graphs_problems() -> None:
    builder = WorkflowBuilder(start_executor=a, output_from=[]).add_edge(b, c)

    with pytest.raises(WorkflowValidationError) as caught:
        builder.build()

    assert [type(each) for each in caught.value.problems] == [
        WorkflowValidationError,
        GraphConnectivityError,
    ]
    assert str(caught.value).count("\n") == 1


# --------------------------------------------------------------------------- supervision


class Counting(Step):
    """Keeps a mutable attribute."""

    def __init__(self, name: str = "counting") -> None:
        super().__init__(name)
        self.n = 0


class Frozen(Counting):
    state = 0


class Shareable(Counting):
    shareable = True


class Hooked(Counting):
    async def on_checkpoint_save(self) -> dict[str, Any]:
        return {"n": self.n}

    async def on_checkpoint_restore(self, state: dict[str, Any]) -> None:
        self.n = state["n"]


def build_supervised(participant: Any, max_restarts: int = 3) -> None:
    WorkflowBuilder(
        start_executor=participant, supervision=Supervision(max_restarts=max_restarts)
    ).build()


def test_retries_of_what_cant_be_rolled_back_are_refused() -> None:
    with pytest.raises(WorkflowValidationError, match=r"'counting'.*\(n\)") as caught:
        build_supervised(Counting())

    assert caught.value.validation_type is ValidationTypeEnum.SUPERVISION


@executor
def plain(message: str, ctx: WorkflowContext[Never, str]) -> None: ...


@pytest.mark.parametrize(
    "participant",
    [Frozen(), Shareable(), Hooked(), Counting, Step("stateless"), plain, FakeAgent()],
    ids=["frozen", "shareable", "hooks", "factory", "stateless", "function", "agent"],
)
def test_retries_of_what_rolls_back_are_fine(participant: Any) -> None:
    build_supervised(participant)


def test_without_retries_nothing_has_to_roll_back() -> None:
    build_supervised(Counting(), max_restarts=0)
