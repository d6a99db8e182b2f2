"""Who gets a message: edges, conditions, selectors and joins, asked in a fixed order.

For each edge: is it the wanted target, does the target take such a message, does the condition
let it pass. A condition is asked once per message, and only where the answer matters: never for
a message that is addressed elsewhere or that nobody behind it could take.

Conditions may be async. They are awaited here, in the turn of the sender, so that the conductor
never has to; where there are none, ``static_targets`` answers without any await.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from actors.workflows._graph._edges import Condition, Edge, EdgeGroup, FanOutEdgeGroup
from actors.workflows._graph._switch import SwitchCaseEdgeGroup, SwitchCaseEdgeGroupDefault
from protocols._errors import EdgeConditionError, EdgeSelectionError, described, message_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from actors.workflows._graph._definition import Graph


def static_targets(
    graph: Graph, source_id: str, message: object, target_id: str | None = None
) -> tuple[str, ...]:
    """Return who gets a message of a sender whose routes have no conditions.

    Args:
        graph: where it all stands.
        source_id: the sender; its routes are static, or it has none.
        message: what is sent.
        target_id: the only executor that it is meant for.

    Returns:
        The targets in order of declaration, joins not among them; () if nobody gets it.
    """
    routes = graph.routes.get(source_id)
    if routes is None:
        return ()
    assert routes.is_static, f"{source_id!r} has conditions; await choose_targets(...)"
    wanted, accepts = routes.static, graph.accepts
    if target_id is not None:
        wanted = (target_id,) if target_id in wanted else ()
    if not wanted:  # of a join, mostly
        return ()
    if len(wanted) == 1:  # a chain, the commonest of all graphs
        return wanted if accepts[wanted[0]](message) else ()
    return tuple([target for target in wanted if accepts[target](message)])


async def choose_targets(
    graph: Graph, source_id: str, message: object, target_id: str | None = None
) -> tuple[str, ...]:
    """Return who gets a message; conditions and selectors are asked, once each.

    Args:
        graph: where it all stands.
        source_id: the sender.
        message: what is sent.
        target_id: the only executor that it is meant for.

    Returns:
        The targets in order of declaration, joins not among them; () if nobody gets it.

    Raises:
        EdgeConditionError: a condition or selector raised, or selected what it can't.
    """
    routes = graph.routes.get(source_id)
    if routes is None:
        return ()  # noqa: ASYNC910 (nobody to ask)
    chosen: list[str] = []
    for group, targets in routes.targets:
        able = [
            target
            for target in targets
            if (target_id is None or target == target_id) and graph.accepts[target](message)
        ]
        if able and group.is_conditional:
            wanted = await _wanted(group, message, able)
            able = [target for target in able if target in wanted]
        chosen += able
    return tuple(chosen)  # noqa: ASYNC910 (conditions that don't wait cost no checkpoint)


def accepting_joins(
    graph: Graph, source_id: str, message: object, target_id: str | None = None
) -> tuple[int, ...]:
    """Return the joins that a message is offered to, as indexes into ``graph.joins``.

    A join takes a message only if its target can take a list with it.
    """
    routes = graph.routes.get(source_id)
    if routes is None or not routes.joins:
        return ()
    joins, accepts, indexes = graph.joins, graph.accepts, routes.joins
    if len(indexes) == 1 and target_id is None:  # as nearly always
        return indexes if accepts[joins[indexes[0]].target]([message]) else ()
    return tuple(
        [
            index
            for index in indexes
            if (target_id is None or joins[index].target == target_id)
            and accepts[joins[index].target]([message])
        ]
    )


def accepting_maps(
    graph: Graph, source_id: str, message: object, target_id: str | None = None
) -> tuple[int, ...]:
    """Return the maps that take a message apart, as indexes into ``graph.maps``.

    A map takes a list only if its worker takes every item.
    """
    routes = graph.routes.get(source_id)
    if routes is None or not isinstance(message, list | tuple):
        return ()
    maps = graph.maps
    return tuple(
        [
            index
            for index in routes.maps
            if (target_id is None or maps[index].worker == target_id)
            and all(map(graph.accepts[maps[index].worker], message))
        ]
    )


def accepting_results(
    graph: Graph, source_id: str, message: object, target_id: str | None = None
) -> tuple[int, ...]:
    """Return the maps that a message may be a result of, as indexes into ``graph.maps``.

    A map takes a result only if its target can take a list with it.
    """
    routes = graph.routes.get(source_id)
    if routes is None:
        return ()
    maps = graph.maps
    return tuple(
        [
            index
            for index in routes.results
            if (target_id is None or maps[index].target == target_id)
            and graph.accepts[maps[index].target]([message])
        ]
    )


async def _wanted(group: EdgeGroup, message: object, able: list[str]) -> Collection[str]:
    match group:
        case SwitchCaseEdgeGroup():
            return await _first_case(group, message)
        case FanOutEdgeGroup(selection_func=selector) if selector is not None:
            return await _selected(group, selector, message)
        case _:
            return await _let_pass(group, message, able)


async def _let_pass(group: EdgeGroup, message: object, able: list[str]) -> list[str]:
    # A loop of one step, nearly always: only a group of somebody's own has several edges here.
    return [  # noqa: ASYNC910 (as above)
        edge.target_id
        for edge in group.edges
        if edge.target_id in able and await _says_yes(edge.condition, message, edge.id)
    ]


async def _first_case(group: SwitchCaseEdgeGroup, message: object) -> list[str]:
    source = group.source_executor_ids[0]
    for case in group.cases:
        edge_id = f"{source}{Edge.ID_SEPARATOR}{case.target_id}"
        if isinstance(case, SwitchCaseEdgeGroupDefault) or await _says_yes(
            case.condition, message, edge_id
        ):
            return [case.target_id]  # noqa: ASYNC910 (as above)
    raise AssertionError("a switch has a default")  # pragma: no cover


async def _says_yes(condition: Condition | None, message: object, edge_id: str) -> bool:
    if condition is None:
        return True  # noqa: ASYNC910 (nobody to ask)
    what = f"the condition of edge {edge_id!r}"
    answer = await _asked(condition, what, edge_id, message)
    try:
        return bool(answer)
    except Exception as error:
        raise EdgeConditionError(
            f"{what} gave a {type(answer).__name__}, which is neither true nor false "
            f"({message_of(error)}). "
            "Make it return a bool",
            edge_id=edge_id,
            inner_exception=error,
        ) from error


async def _selected(group: EdgeGroup, selector: Any, message: object) -> Collection[str]:
    targets = group.target_executor_ids
    what = f"the selection_func of {group.id!r}"
    picked = await _asked(selector, what, group.id, message, targets)
    if isinstance(picked, str | bytes) or not isinstance(picked, Iterable):
        raise EdgeSelectionError(
            f"{what} returned {picked!r}; it must return a list of ids, some of "
            f"{group.target_executor_ids}",
            edge_id=group.id,
        )
    known = group.target_executor_ids
    ids = list(picked)
    if strange := [each for each in ids if each not in known]:
        raise EdgeSelectionError(
            f"{what} picked {', '.join(map(repr, strange))}, which is no target of it; it may pick "
            f"among {known}",
            edge_id=group.id,
        )
    return ids


async def _asked(
    function: Callable[..., Any | Awaitable[Any]], what: str, edge_id: str, *args: object
) -> Any:
    try:
        answer = function(*args)
        # The plain answers of nearly all conditions need no closer look.
        if answer is True or answer is False or not inspect.isawaitable(answer):
            return answer  # noqa: ASYNC910 (there was nothing to wait for)
        return await answer
    except Exception as error:
        raise EdgeConditionError(
            f"{what} raised {described(error)}. Make it answer for every message "
            "that the edge can see, or check the message's type in it first",
            edge_id=edge_id,
            inner_exception=error,
        ) from error
