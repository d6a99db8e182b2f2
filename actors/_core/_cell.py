# An actor's mailbox and turns. The dispatcher calls `begin`, `done` and `not_done`; senders call
# `post` and its kin. All of it is synchronous, so a turn commits in one step: the new state takes
# effect, the reply is given and the accounts are kept without anybody able to look in between.
"""One actor: what it was sent, and the turns that handle it."""

from __future__ import annotations

from collections import deque
from threading import get_ident
from typing import TYPE_CHECKING, Any

from actors._core._context import MESSAGE, NOTICE, STARTS, STASHED, STOPS, ActorContext
from actors._core._errors import (
    ActorRestartingError,
    ActorStoppedError,
)
from actors._core._later._letters import Letters
from actors._core._later._ticks import Tick
from actors._core._mailbox import NOTHING, Envelope, Mailbox
from actors._core._phases import (
    CLOSED,
    DRAIN,
    FINISH,
    HOOK,
    NOTICES,
    RUNNING,
    START,
    STOP,
    STOPPED,
    STOPPING,
    UNSTASH,
    URGENT,
    WIND_DOWN,
)
from actors._core._reasons import Finished
from actors._core._reply import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from actors._core._actor import Actor
    from actors._core._turns._dispatch import Worker


class Cell(Letters):
    """One actor of a system."""

    __slots__ = ()

    # ------------------------------------------------------------------ sending

    def box(self) -> Mailbox:
        """Return the mailbox, made for the first message."""
        if self.mailbox is None:
            self.mailbox = Mailbox(self.options.mailbox.capacity)
            self.mailbox.fold()
        return self.mailbox

    def post(  # noqa: C901  (a call for each part would be a tenth of an ask)
        self, item: Any, message: Any, may_wait: bool = False
    ) -> bool:
        """Accept *item*, which carries *message*. False: there is no room, and one may wait.

        Raises:
            ActorStoppedError: if the actor has stopped or is about to.
            MailboxFullError: if there is no room, and one may not wait.
            UnhandledMessageError: if there is no handler for it.
        """
        if self.pending or self.phase != RUNNING or self.actor.found.get(type(message)) is None:
            self._check(message)
        if get_ident() != self.dispatcher.thread:
            self.dispatcher.check_thread()
        mailbox = self.mailbox or self.box()
        queue = mailbox.queue
        size = len(queue)
        if size >= mailbox.capacity:
            room = self._make_room(mailbox, item, message, may_wait)
            if room is not True:
                return room is None
        mailbox.accepted += 1
        if type(queue) is deque:
            queue.append(item)
        elif size:
            mailbox.unfolded().append(item)
        else:
            mailbox.queue = (item,)  # type: ignore[assignment]  # see the essay on mailboxes
        if size >= mailbox.peak:
            mailbox.peak = len(mailbox.queue)
        if not self.is_scheduled and self.phase == RUNNING:
            self.dispatcher.schedule(self)
            self.is_scheduled = True
        return True

    def _check(self, message: Any) -> None:
        """Refuse a message that can't be handled: a mistake of the sender's, who is told."""
        if self.phase >= STOPPING or self.pending & CLOSED:
            raise ActorStoppedError(self.name, message)
        if self.actor.find_handler(type(message)) is None:
            raise self.no_handler(message)

    def _make_room(self, mailbox: Mailbox, item: Any, message: Any, may_wait: bool) -> bool | None:
        """Apply the overflow policy. False: wait for room. None: the message is dealt with."""
        overflow = self.options.mailbox.overflow
        if overflow == "block" and may_wait:
            return False
        if overflow == "drop_oldest":
            self.lose(mailbox.lose_oldest(), "dropped: mailbox full")
            return True
        if overflow == "drop_newest" and (item is message or type(item) is Envelope):
            # It was accepted and lost: the sender isn't told, so the accounts must tell.
            mailbox.accepted += 1
            mailbox.losses.dead += 1
            self.system.dead_letter(message, self.ref, "dropped: mailbox full")
            return None
        raise self.no_room(message)

    def stamped(self, item: Any) -> Any:
        """Return *item* as it is to wait: with what has to be known of where it was sent."""
        return item

    def look_for_work(self) -> None:
        """Become ready if messages wait."""
        if self.pending or (self.mailbox is not None and self.mailbox.queue):
            self.wake(0)

    def drain(self) -> None:
        """Take no more messages, and stop behind those that are queued."""
        if self.phase < STOPPING:
            self.family().drained_by = self.system.askers.name()
            self.wake(DRAIN)

    # ------------------------------------------------------------------ turns

    def begin(self, worker: Worker) -> Coroutine[Any, Any, Any] | None:
        """Start the next turn: control lanes first, then the oldest message."""
        if self.pending and (coro := self._begin_control(worker)) is not None:
            return coro
        mailbox = self.mailbox
        if self.phase == RUNNING and mailbox is not None:
            actor = self.actor
            while queue := mailbox.queue:
                if mailbox.senders is not None:
                    item = mailbox.take()
                elif type(queue) is deque:
                    item = queue.popleft()
                else:
                    item, mailbox.queue = queue[0], NOTHING
                message = item
                function = actor.found.get(type(item))
                if function is None:
                    # An envelope, or the first message of its type.
                    function, message = self._find(item, worker)
                    if function is None:
                        continue
                ctx = self.ctx = ActorContext(self, worker, self.state, item)
                self.context = self.base.copy()
                turn: Coroutine[Any, Any, Any] = (
                    function(actor, message, ctx)
                    if message is item
                    else _answer(item, function, actor, ctx)
                )
                return turn
        return self._begin_nothing(worker)

    def _find(self, item: Any, worker: Worker) -> tuple[Callable[..., Any] | None, Any]:
        """Return the handler for *item*, and the message in it. None: it is dealt with."""
        message = self.opened(item)
        function = self.actor.find_handler(type(message))
        if function is None:
            self.refuse(item, message)
        # What expired before trio last saw to its deadlines has been taken back already.
        elif message is not item and worker.turns > 1 and self.is_expired(item):
            function = None
        return function, message

    def _begin_returned(self, worker: Worker) -> Coroutine[Any, Any, Any] | None:
        """Start a turn with the oldest message that comes back from the stash."""
        while (item := self.next_returned()) is not None:
            function, message = self._find(item, worker)
            if function is not None:
                ctx = self.ctx = ActorContext(self, worker, self.state, item)
                self.context = self.base.copy()
                turn: Coroutine[Any, Any, Any] = (
                    function(self.actor, message, ctx)
                    if message is item
                    else _answer(item, function, self.actor, ctx)
                )
                return turn
        return None

    def _begin_nothing(self, worker: Worker) -> Coroutine[Any, Any, Any] | None:
        if self.pending & DRAIN and self.phase == RUNNING:
            self.pending &= ~DRAIN
            self.stop(Finished(self.family().drained_by))
            return self.begin(worker)
        self.is_scheduled = False
        if self.pending & URGENT:
            self.wake(0)  # it came up while we looked at the lanes
        return None

    def _begin_control(self, worker: Worker) -> Coroutine[Any, Any, Any] | None:
        """Serve what overtakes messages, most urgent first. A coroutine is a turn."""
        fault = self.take_fault()
        if fault is not None:
            self.fail(fault)
        if self.pending & STOP:
            self.begin_stopping()
        if self.pending & FINISH:
            self.begin_ending()
        if self.pending & WIND_DOWN:
            self.wind_down()
        if self.pending & HOOK:
            self.pending &= ~HOOK
            self.limit()
            return self._begin_hook(worker, STOPS, self.actor.on_stop)
        if self.pending & START:
            self.pending &= ~START
            return self._begin_hook(worker, STARTS, self._start_hook)
        if self.phase != RUNNING:
            return None
        turn = self._begin_notice(worker) if self.pending & NOTICES else None
        return self._begin_returned(worker) if turn is None and self.pending & UNSTASH else turn

    def _start_hook(self, ctx: ActorContext) -> Coroutine[Any, Any, None]:
        error = self.error
        if error is None:
            return self.actor.on_start(ctx)
        return self.actor.on_restart(error, ctx)

    def _begin_hook(
        self, worker: Worker, kind: int, hook: Callable[[ActorContext], Coroutine[Any, Any, None]]
    ) -> Coroutine[Any, Any, None]:
        ctx = self.ctx = ActorContext(self, worker, self.state, None, kind)
        self.context = self.base.copy()
        return hook(ctx)

    def _begin_notice(self, worker: Worker) -> Coroutine[Any, Any, Any] | None:
        kin = self.family()
        if kin.is_users_turn and (self.pending & UNSTASH or (self.mailbox and self.mailbox.queue)):
            # However many notices there are, messages get every other turn.
            kin.is_users_turn = False
            return None
        while kin.notices:
            news = kin.notices.popleft()
            function = self.actor.find_handler(type(news))
            if function is not None:
                kin.is_users_turn = True
                ctx = self.ctx = ActorContext(self, worker, self.state, news, NOTICE)
                self.context = self.base.copy()
                turn: Coroutine[Any, Any, Any] = function(self.actor, news, ctx)
                return turn
            self.system.dead_letter(news, self.ref, "unhandled")
        self.pending &= ~NOTICES
        return None

    def done(self) -> bool:
        """Commit: the state takes effect, the reply is given, the message is handled."""
        ctx: Any = self.ctx
        self.state = ctx.state
        self.context = self.base
        self.ctx = ctx.cell = None
        if ctx.kind != MESSAGE:
            return self._hook_done(ctx)
        mailbox: Any = self.mailbox
        mailbox.handled += 1
        if type(ctx.item) is Request:  # it has no subclasses, and this is asked for every message
            ctx.item.settle(ctx.item.value)
        if self.pending:
            return self._has_more()
        if mailbox.queue:
            return True
        mailbox.queue = NOTHING
        self.is_scheduled = False
        return False

    def _hook_done(self, ctx: ActorContext) -> bool:
        if ctx.kind == STASHED:
            self.keep(ctx.item)
        elif ctx.kind == STARTS:
            self.started()
        elif ctx.kind == STOPS:
            self.unlimit()
            self.wind_down()
        return self._has_more()

    def _has_more(self) -> bool:
        """Whether to stay in the ready queue."""
        if self.pending & (STOP | FINISH):
            self.unlimit()
        if self.phase == STOPPED:
            self.pending = 0
        mailbox = self.mailbox
        more = bool(self.pending) or (
            self.phase == RUNNING and mailbox is not None and bool(mailbox.queue)
        )
        self.is_scheduled = more
        return more

    def not_done(self, error: BaseException | None) -> bool:
        """Commit nothing. An error is a crash; an interruption (None) isn't."""
        ctx = self.ctx
        assert ctx is not None
        kind, item = ctx.kind, ctx.item
        self.context = self.base
        self.ctx = ctx.cell = ctx.item = None
        self.unlimit()
        fault = self.take_fault()
        if fault is not None and error is not None:
            self.report_failure(error)
        error = fault or error
        if kind in {MESSAGE, STASHED}:
            self._account(item, error)
        if error is not None:
            self.fail(error)
        elif kind == STARTS and not self.pending & STOP:
            self.wake(START)  # not its fault: our worker was taken away
        else:
            self.wind_down()
        return self._has_more()

    def _account(self, item: Any, error: BaseException | None) -> None:
        """Say what became of the message of a turn that did not commit."""
        losses = self.box().losses
        envelope = item if isinstance(item, Envelope) else Envelope(item)
        if error is None:
            losses.cancelled += 1
            is_back_soon = self.pending & (STOP | FINISH) == FINISH
            undelivered = ActorRestartingError if is_back_soon else ActorStoppedError
            error = undelivered(self.name, envelope.message)
        elif self._is_worth_another_try(envelope, error):
            envelope.attempts += 1
            self.put_back(envelope)
            return
        else:
            losses.failed += 1
        if isinstance(envelope, Request):
            envelope.settle(None, error)

    def _is_worth_another_try(self, envelope: Envelope, error: BaseException) -> bool:
        return (
            envelope.attempts < self.options.redeliver
            and type(envelope) is not Tick
            and isinstance(error, Exception)
            and self.phase < STOPPING
            and not self.pending & STOP
        )


async def _answer(  # noqa: ASYNC910  (the handler says whether it waits)
    envelope: Envelope, function: Callable[..., Any], actor: Actor, ctx: ActorContext
) -> None:
    """Keep what the handler returns for whoever asked, until the turn is committed."""
    value = await function(actor, envelope.message, ctx)
    if type(envelope) is Request:
        envelope.value = value
