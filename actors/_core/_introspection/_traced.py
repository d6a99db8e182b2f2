# An actor takes part in a trace; it never begins one. So a message that is sent outside of any
# span costs its turn nothing but a look, and a million messages a second don't become a million
# spans because somebody wanted to see his calls of models.
#
# A request's turn is a part of what the asker does, so its span is a child of the asker's. Who
# tells goes on, and is over before the turn is, perhaps; so that turn's span stands under
# whatever the actor was spawned in, and is linked to the sender's.
#
# All this is in classes of its own, as limits of time are: a system that is opened while nobody
# listens has none of them, and neither a tell nor a turn so much as looks whether anybody does.
"""Actors whose messages carry the span that they were sent in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.context import get_current
from opentelemetry.trace import get_current_span
from trio.lowlevel import enable_ki_protection

from actors._core._cell import Cell
from actors._core._context import MESSAGE
from actors._core._later._ticks import Tick
from actors._core._later._timed import TimedCell
from actors._core._mailbox import Envelope
from actors._core._ref import ActorRef
from actors._core._reply import Request
from actors.observability._names import OtelAttr
from actors.observability._operations import Operation, is_traced

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from opentelemetry.context import Context

    from actors._core._reasons import ExitReason
    from actors._core._turns._dispatch import Worker


class TracedRef(ActorRef[Any]):
    """The address of a traced actor: its mailbox has no fast way in."""

    __slots__ = ()

    @enable_ki_protection
    def tell_nowait(self, message: Any) -> None:
        """See `ActorRef.tell_nowait`."""
        self._cell.post(message, message)


class Traced(Cell):
    """What a traced actor adds to an actor; a mixin, before the class that it adds that to."""

    if not TYPE_CHECKING:  # the slot is its subclasses', or two of these could not be bases
        __slots__ = ()

    span: Operation | None

    def __init__(self, *args: Any) -> None:
        self.span = None
        super().__init__(*args)
        self.ref = TracedRef()
        self.ref._cell = self  # noqa: SLF001  (as its base does)

    # ------------------------------------------------------------------ sending

    def post(self, item: Any, message: Any, may_wait: bool = False) -> bool:
        """Accept *item*, with the span that it is sent in."""
        return super().post(self.stamped(item), message, may_wait)

    def stamped(self, item: Any) -> Any:
        """Return *item* in an envelope that says in what span it was sent, if in any."""
        # A tick is sent by a clock, in whatever context that is wound up in.
        if type(item) is Tick or not get_current_span().get_span_context().is_valid:
            return item
        envelope = item if isinstance(item, Envelope) else Envelope(item)
        envelope.origin = get_current()
        return envelope

    # ------------------------------------------------------------------ turns

    def begin(self, worker: Worker) -> Coroutine[Any, Any, Any] | None:
        """Start the next turn, and its span."""
        turn, ctx = super().begin(worker), self.ctx
        if turn is not None and ctx is not None and ctx.kind == MESSAGE and self.span is None:
            origin = getattr(ctx.item, "origin", None)
            if origin is not None and is_traced():
                self.span = self._begin_span(ctx.item, origin)
        return turn

    def _begin_span(self, envelope: Envelope, origin: Context) -> Operation:
        is_asked = type(envelope) is Request
        kind = type(self.actor).__name__
        span = self.context.run(
            Operation,
            f"{OtelAttr.ACTOR_PROCESS_SPAN} {kind}",
            {
                OtelAttr.ACTOR_NAME: self.name,
                OtelAttr.ACTOR_TYPE: kind,
                OtelAttr.MESSAGE_TYPE: "ask" if is_asked else "tell",
                OtelAttr.MESSAGE_PAYLOAD_TYPE: type(envelope.message).__name__,
            },
            kind="SERVER" if is_asked else "CONSUMER",
            links=() if is_asked else (get_current_span(origin).get_span_context(),),
            context=origin if is_asked else None,
        )
        self.context.run(span.enter)
        return span

    def _end_span(self, error: BaseException | None = None) -> None:
        span, self.span = self.span, None
        if span is not None:
            if isinstance(error, Exception):
                span.fail(error)
            span.end()

    def done(self) -> bool:
        """Commit; the span is over."""
        self._end_span()
        return super().done()

    def not_done(self, error: BaseException | None) -> bool:
        """Commit nothing; the span says why."""
        fault = None if self.kin is None else self.kin.fault
        self._end_span(error if fault is None else fault)
        return super().not_done(error)

    def terminate(self, reason: ExitReason) -> None:
        """End for good, and leave no span open."""
        self._end_span()
        super().terminate(reason)


class TracedCell(Traced):
    """An actor whose messages carry spans."""

    __slots__ = ("span",)


class TracedTimedCell(Traced, TimedCell):
    """The same, with limits of time."""

    __slots__ = ("span",)
