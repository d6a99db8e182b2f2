"""What a picture of a workflow shows, whatever language it is written in.

Executors become nodes, joins too; edges become links with the words that are written at them.
Names are made here, so that a node is called the same in Mermaid and in DOT.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import attrs

from actors.workflows._graph._edges import (
    INTERNAL_SOURCE_ID,
    EdgeGroup,
    FanInEdgeGroup,
    FanOutEdgeGroup,
    name_of,
)
from actors.workflows._graph._switch import SwitchCaseEdgeGroup, SwitchCaseEdgeGroupDefault
from actors.workflows._workflow import Workflow

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from actors.workflows._graph._definition import Graph
    from actors.workflows._graph._executor import Executor

NodeKind: TypeAlias = Literal["start", "executor", "join", "run"]
# Source, target, and what is written there: None where every message goes this way.
Way: TypeAlias = tuple[str, str, str | None]

JOIN_LABEL: Final = "fan-in"
_RUN_LABEL: Final = "run"
_NO_NAME_CHARACTER: Final = re.compile(r"[^0-9A-Za-z_]")
# Words of Mermaid's and DOT's grammars: as the name of a node they break the picture.
_RESERVED: Final = frozenset(
    [
        "accdescr",
        "acctitle",
        "call",
        "class",
        "classdef",
        "click",
        "default",
        "digraph",
        "direction",
        "edge",
        "end",
        "flowchart",
        "graph",
        "href",
        "interpolate",
        "linkstyle",
        "node",
        "strict",
        "style",
        "subgraph",
    ]
)


@attrs.frozen
class Node:
    """An executor, a join, or the run itself.

    Args:
        name: what links call it; letters, digits and underscores, unique in the picture.
        label: what is written on it.
        kind: how it is drawn.
    """

    name: str
    label: str
    kind: NodeKind


@attrs.frozen
class Link:
    """A way for messages.

    Args:
        source: the name of a node.
        target: the name of a node.
        label: what is written at it, if anything.
        is_conditional: whether the message decides if it goes this way.
    """

    source: str
    target: str
    label: str | None = None
    is_conditional: bool = False


@attrs.frozen
class Drawing:
    """A workflow, as nodes and links, with the workflows nested in it.

    Args:
        name: what a nested one is called; unique in the picture.
        label: what is written above a nested one.
        nodes: in order of declaration; the first one isn't always the start.
        links: in order of declaration.
        nested: the workflows that executors of this one run.
    """

    name: str
    label: str
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    nested: tuple[Drawing, ...] = ()


class Names:
    """Makes names that every grammar takes, each once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._tried: Counter[str] = Counter()

    def new(self, text: str) -> str:
        """Return a name that looks like *text*; with a number behind it if that is taken."""
        base = name = _plain(text)
        while name in self._taken:
            # Counted per base: thousands of ids may look alike once they are plain.
            self._tried[base] += 1
            name = f"{base}_{self._tried[base] + 1}"
        self._taken.add(name)
        return name


def _plain(text: str) -> str:
    name = _NO_NAME_CHARACTER.sub("_", text)
    is_fine = name[:1].isalpha() and name.lower() not in _RESERVED
    return name if is_fine else f"n_{name}"


def clean(text: str) -> str:
    """Return *text* without what no picture can show: control characters, half surrogates."""
    return "".join(_shown(character) for character in text.replace("\r\n", "\n"))


def _shown(character: str) -> str:
    if character.isprintable() or character == "\n":
        return character
    return " " if character.isspace() else "\N{REPLACEMENT CHARACTER}"


def draw(workflow: Workflow, *, include_internal_executors: bool = False) -> Drawing:
    """Return what a picture of *workflow* shows.

    Args:
        workflow: what is drawn.
        include_internal_executors: whether to show the run itself, which sends the input.
    """
    return _Drawer(Names(), include_internal_executors).drawing(workflow, "", ())


@attrs.frozen
class _Drawer:
    """Draws a workflow and those in it; the names are common to them all."""

    names: Names
    shows_run: bool

    def drawing(
        self, workflow: Workflow, prefix: str, above: tuple[Workflow, ...], name: str = ""
    ) -> Drawing:
        graph = workflow.graph
        known = {each: self.names.new(f"{prefix}{each}") for each in graph.executors}
        nodes = [Node(known[each], each, _kind(graph, each)) for each in graph.executors]
        links: list[Link] = []
        if self.shows_run:
            self._add_run(graph.start_id, prefix, known, nodes, links)
        for group in graph.edge_groups:
            if isinstance(group, FanInEdgeGroup):
                self._add_join(group, prefix, known, nodes, links)
            else:
                links += [_link(known, way) for way in ways(group)]
        nested = self._nested(graph, prefix, known, links, (*above, workflow))
        return Drawing(name, workflow.name, tuple(nodes), tuple(links), nested)

    def _add_run(
        self, start: str, prefix: str, known: dict[str, str], nodes: list[Node], links: list[Link]
    ) -> None:
        name = self.names.new(f"{prefix}{INTERNAL_SOURCE_ID(start)}")
        nodes.append(Node(name, _RUN_LABEL, "run"))
        links.append(Link(name, known[start], "input"))

    def _add_join(
        self,
        group: FanInEdgeGroup,
        prefix: str,
        known: dict[str, str],
        nodes: list[Node],
        links: list[Link],
    ) -> None:
        (target,) = group.target_executor_ids
        sources = group.source_executor_ids
        name = self.names.new(f"{prefix}fan_in__{target}__{_digest(target, sources)}")
        nodes.append(Node(name, JOIN_LABEL, "join"))
        links += [Link(known[source], name) for source in sources]
        links.append(Link(name, known[target]))

    def _nested(
        self,
        graph: Graph,
        prefix: str,
        known: dict[str, str],
        links: list[Link],
        above: tuple[Workflow, ...],
    ) -> tuple[Drawing, ...]:
        found: list[Drawing] = []
        for each, executor in graph.executors.items():
            inner = workflow_of(executor)
            if inner is None or inner in above:
                continue
            # The frame needs a name apart from the node of the executor that runs it.
            frame = self.names.new(f"{prefix}{each}__workflow")
            drawing = self.drawing(inner, f"{prefix}{each}__", above, frame)
            start = next(node for node in drawing.nodes if node.kind == "start")
            links.append(Link(known[each], start.name, "runs"))
            found.append(drawing)
        return tuple(found)


def workflow_of(executor: Executor) -> Workflow | None:
    """Return the workflow that an executor runs, itself or as the agent in it."""
    for holder in (executor, getattr(executor, "agent", None)):
        inner = getattr(holder, "workflow", None)
        if isinstance(inner, Workflow):
            return inner
    return None


def _kind(graph: Graph, executor_id: str) -> NodeKind:
    return "start" if executor_id == graph.start_id else "executor"


def _digest(target: str, sources: list[str]) -> str:
    # Of the ends only: the same join is called the same in every process and every version.
    ends = json.dumps([target, *sorted(sources)])
    return hashlib.sha256(ends.encode("ascii")).hexdigest()[:8]


def _link(known: dict[str, str], way: Way) -> Link:
    source, target, label = way
    return Link(known[source], known[target], label, is_conditional=label is not None)


def ways(group: EdgeGroup) -> list[Way]:
    """Return where the messages of a group may go, with the words for what decides it.

    Args:
        group: any but a join.
    """
    if isinstance(group, SwitchCaseEdgeGroup):
        return _switch_ways(group)
    if isinstance(group, FanOutEdgeGroup) and group.selection_func is not None:
        label = _with_name("selected", " by ", group.selection_func)
        return [(edge.source_id, edge.target_id, label) for edge in group.edges]
    return [
        (edge.source_id, edge.target_id, edge.condition and _words_for(edge.condition))
        for edge in group.edges
    ]


def _switch_ways(group: SwitchCaseEdgeGroup) -> list[Way]:
    (source,) = group.source_executor_ids
    found: list[Way] = []
    for number, case in enumerate(group.cases, 1):
        if isinstance(case, SwitchCaseEdgeGroupDefault):
            label = "default"
        else:
            label = _with_name(f"case {number}", ": ", case.condition)
        found.append((source, case.target_id, label))
    return found


def _words_for(condition: Callable[..., Any]) -> str:
    return _name(condition) or "conditional"


def _with_name(words: str, between: str, function: Callable[..., Any]) -> str:
    name = _name(function)
    return f"{words}{between}{name}" if name else words


def _name(function: Callable[..., Any]) -> str | None:
    # That it is a lambda tells the reader nothing.
    name = name_of(function)
    return None if name == "<lambda>" else name
