"""The definition of a workflow: executors, edges, joins, and where outputs count.

Immutable once made; the runs of a workflow share nothing but this. What the engine asks per
message (who comes next?) is compiled into lookups here, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

import attrs

from actors.workflows._graph._edges import EdgeGroup, FanInEdgeGroup, MapEdgeGroup
from actors.workflows._graph._executor import Executor
from actors.workflows._graph._joins import Join
from actors.workflows._graph._maps import Map
from actors.workflows._graph._reach import Reach
from protocols._errors import WorkflowException

Designation: TypeAlias = Literal["output", "intermediate"]
ExecutorFactory: TypeAlias = Callable[[], Executor]

_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


def _copied(executors: Mapping[str, Executor]) -> Mapping[str, Executor]:
    return dict(executors)


def _in_order(groups: Iterable[EdgeGroup]) -> tuple[EdgeGroup, ...]:
    return tuple(groups)


@attrs.frozen(eq=False)
class Routes:
    """Where the messages of one executor may go.

    Args:
        groups: the groups that start there, joins and maps excluded, in order of declaration.
        joins: indexes into ``graph.joins`` of the joins that it is a source of.
        maps: indexes into ``graph.maps`` of the maps that take its lists apart.
        results: indexes into ``graph.maps`` of the maps whose items it is the last to handle.
        is_plain: whether it is no source of a join or map.
        static: targets that need no condition, in order of declaration.
        is_static: whether no group has a condition, so that ``static`` is the whole answer.
        is_direct: whether it is both: a message just goes to those in ``static`` that take it.
        is_branch: whether it is the source of one join, and of nothing else.
        targets: the targets of each group, made ready for asking.
    """

    groups: tuple[EdgeGroup, ...]
    joins: tuple[int, ...]
    maps: tuple[int, ...] = ()
    results: tuple[int, ...] = ()
    is_plain: bool = attrs.field(init=False)
    static: tuple[str, ...] = attrs.field(init=False)
    is_static: bool = attrs.field(init=False)
    is_direct: bool = attrs.field(init=False)
    is_branch: bool = attrs.field(init=False)
    targets: tuple[tuple[EdgeGroup, tuple[str, ...]], ...] = attrs.field(init=False)

    @is_plain.default
    def _is_plain(self) -> bool:
        return not (self.joins or self.maps or self.results)

    @static.default
    def _static(self) -> tuple[str, ...]:
        plain = (group for group in self.groups if not group.is_conditional)
        return tuple(target for group in plain for target in group.target_executor_ids)

    @is_static.default
    def _is_static(self) -> bool:
        return not any(group.is_conditional for group in self.groups)

    @is_direct.default
    def _is_direct(self) -> bool:
        return self.is_plain and self.is_static

    @is_branch.default
    def _is_branch(self) -> bool:
        return len(self.joins) == 1 and not (self.groups or self.maps or self.results)

    @targets.default
    def _targets(self) -> tuple[tuple[EdgeGroup, tuple[str, ...]], ...]:
        return tuple((group, tuple(group.target_executor_ids)) for group in self.groups)


class Seat:
    """What each run needs of an executor, found once for all runs: they make a cell of it.

    Attributes:
        executor: that of the graph; runs use another one where there is a factory.
        find: which of its handlers takes a message.
        is_static: whether nothing has to be awaited to know who gets what it sends.
        shown_as: what its outputs count as; None where they are hidden.
    """

    __slots__ = ("executor", "find", "is_static", "shown_as")

    def __init__(
        self, executor: Executor, routes: Routes | None, shown_as: Designation | None
    ) -> None:
        self.executor = executor
        self.find = executor.finder
        self.is_static = routes is None or routes.is_static
        self.shown_as = shown_as


@attrs.frozen(eq=False)
class Graph:
    """Executors by id, and how messages go between them.

    Args:
        start_id: who gets the input of a run.
        executors: by id. Where there is a factory, this is the one that was made to look at;
            no run uses it.
        edge_groups: in order of declaration.
        output_ids: whose outputs are outputs of the workflow; None for everybody's.
        intermediate_ids: whose outputs are intermediate ones; None where ``output_ids`` is.
        factories: what makes a new executor for each run, by id, where one was given.
        on_error: who gets the messages that an executor can't handle, by its id.
        joins: the joins among the groups.
        maps: the maps among the groups.
        reaches: for each join that doesn't wait for all its sources: how to know who can send.
        is_simple: whether nothing has to be decided when a round or turn has taken effect.
        routes: by sender; no entry for one without an outgoing edge.
        accepts: by executor, whether it takes a message, as a truth value.
        designations: what an executor's outputs count as; no entry where they are hidden.
        seats: what each run needs of each executor.
    """

    start_id: str
    executors: Mapping[str, Executor] = attrs.field(converter=_copied)
    edge_groups: tuple[EdgeGroup, ...] = attrs.field(converter=_in_order, default=())
    output_ids: tuple[str, ...] | None = None
    intermediate_ids: tuple[str, ...] | None = None
    factories: Mapping[str, ExecutorFactory] = _NONE
    on_error: Mapping[str, str] = _NONE
    joins: tuple[Join, ...] = attrs.field(init=False)
    maps: tuple[Map, ...] = attrs.field(init=False)
    reaches: Mapping[int, Reach] = attrs.field(init=False)
    is_simple: bool = attrs.field(init=False)
    routes: Mapping[str, Routes] = attrs.field(init=False)
    accepts: Mapping[str, Callable[[object], object]] = attrs.field(init=False)
    designations: Mapping[str, Designation] = attrs.field(init=False)
    seats: Mapping[str, Seat] = attrs.field(init=False)

    @joins.default
    def _joins(self) -> tuple[Join, ...]:
        return tuple(
            Join(tuple(group.source_executor_ids), group.target_executor_ids[0], group.join)
            for group in self.edge_groups
            if isinstance(group, FanInEdgeGroup)
        )

    @maps.default
    def _maps(self) -> tuple[Map, ...]:
        return tuple(group.as_map for group in self.edge_groups if isinstance(group, MapEdgeGroup))

    @reaches.default
    def _reaches(self) -> dict[int, Reach]:
        groups = [group for group in self.edge_groups if isinstance(group, FanInEdgeGroup)]
        return {
            index: Reach(join, self._ways_without(groups[index]))
            for index, join in enumerate(self.joins)
            if not join.is_patient
        }

    def _ways_without(self, left_out: EdgeGroup) -> dict[str, list[str]]:
        ways: dict[str, list[str]] = {}
        for group in self.edge_groups:
            if group is not left_out:
                for edge in group.edges:
                    ways.setdefault(edge.source_id, []).append(edge.target_id)
        for failing, handler in self.on_error.items():
            ways.setdefault(failing, []).append(handler)
        return ways

    @is_simple.default
    def _is_simple(self) -> bool:
        return not (self.maps or self.reaches)

    @routes.default
    def _routes(self) -> dict[str, Routes]:
        groups: dict[str, list[EdgeGroup]] = {}
        joins: dict[str, list[int]] = {}
        maps: dict[str, list[int]] = {}
        results: dict[str, list[int]] = {}
        for group in self.edge_groups:
            if not isinstance(group, FanInEdgeGroup | MapEdgeGroup):
                for source in group.source_executor_ids:
                    groups.setdefault(source, []).append(group)
        for index, join in enumerate(self.joins):
            for source in join.sources:
                joins.setdefault(source, []).append(index)
        for index, each in enumerate(self.maps):
            maps.setdefault(each.source, []).append(index)
            results.setdefault(each.last, []).append(index)
        parts: tuple[Mapping[str, list[Any]], ...] = groups, joins, maps, results
        return {
            source: Routes(*(tuple(part.get(source, ())) for part in parts))
            for source in dict.fromkeys(source for part in parts for source in part)
        }

    @accepts.default
    def _accepts(self) -> dict[str, Callable[[object], object]]:
        return {
            name: executor.finder
            if type(executor).can_handle_data is Executor.can_handle_data
            else executor.can_handle_data
            for name, executor in self.executors.items()
        }

    @designations.default
    def _designations(self) -> dict[str, Designation]:
        if self.output_ids is None and self.intermediate_ids is None:
            return dict.fromkeys(self.executors, "output")
        found: dict[str, Designation] = dict.fromkeys(self.intermediate_ids or (), "intermediate")
        return {**found, **dict.fromkeys(self.output_ids or (), "output")}

    @seats.default
    def _seats(self) -> dict[str, Seat]:
        routes, shown = self.routes, self.designations
        return {
            name: Seat(executor, routes.get(name), shown.get(name))
            for name, executor in self.executors.items()
        }

    def designation(self, executor_id: str) -> Designation | None:
        """Say what the outputs of an executor count as; None where they are hidden."""
        return self.designations.get(executor_id)

    def make_executor(self, executor_id: str) -> Executor:
        """Make a new executor with the factory that was given for this id.

        Raises:
            WorkflowException: the factory made something else than when the workflow was built.
        """
        made = self.factories[executor_id]()
        if made.id != executor_id:
            raise WorkflowException(
                f"the factory of executor {executor_id!r} now made one with the id {made.id!r}; "
                "a factory must give the same id each time, since edges and checkpoints use it"
            )
        return made

    @property
    def shared_executor_ids(self) -> tuple[str, ...]:
        """The executors of which all runs use the same object."""
        return tuple(name for name in self.executors if name not in self.factories)
