"""The conductor of a workflow inside of a run; see `_children` for how it all goes together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actors.workflows._running._cell import ExecutorCell
from actors.workflows._running._conductor import NO_MORE, Conductor
from actors.workflows._running._outside import close_requests

if TYPE_CHECKING:
    from collections.abc import Iterable

    from actors.workflows._nested._undo import Before
    from actors.workflows._running._context import TurnContext
    from actors.workflows._running._deliveries import Effects, News, Request


class NestedConductor(Conductor):
    """A child at work: its rounds are taken inside of a turn of its host.

    Args:
        parent: the conductor of the graph that its host is in.
        key: which child of that conductor.
        host: the executor whose workflow it is.
    """

    def __init__(self, parent: Conductor, key: int, host: Any) -> None:
        self.parent = parent
        self.key = key
        self.host = host
        self._failure: Exception | None = None
        self._has_asked = False
        # What executors kept before this child came to them; None if nobody goes on when it fails.
        self.touched = {} if _may_be_undone(parent, host) else None
        child = parent.carry.children[key]
        graph, settings = host.workflow.graph, host.workflow.settings
        path = (*(parent.path or ()), host.id)
        super().__init__(parent.run, graph, settings, child.carry, path)
        if parent.max_in_flight == NO_MORE:
            self.max_in_flight = NO_MORE
        self.kwargs = parent.kwargs.inside(host.id, graph)
        self.wants_whole = parent.wants_whole or not host.allow_direct_output
        self._outputs = child.outputs
        if self.tracing is not None:
            self.tracing.begin_inside(self)

    touched: dict[int, Before] | None

    def shown_as(self, kind: str | None) -> str | None:
        """Return what listeners are shown as, that counts as *kind* in this graph.

        What becomes a message outside is no output of the run: whoever reads outputs only would
        take it for one.
        """
        if kind == "output" and self.host.allow_direct_output:
            return self.parent.shown_as(self.parent.graph.designations.get(self.host.id))
        if kind == "output":
            return "inner_output"
        return kind

    def apply(self, effects: Effects, news: News) -> None:
        """Make a committed turn count; its outputs are part of the state, for the host."""
        super().apply(effects, news)
        kind = self.graph.designations.get(effects.source)
        self._outputs.extend((kind, each) for each in effects.outputs)
        if effects.rare is not None and effects.rare.taken is not None:
            found = effects.rare.taken.intermediates
            self._outputs.extend(("intermediate", each) for each in found)

    def release(self) -> None:
        """Break the cycles; the run may have ended before its host was told of anything."""
        if self.tracing is not None:
            self.tracing.end_inside()
        super().release()

    def keep_outputs(self, effects: Effects) -> None:
        """Outputs are no part of the result before the host has taken them."""

    # ------------------------------------------------------------------ turns

    def commit(self, ctx: TurnContext) -> None:
        """Apply a turn, and have the host ask on what it asked."""
        super().commit(ctx)
        if self._has_asked and not self.is_over:
            self._has_asked = False
            self.parent.children.asked(self.key)

    def withdraw(self, names: Iterable[str]) -> None:
        """Close requests of a workflow inside, here and wherever they were asked on."""
        closed = self.requests.keys() & set(names)
        asked = self.parent.carry.children[self.key].asked
        outer = [name for name, inner in asked.items() if inner in closed]
        for name in outer:
            del asked[name]
        close_requests(self, closed)
        self.parent.withdraw(outer)

    def tell_requests(self, requests: Iterable[Request], news: News) -> None:  # noqa: ARG002
        """It is the host who tells of what is asked."""
        self._has_asked = self.host.propagate_request

    def went_idle(self) -> None:
        """Hand over to the host."""
        if self.is_over:
            return
        self.has_ended = True
        self.finish()
        if self.tracing is not None:
            self.tracing.end_inside()
        self.parent.children.went_idle(self)

    # ---------------------------------------------------------------- failing

    def fail(self, error: BaseException) -> None:
        """End everything inside; then the host's turn fails with *error*."""
        if not isinstance(error, Exception):
            self.run.fail(error)
        if self.is_over:
            return
        self._failure = error if isinstance(error, Exception) else None
        self.stop()
        self._say_if_all_has_ended()

    def stop(self) -> None:
        """Start no more turns, and cancel those that are in progress."""
        self.has_ended = True
        if self.tracing is not None:
            self.tracing.end_inside(self._failure)
        for worker in self.dispatcher.workers.values():
            cell = worker.cell
            if isinstance(cell, ExecutorCell) and cell.conductor is self and cell.ctx is not None:
                worker.interrupt()
        self.children.stop()

    def not_committed(self, ctx: TurnContext, error: BaseException | None) -> bool:
        """A turn raised, or was interrupted (None). False: its cell waits for a timer."""
        is_ready = super().not_committed(ctx, error)
        if self.has_ended:
            self._say_if_all_has_ended()
        return is_ready

    def _say_if_all_has_ended(self) -> None:
        if not self.is_quiet:
            return
        if self._failure is not None and not self.dispatcher.closed:
            failure, self._failure = self._failure, None
            self.parent.children.failed(self, failure)
        elif isinstance(self.parent, NestedConductor) and self.parent.has_ended:
            self.parent._say_if_all_has_ended()  # noqa: SLF001  (its own kind)


def _may_be_undone(parent: Conductor, host: Any) -> bool:
    """Whether the run may go on after a child of *host* has failed."""
    settings = parent.settings
    supervision = settings.supervision_of(host.id)
    is_retried = supervision is not None and supervision.max_restarts > 0
    return is_retried or host.id in settings.on_error or parent.touched is not None
