# Who gets what: a mapping goes to all executors, unless one of its keys names an executor (by
# its id, or by the name of its agent); then each entry goes to the executor that it names. With
# `WorkflowInvocationKwargs` there is both, and what is for one executor goes before what is for
# all. Inside of a workflow's executor the same question is asked again, with the names there.
#
# Such values hold secrets. They are handed to turns and nowhere else: not into events, nor
# checkpoints, nor a repr.
"""What the caller of ``run`` gives for tools and clients of agents, by executor."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from actors.workflows._graph._definition import Graph

_log: Final = logging.getLogger(__name__)


@attrs.frozen(repr=False)
class WorkflowInvocationKwargs:
    """What is for all executors of a run, and what is for single ones.

    Args:
        global_kwargs: for all of them.
        executor_kwargs: by id of an executor, or name of its agent; goes before the other.
    """

    global_kwargs: Mapping[str, Any] = attrs.field(factory=dict)
    executor_kwargs: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)


Kwargs: TypeAlias = Mapping[str, Any] | WorkflowInvocationKwargs


@attrs.frozen(repr=False)
class _Given:
    """One of the two kinds, for the executors of one graph.

    Args:
        shared: for all of them; None for nothing.
        own: by executor id.
        entries: by name, as given, for the graphs inside.
    """

    shared: Mapping[str, Any] | None = None
    own: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    entries: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)

    def of(self, executor_id: str) -> Mapping[str, Any] | None:
        own = self.own.get(executor_id)
        if own is None or not self.shared:
            return self.shared if own is None else own
        return {**self.shared, **own}

    def inside(self, executor_id: str, graph: Graph) -> _Given:
        entries = _resolved(self.entries, graph)
        base = self.of(executor_id)
        if base is None:
            return _Given(None, entries, self.entries)
        found = _given(base, graph)
        return _Given(found.shared, {**found.own, **entries}, {**found.entries, **self.entries})


_NOTHING: Final = _Given()


@attrs.frozen(repr=False)
class RunKwargs:
    """``function_invocation_kwargs`` and ``client_kwargs`` for the executors of one graph.

    Args:
        functions: the first.
        client: the second.
        tools: for all agents of the run, inside too, as given; None for none.
    """

    functions: _Given = _NOTHING
    client: _Given = _NOTHING
    tools: tuple[Any, ...] | None = None

    @classmethod
    def given(
        cls, graph: Graph, functions: Kwargs | None, client: Kwargs | None, tools: Any = None
    ) -> RunKwargs:
        """Sort what the caller of a run has given.

        Raises:
            TypeError: it is no mapping.
            ValueError: a name is that of several agents.
        """
        return RunKwargs().replaced(graph, functions, client, tools)

    def replaced(
        self, graph: Graph, functions: Kwargs | None, client: Kwargs | None, tools: Any = None
    ) -> RunKwargs:
        """Return these, with what is given anew in its place; {} or [] leaves nothing."""
        if functions is client is tools is None:
            return self
        return RunKwargs(
            self.functions if functions is None else _checked(functions, graph),
            self.client if client is None else _checked(client, graph),
            self.tools if tools is None else _each(tools),
        )

    def of(self, executor_id: str) -> tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]:
        """Return what an executor gets of each, or None."""
        if self.functions is self.client is _NOTHING:  # as nearly always
            return None, None
        return self.functions.of(executor_id), self.client.of(executor_id)

    def inside(self, executor_id: str, graph: Graph) -> RunKwargs:
        """Return what the executors of the *graph* inside of an executor get."""
        if self.functions is self.client is _NOTHING:
            return self
        return RunKwargs(
            self.functions.inside(executor_id, graph),
            self.client.inside(executor_id, graph),
            self.tools,
        )


def _each(tools: Any) -> tuple[Any, ...]:
    """Return several tools, or the only one, as they are given."""
    return tuple(tools) if isinstance(tools, Sequence) else (tools,)


def _checked(given: Kwargs, graph: Graph) -> _Given:
    """Sort what is given for a whole run; what names nobody is a mistake that is told of."""
    found = _given(given, graph)
    known = set(_all_names(graph))
    for name in found.entries.keys() - known:
        _log.warning(
            "kwargs for %r reach nobody: no executor of the workflow has that id, nor an agent "
            "of that name",
            name,
        )
    return found


def _given(given: Kwargs, graph: Graph) -> _Given:
    if isinstance(given, WorkflowInvocationKwargs):
        entries = _only_mappings(given.executor_kwargs)
        return _Given(given.global_kwargs, _resolved(entries, graph), entries)
    if not isinstance(given, Mapping):
        raise TypeError(
            f"kwargs of a run are a mapping or WorkflowInvocationKwargs, not a "
            f"{type(given).__name__}"
        )
    if any(name in given for name in _names(graph)):
        entries = _only_mappings(given)
        return _Given(None, _resolved(entries, graph), entries)
    return _Given(given)


def _only_mappings(given: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    for name, entry in given.items():
        if not isinstance(entry, Mapping):
            # Its value stays out of the log: it may be a secret that was meant for everybody.
            _log.warning(
                "kwargs for %r are ignored: they are a %s and no mapping",
                name,
                type(entry).__name__,
            )
    return {name: entry for name, entry in given.items() if isinstance(entry, Mapping)}


def _resolved(
    entries: Mapping[str, Mapping[str, Any]], graph: Graph
) -> dict[str, Mapping[str, Any]]:
    """Return the entries by executor id; an id goes before the name of an agent."""
    found: dict[str, Mapping[str, Any]] = {}
    for name, entry in entries.items():
        ids = [name] if name in graph.executors else _named(graph, name)
        if len(ids) > 1:
            raise ValueError(
                f"kwargs for {name!r} could be for any of the executors "
                f"{', '.join(map(repr, ids))}, whose agents have that name; use an executor's id"
            )
        found.update(dict.fromkeys(ids, entry))
    return found


def _named(graph: Graph, name: str) -> list[str]:
    return [key for key, each in graph.executors.items() if _agent_name(each) == name]


def _names(graph: Graph) -> Iterator[str]:
    for key, each in graph.executors.items():
        yield key
        agent_name = _agent_name(each)
        if agent_name is not None:
            yield agent_name


def _all_names(graph: Graph) -> Iterator[str]:
    yield from _names(graph)
    for each in graph.executors.values():
        inner = getattr(getattr(each, "workflow", None), "graph", None)
        if inner is not None:
            yield from _all_names(inner)


def _agent_name(executor: Any) -> str | None:
    name = getattr(getattr(executor, "agent", None), "name", None)
    return name if isinstance(name, str) else None
