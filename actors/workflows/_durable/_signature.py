# What makes two graphs the same, as far as the stored state of a run is concerned: who takes
# part under which id, who sends to whom and on which (named) condition, in which order a join
# hands its items out, and the same again for every workflow inside.
#
# Not part of it: the order in which edges were added, the module that a class lives in, what
# functions do, and options that change no meaning of what is stored. So moving code changes no
# signature, and a changed lambda goes unnoticed; docs/reference/semantics.md says so.
"""The signature of a graph, and what two of them differ in."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from actors.workflows._graph._edges import FanInEdgeGroup
from actors.workflows._graph._switch import SwitchCaseEdgeGroup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from actors.workflows._graph._definition import Graph
    from actors.workflows._graph._edges import EdgeGroup
    from actors.workflows._graph._executor import Executor

# Groups whose order of targets decides something.
_ORDERED: Final = (FanInEdgeGroup, SwitchCaseEdgeGroup)


def signature_of(graph: Graph, schedule: str = "superstep") -> dict[str, Any]:
    """Describe *graph* in plain data that is equal for graphs which mean the same.

    Args:
        graph: the graph.
        schedule: what its turns run under; what is stored in the middle of a run depends on it.
    """
    return {
        "schedule": schedule,
        "start": graph.start_id,
        "executors": {name: _executor(each) for name, each in sorted(graph.executors.items())},
        "edges": sorted(_group(group) for group in graph.edge_groups),
    }


def digest_of(signature: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a signature, in hexadecimal digits."""
    return hashlib.sha256(spelled(signature).encode()).hexdigest()


def spelled(signature: Mapping[str, Any]) -> str:
    """Return a signature as text; equal ones have equal texts."""
    return json.dumps(signature, sort_keys=True, separators=(",", ":"))


def differences(stored: Mapping[str, Any], present: Mapping[str, Any]) -> tuple[str, ...]:
    """Say what the *present* graph has (``+``) and has not (``-``) beside the *stored* one."""
    return tuple(_differences(stored, present, ""))


def _executor(executor: Executor) -> dict[str, Any]:
    described: dict[str, Any] = {"type": executor.type}
    inner = getattr(executor, "workflow", None)
    graph = getattr(inner, "graph", None)
    if graph is not None:
        described["workflow"] = signature_of(graph, inner.settings.schedule)  # type: ignore[union-attr]
    return described


def _group(group: EdgeGroup) -> str:
    """Spell a group as one line, which is what a person reads in a diff."""
    plain = group.to_dict()
    edges = [_edge(edge) for edge in plain["edges"]]
    if not isinstance(group, _ORDERED):
        edges.sort()
    spelled = f"{group.type} {', '.join(edges)}"
    if isinstance(group, SwitchCaseEdgeGroup):
        spelled += f" cases {', '.join(map(_case, plain['cases']))}"
    chosen_by = plain.get("selection_func_name")
    if chosen_by is not None:
        spelled += f" chosen by {chosen_by}"
    policy = plain.get("join")
    return spelled if policy in {None, "all"} else f"{spelled} join {policy}"


def _edge(edge: Mapping[str, Any]) -> str:
    ends = f"{edge['source_id']}->{edge['target_id']}"
    condition = edge.get("condition_name")
    return ends if condition is None else f"{ends} if {condition}"


def _case(case: Mapping[str, Any]) -> str:
    return f"{case['target_id']} if {case.get('condition_name', 'nothing else')}"


def _differences(
    stored: Mapping[str, Any], present: Mapping[str, Any], where: str
) -> Iterator[str]:
    for key in ("schedule", "start"):
        if stored.get(key) != present.get(key):
            yield f"{where}{key}: was {stored.get(key)!r}, is {present.get(key)!r}"
    before, after = stored.get("executors", {}), present.get("executors", {})
    for name in sorted(before.keys() | after.keys()):
        yield from _changed_executor(name, before.get(name), after.get(name), where)
    edges, now = stored.get("edges", ()), present.get("edges", ())
    yield from (f"{where}- {edge}" for edge in edges if edge not in now)
    yield from (f"{where}+ {edge}" for edge in now if edge not in edges)


def _changed_executor(
    name: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, where: str
) -> Iterator[str]:
    if before is None or after is None:
        sign, there = ("+", after) if before is None else ("-", before)
        assert there is not None
        yield f"{where}{sign} executor {name!r} ({there['type']})"
        return
    if before["type"] != after["type"]:
        yield f"{where}executor {name!r}: was a {before['type']}, is a {after['type']}"
    inner, now = before.get("workflow"), after.get("workflow")
    if inner is not None and now is not None:
        yield from _differences(inner, now, f"{where}in {name!r}: ")
