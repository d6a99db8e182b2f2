"""Edges of a workflow's graph: who may send to whom, and on which conditions.

An edge group is what one call of the builder adds. Its id is made of its ends, so that the same
graph has the same ids in every process.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeAlias

import attrs

from actors.workflows._graph._joins import JoinPolicy, Quorum, check_policy
from actors.workflows._graph._maps import Map

Condition: TypeAlias = Callable[[Any], bool | Awaitable[bool]]
EdgeCondition = Condition
"""The name in Microsoft Agent Framework."""
Selector: TypeAlias = Callable[[Any, list[str]], list[str] | Awaitable[list[str]]]


def INTERNAL_SOURCE_ID(executor_id: str) -> str:  # noqa: N802 (MAF's name)
    """Return the source that an executor's input and answers come from: the run itself."""
    return f"internal:{executor_id}"


def name_of(function: Callable[..., Any] | None) -> str | None:
    """Return how descriptions of the graph call a condition or selector."""
    if function is None:
        return None
    return getattr(function, "__name__", type(function).__name__)


def _filled(_: object, attribute: attrs.Attribute[str], value: str) -> None:
    if not value:
        raise ValueError(f"{attribute.name} of an edge must not be empty")


def _in_order(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    return tuple(edges)


@attrs.frozen
class Edge:
    """One way from an executor to another.

    Args:
        source_id: the sender.
        target_id: the receiver.
        condition: gets the message; a falsy answer keeps it from going this way. It may be
            async.
    """

    ID_SEPARATOR: ClassVar[str] = "->"

    source_id: str = attrs.field(validator=_filled)
    target_id: str = attrs.field(validator=_filled)
    condition: Condition | None = None

    @property
    def id(self) -> str:
        """``source->target``."""
        return f"{self.source_id}{self.ID_SEPARATOR}{self.target_id}"

    @property
    def condition_name(self) -> str | None:
        """How descriptions call the condition; None without one."""
        return name_of(self.condition)

    async def should_route(self, data: object) -> bool:
        """Say whether the condition lets *data* pass."""
        if self.condition is None:
            return True  # noqa: ASYNC910 (nobody to ask)
        answer = self.condition(data)
        if inspect.isawaitable(answer):
            return bool(await answer)
        return bool(answer)  # noqa: ASYNC910 (there was nothing to wait for)

    def to_dict(self) -> dict[str, Any]:
        """Return ends and name of the condition."""
        named = {} if self.condition is None else {"condition_name": self.condition_name}
        return {"source_id": self.source_id, "target_id": self.target_id, **named}


@attrs.frozen(eq=False, kw_only=True)
class EdgeGroup:
    """Edges that were added together and decide together.

    Args:
        edges: in order of declaration.
        id: made of kind and ends if not given.
    """

    edges: tuple[Edge, ...] = attrs.field(converter=_in_order)
    id: str = ""

    def __attrs_post_init__(self) -> None:
        if not self.id:
            sources, targets = (
                ",".join(self.source_executor_ids),
                ",".join(self.target_executor_ids),
            )
            object.__setattr__(self, "id", f"{self.type}/{sources}{Edge.ID_SEPARATOR}{targets}")

    @property
    def type(self) -> str:
        """The kind of group: the name of its class."""
        return type(self).__name__

    @property
    def source_executor_ids(self) -> list[str]:
        """Who sends, in order of declaration."""
        return list(dict.fromkeys(edge.source_id for edge in self.edges))

    @property
    def target_executor_ids(self) -> list[str]:
        """Who receives, in order of declaration."""
        return list(dict.fromkeys(edge.target_id for edge in self.edges))

    @property
    def is_conditional(self) -> bool:
        """Whether the message decides who gets it."""
        return any(edge.condition is not None for edge in self.edges)

    def to_dict(self) -> dict[str, Any]:
        """Return kind, id and edges."""
        return {"id": self.id, "type": self.type, "edges": [edge.to_dict() for edge in self.edges]}


@attrs.frozen(eq=False, init=False)
class SingleEdgeGroup(EdgeGroup):
    """One edge.

    Args:
        source_id: the sender.
        target_id: the receiver.
        condition: gets the message; a falsy answer keeps it from going this way.
        id: made of kind and ends if not given.
    """

    def __init__(
        self,
        source_id: str,
        target_id: str,
        condition: Condition | None = None,
        *,
        id: str = "",  # noqa: A002 (the name of the field)
    ) -> None:
        self.__attrs_init__(edges=(Edge(source_id, target_id, condition),), id=id)


@attrs.frozen(eq=False, init=False)
class FanOutEdgeGroup(EdgeGroup):
    """From one executor to several at once, or to those that a selector picks.

    Args:
        source_id: the sender.
        target_ids: the receivers, two or more.
        selection_func: gets the message and all target ids and returns those it goes to. It
            may be async.
        id: made of kind and ends if not given.

    Raises:
        ValueError: there are fewer than two targets.
    """

    selection_func: Selector | None = None

    def __init__(
        self,
        source_id: str,
        target_ids: Sequence[str],
        selection_func: Selector | None = None,
        *,
        id: str = "",  # noqa: A002 (the name of the field)
    ) -> None:
        require_two("fan-out", "targets", target_ids)
        edges = tuple(Edge(source_id, target_id) for target_id in target_ids)
        self.__attrs_init__(edges=edges, id=id, selection_func=selection_func)

    @property
    def is_conditional(self) -> bool:
        """Whether the message decides who gets it."""
        return self.selection_func is not None

    def to_dict(self) -> dict[str, Any]:
        """Return kind, id, edges and the name of the selector."""
        return {**super().to_dict(), "selection_func_name": name_of(self.selection_func)}


@attrs.frozen(eq=False, init=False)
class FanInEdgeGroup(EdgeGroup):
    """A join: the target gets one list with an item of every source, once all have sent one.

    Args:
        source_ids: the senders, two or more; the list is in this order.
        target_id: the receiver.
        join: when it fires, if not when all sources have sent an item.
        id: made of kind and ends if not given.

    Raises:
        ValueError: there are fewer than two sources, or *join* is no policy for them.
    """

    join: JoinPolicy = "all"

    def __init__(
        self,
        source_ids: Sequence[str],
        target_id: str,
        join: JoinPolicy = "all",
        *,
        id: str = "",  # noqa: A002 (the name of the field)
    ) -> None:
        require_two("fan-in", "sources", source_ids)
        check_policy(join, source_ids, target_id)
        edges = tuple(Edge(source_id, target_id) for source_id in source_ids)
        self.__attrs_init__(edges=edges, id=id, join=join)

    def to_dict(self) -> dict[str, Any]:
        """Return kind, id, edges and, if it isn't ``all``, the policy."""
        if self.join == "all":
            return super().to_dict()
        policy = f"quorum({self.join.n})" if isinstance(self.join, Quorum) else self.join
        return {**super().to_dict(), "join": policy}


@attrs.frozen(eq=False, init=False)
class MapEdgeGroup(EdgeGroup):
    """A fan-out over a list that is known only at run time, and the way back into one list.

    Args:
        source_id: who sends lists.
        worker_id: who gets their items, each in a turn of its own.
        target_id: who gets the list of what came of the items, in their order.
        last_id: whose messages are what comes of an item; the worker's own if not given.
        id: made of kind and ends if not given.
    """

    last_id: str = ""

    def __init__(
        self,
        source_id: str,
        worker_id: str,
        target_id: str,
        *,
        last_id: str | None = None,
        id: str = "",  # noqa: A002 (the name of the field)
    ) -> None:
        last_id = last_id or worker_id
        edges = Edge(source_id, worker_id), Edge(last_id, target_id)
        self.__attrs_init__(edges=edges, id=id, last_id=last_id)

    @property
    def as_map(self) -> Map:
        """What it does."""
        out, back = self.edges
        return Map(out.source_id, out.target_id, back.source_id, back.target_id)


def require_two(kind: str, what: str, given: Sequence[object]) -> None:
    """Refuse a group that would decide nothing.

    Raises:
        ValueError: there are fewer than two ends.
    """
    if len(given) < 2:  # noqa: PLR2004 (the word "several" begins there)
        raise ValueError(
            f"a {kind} needs at least two {what} and got {len(given)}; "
            "for a single way use add_edge"
        )
