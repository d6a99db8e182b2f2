"""Checks a workflow's graph before it can run: all problems at once, in a fixed order.

Problems stop the build. What is only suspicious is warned about, and what is merely worth
knowing is logged.
"""

from __future__ import annotations

import logging
import warnings
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from actors.workflows._graph._double_delivery import doubly_reached
from actors.workflows._graph._edges import Edge, EdgeGroup, FanInEdgeGroup, MapEdgeGroup
from actors.workflows._graph._validation_errors import (
    EdgeDuplicationError,
    GraphConnectivityError,
    TypeCompatibilityError,
    ValidationTypeEnum,
    WorkflowGraphWarning,
    WorkflowValidationError,
    raise_problems,
)
from actors.workflows._typing._types import is_type_compatible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from actors.workflows._graph._executor import Executor

_NONE: Final[Mapping[str, str]] = MappingProxyType({})
_log: Final = logging.getLogger(__name__)


def validate_workflow_graph(
    edge_groups: Sequence[EdgeGroup],
    executors: Mapping[str, Executor],
    start_executor: Executor | str,
    output_executors: Sequence[str] = (),
    intermediate_executors: Sequence[str] = (),
) -> None:
    """Check a graph.

    Args:
        edge_groups: its edges.
        executors: its executors by id.
        start_executor: who gets the input of a run, or its id.
        output_executors: ids whose outputs are outputs of the workflow.
        intermediate_executors: ids whose outputs are intermediate ones.

    Raises:
        WorkflowValidationError: the first problem that was found; ``problems`` has all.
    """
    start_id = start_executor if isinstance(start_executor, str) else start_executor.id
    designated = (*output_executors, *intermediate_executors)
    raise_problems(
        [
            *find_problems(edge_groups, executors, start_id),
            *_unknown_outputs(designated, executors),
        ]
    )
    report_suspicions(edge_groups, executors)


def find_problems(
    edge_groups: Sequence[EdgeGroup],
    executors: Mapping[str, Executor],
    start_id: str,
    on_error: Mapping[str, str] = _NONE,
) -> list[WorkflowValidationError]:
    """Return all that is wrong with a graph: start, edges, types, reachability.

    Args:
        edge_groups: its edges.
        executors: its executors by id.
        start_id: who gets the input of a run.
        on_error: who gets the messages that an executor can't handle.
    """
    edges = _edges(edge_groups)
    return [
        *_bad_start(start_id, executors),
        *_unknown_ends(edges, executors),
        *_duplicates(edges),
        *_incompatible(edge_groups, executors),
        *_unreachable([*edges, *map(Edge, on_error, on_error.values())], executors, start_id),
    ]


def report_suspicions(
    edge_groups: Sequence[EdgeGroup], executors: Mapping[str, Executor], stacklevel: int = 3
) -> None:
    """Warn about, or log, what may not be meant.

    Args:
        edge_groups: the edges of a graph without problems.
        executors: its executors by id.
        stacklevel: how many calls above this one the author's code is, for warnings.
    """
    edges = _edges(edge_groups)
    for edge in edges:
        if edge.source_id == edge.target_id:
            _log.warning(
                "executor %r has an edge to itself: it goes on until a condition stops it",
                edge.source_id,
            )
    senders = {edge.source_id for edge in edges}
    for name in executors:
        if name not in senders:
            _log.info("executor %r has no outgoing edge: what it sends goes nowhere", name)
    for name, fork in doubly_reached(edge_groups):
        warnings.warn(
            f"executor {name!r} runs once per arriving message, so several times for one message "
            f"of {fork!r}, which reaches it on several ways. If it should wait for all of them "
            "and run once, join them with add_fan_in_edges",
            WorkflowGraphWarning,
            stacklevel=stacklevel,
        )


def _edges(edge_groups: Iterable[EdgeGroup]) -> list[Edge]:
    return [edge for group in edge_groups for edge in group.edges]


def _bad_start(
    start_id: str, executors: Mapping[str, Executor]
) -> Iterator[GraphConnectivityError]:
    if start_id not in executors:
        yield GraphConnectivityError(
            f"the start executor {start_id!r} isn't in the graph, so no input could enter it: "
            "connect it with an edge"
        )


def _unknown_ends(
    edges: Iterable[Edge], executors: Mapping[str, Executor]
) -> Iterator[GraphConnectivityError]:
    for edge in edges:
        for end in (edge.source_id, edge.target_id):
            if end not in executors:
                yield GraphConnectivityError(
                    f"edge {edge.id!r} names {end!r}, and no executor has that id"
                )


def _duplicates(edges: Iterable[Edge]) -> Iterator[EdgeDuplicationError]:
    seen: set[tuple[str, str]] = set()
    for edge in edges:
        ends = (edge.source_id, edge.target_id)
        if ends in seen:
            yield EdgeDuplicationError(edge.id)
        seen.add(ends)


def _incompatible(
    edge_groups: Iterable[EdgeGroup], executors: Mapping[str, Executor]
) -> Iterator[TypeCompatibilityError]:
    for group in edge_groups:
        for index, edge in enumerate(group.edges):
            source, target = executors.get(edge.source_id), executors.get(edge.target_id)
            if source is not None and target is not None:
                is_map = isinstance(group, MapEdgeGroup)
                yield from _incompatible_edge(
                    source,
                    target,
                    is_apart=is_map and index == 0,
                    is_joined=isinstance(group, FanInEdgeGroup) or (is_map and index == 1),
                )


def _incompatible_edge(
    source: Executor, target: Executor, *, is_apart: bool, is_joined: bool
) -> Iterator[TypeCompatibilityError]:
    """Compare what is sent and taken; *is_apart*: lists for items, *is_joined*: items for lists."""
    sent, taken = source.output_types, target.input_types
    if not sent or not taken:
        _log.warning(
            "the edge from %r to %r can't be checked: %s declares no types",
            source.id,
            target.id,
            f"what {source.id!r} sends" if not sent else f"what {target.id!r} takes",
        )
        return
    arriving: list[Any] = [list[each] for each in sent] if is_joined else sent  # type: ignore[valid-type] # types made at run time
    if is_apart:
        taken = [form for each in taken for form in (list[each], tuple[each, ...])]  # type: ignore[valid-type]
    if not any(is_type_compatible(one, other) for one in arriving for other in taken):
        yield TypeCompatibilityError(source.id, target.id, arriving, taken)


def _unreachable(
    edges: Iterable[Edge], executors: Mapping[str, Executor], start_id: str
) -> Iterator[GraphConnectivityError]:
    ways: dict[str, list[str]] = {}
    for edge in edges:
        ways.setdefault(edge.source_id, []).append(edge.target_id)
    reached, to_do = {start_id}, [start_id]
    while to_do:
        new = set(ways.get(to_do.pop(), ())) - reached
        reached |= new
        to_do.extend(new)
    lost = [name for name in executors if name not in reached]
    if lost and start_id in executors:
        yield GraphConnectivityError(
            f"no message could ever reach {', '.join(map(repr, lost))}: there is no way from the "
            f"start executor {start_id!r}. Lead an edge there, add_edge(..., {lost[0]}), or take "
            "out what leads on from there"
        )


def _unknown_outputs(
    designated: Iterable[str], executors: Mapping[str, Executor]
) -> Iterator[WorkflowValidationError]:
    for name in designated:
        if name not in executors:
            yield WorkflowValidationError(
                f"outputs are wanted from {name!r}, and no executor of the graph has that id",
                ValidationTypeEnum.OUTPUT_VALIDATION,
            )
