"""What a run begins with, and what its continuation goes on with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from actors.workflows._durable._restored import Restored
from actors.workflows._graph._executor import Executor
from actors.workflows._graph._maps import Batch, Scope
from actors.workflows._running._deliveries import Delivery, Request
from actors.workflows._running._kwargs import RunKwargs

if TYPE_CHECKING:
    from actors.workflows._graph._definition import Graph
    from actors.workflows._running._conductor import Conductor

# (target, source, message, the request that it answers)
Beginning: TypeAlias = tuple[str, str, Any, Request | None]


@attrs.define(eq=False)
class Child:
    """A workflow inside of a run: begun by a message to the executor whose workflow it is.

    Attributes:
        host: the id of that executor.
        carry: the state of the workflow inside.
        opened_by: the delivery that it was begun, or gone on with, by.
        outputs: what it has yielded and its host hasn't taken yet, and what that counts as.
        asked: its requests that its host has asked on, by the ids under which it did.
        before: what it was before that delivery; None if it wasn't.
    """

    host: str
    carry: Carry
    opened_by: Delivery
    outputs: list[tuple[str | None, Any]] = attrs.field(factory=list)
    asked: dict[str, str] = attrs.field(factory=dict)
    before: Child | None = None

    def copied(self) -> Child:
        """Return a copy that may change by itself."""
        return attrs.evolve(
            self, carry=self.carry.copied(), outputs=list(self.outputs), asked=dict(self.asked)
        )


@attrs.define(eq=False)
class Carry:
    """The state of a run, or of a workflow inside of one, between its calls of ``run``.

    Attributes:
        shared: what ``set_state`` committed.
        states: the frozen states of executors.
        joins: what waits at joins, by index and source.
        late: what is yet to come too late for joins, by index and source.
        inner: both, at joins about single items of maps, by scope and index.
        batches: lists that maps have taken apart and not put together yet, by number.
        requests: open requests, by id.
        children: the workflows inside that are at work or wait, by the number of the delivery
            that began each.
        executors: the executor objects of this run, where a factory made them.
        kwargs: what the caller gave for agents; no checkpoint and no event gets to see it.
        rounds: completed rounds.
        seq: number of the last delivery.
        beginning: what the next run delivers first.
        restored: what a stored run was in the middle of; None if it is at its beginning.
        position: where its state is stored, if it is.
    """

    shared: dict[str, Any] = attrs.field(factory=dict)
    states: dict[str, Any] = attrs.field(factory=dict)
    joins: dict[int, dict[str, tuple[Any, ...]]] = attrs.field(factory=dict)
    late: dict[int, dict[str, int]] = attrs.field(factory=dict)
    inner: dict[Scope, dict[int, tuple[dict[str, tuple[Any, ...]], dict[str, int]]]] = attrs.field(
        factory=dict
    )
    batches: dict[int, Batch] = attrs.field(factory=dict)
    requests: dict[str, Request] = attrs.field(factory=dict)
    children: dict[int, Child] = attrs.field(factory=dict)
    executors: dict[str, Executor] = attrs.field(factory=dict)
    kwargs: RunKwargs = attrs.field(factory=RunKwargs)
    rounds: int = 0
    seq: int = 0
    beginning: tuple[Beginning, ...] = ()
    restored: Restored | None = None
    position: Any = None

    def executor(self, graph: Graph, executor_id: str) -> Executor:
        """Return the executor object that this run uses."""
        if executor_id not in graph.factories:
            return graph.executors[executor_id]
        if executor_id not in self.executors:
            self.executors[executor_id] = graph.make_executor(executor_id)
        return self.executors[executor_id]

    def renewed(self, graph: Graph, executor_id: str) -> Executor:
        """Return the executor object to try again with: a new one where there is a factory."""
        self.executors.pop(executor_id, None)
        return self.executor(graph, executor_id)

    def update(self, conductor: Conductor) -> None:
        """Take over what was committed in a run that ended well."""
        joins = list(enumerate(conductor.outbox.joins))
        self.states.update({name: cell.state for name, cell in conductor.cells.items()})
        self.joins = {n: buffer.waiting for n, buffer in joins if not buffer.is_empty}
        self.late = {n: buffer.late for n, buffer in joins if buffer.late}
        self.inner = {
            scope: {n: (buffer.waiting, buffer.late) for n, buffer in buffers.items()}
            for scope, buffers in conductor.outbox.inner.items()
        }
        self.rounds = conductor.schedule.number
        self.beginning = ()
        self.restored = None

    def answered(self, beginning: tuple[Beginning, ...], kwargs: RunKwargs) -> Carry:
        """Return a copy to go on with, in which the requests answered are no longer open.

        A copy, because the run that is to go on may fail, and can then be continued again.
        """
        found = self.copied()
        for *_, request in beginning:
            if request is not None:
                del found.requests[request.id]
        return attrs.evolve(found, kwargs=kwargs, beginning=beginning)

    def copied(self) -> Carry:
        """Return a copy that may change by itself; what can't change is shared."""
        return attrs.evolve(
            self,
            shared=dict(self.shared),
            states=dict(self.states),
            batches={number: batch.copy() for number, batch in self.batches.items()},
            requests=dict(self.requests),
            children={key: child.copied() for key, child in self.children.items()},
            executors=dict(self.executors),
        )
