# An actor's mailbox and turns. The dispatcher calls `begin`, `done` and `not_done`; senders call
# `post` and its kin. All of it is synchronous, so a turn commits in one step: the new state takes
# effect, the reply is given and the accounts are kept without anybody able to look in between.
"""One actor: what it was sent, and the turns that handle it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trio

from actors._core._context import ActorContext
from actors._core._errors import (
    ActorStoppedError,
    MailboxFullError,
    UnhandledMessageError,
)
from actors._core._life import (
    DRAIN,
    FAILURES,
    HOOK,
    NOTICES,
    RUNNING,
    START,
    STOP,
    STOPPED,
    STOPPING,
    URGENT,
    WIND_DOWN,
    Life,
    Options,
)
from actors._core._mailbox import Counters, Envelope, Mailbox
from actors._core._reasons import Finished

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from actors._core._actor import Actor
    from actors._core._dispatch import Worker
    from actors._core._system import System

# Kinds of turns.
MESSAGE, STARTS, STOPS, NOTICE = range(4)


class Cell(Life):
    """One actor of a system."""

    __slots__ = ("asking", "ctx", "item", "kind", "mailbox")

    def __init__(
        self,
        system: System,
        parent: Cell | None,
        name: str,
        factory: Callable[[], Actor],
        options: Options,
    ) -> None:
        super().__init__(system, parent, name, factory, options)
        self.mailbox: Mailbox | None = None
        self.ctx: ActorContext | None = None
        self.item: Any = None
        self.kind = MESSAGE
        self.asking: list[Cell] | None = None

    # ------------------------------------------------------------------ sending

    def box(self) -> Mailbox:
        """Return the mailbox, made for the first message."""
        if self.mailbox is None:
            self.mailbox = Mailbox(self.options.mailbox.capacity)
        return self.mailbox

    def check_open(self, message: Any) -> None:
        """Refuse *message* if the actor takes no more."""
        if self.phase >= STOPPING or self.pending & DRAIN:
            raise ActorStoppedError(self.name, message)

    def post(self, item: Any, message: Any, *, may_wait: bool = False) -> bool:
        """Accept *item*, which carries *message*. False: there is no room, and one may wait.

        Raises:
            ActorStoppedError: if the actor has stopped or is about to.
            MailboxFullError: if there is no room, and one may not wait.
        """
        mailbox = self.mailbox
        if mailbox is None:
            mailbox = self.box()
        if self.phase >= STOPPING or self.pending & DRAIN:
            raise ActorStoppedError(self.name, message)
        if len(mailbox.queue) >= mailbox.capacity or mailbox.senders:
            room = self._make_room(mailbox, message, may_wait=may_wait)
            if room is not True:
                return room is None
        mailbox.accepted += 1
        mailbox.queue.append(item)
        if not self.is_scheduled and self.phase == RUNNING:
            self.is_scheduled = True
            self.dispatcher.schedule(self)
        return True

    def _make_room(self, mailbox: Mailbox, message: Any, *, may_wait: bool) -> bool | None:
        """Apply the overflow policy. False: wait for room. None: the message is dealt with."""
        overflow = self.options.mailbox.overflow
        if overflow == "drop_newest":
            self.system.dead_letter(message, self.ref, "dropped: mailbox full")
            # It was accepted and lost: the sender isn't told, so the accounts must tell.
            mailbox.accepted += 1
            mailbox.dead += 1
            return None
        if overflow == "drop_oldest":
            self._lose(mailbox.queue.popleft(), "dropped: mailbox full")
            mailbox.dead += 1
            return True
        if overflow == "block" and may_wait:
            return False
        raise MailboxFullError(self.name, message, int(mailbox.capacity))

    def look_for_work(self) -> None:
        """Become ready if messages wait."""
        if self.pending or (self.mailbox is not None and self.mailbox.queue):
            self.wake(0)

    def drain(self) -> None:
        """Take no more messages, and stop behind those that are queued."""
        if self.phase < STOPPING:
            self.wake(DRAIN)

    def withdraw(self, envelope: Envelope) -> None:
        """The asker is gone: take its request back, or interrupt the turn that serves it."""
        mailbox = self.mailbox
        if mailbox is not None and mailbox.withdraw(envelope):
            return
        # Mutable attributes would be torn by a caller's time limit; a frozen state can't be.
        if self.item is envelope and self.worker is not None and self.state is not None:
            self.worker.interrupt()

    # ------------------------------------------------------------------ turns

    def begin(self, worker: Worker) -> Coroutine[Any, Any, Any] | None:
        """Start the next turn: control lanes first, then the oldest message."""
        if self.pending and (coro := self._begin_control(worker)) is not None:
            return coro
        if self.phase == RUNNING:
            mailbox = self.mailbox
            while mailbox is not None and mailbox.queue:
                item = mailbox.take()
                message = item.message if type(item) is Envelope else item
                if message is not item and self._is_expired(item):
                    continue
                function = self.actor.find_handler(type(message))
                if function is None:
                    self._refuse(item, message)
                    continue
                self.kind, self.item = MESSAGE, item
                return self._enter(worker, function(self.actor, message, self._make_context()))
            if self.pending & DRAIN:
                self.pending &= ~DRAIN
                self.stop(Finished())
                return self.begin(worker)
        self.is_scheduled = False
        if self.pending & URGENT:
            self.wake(0)  # it came up while we looked at the lanes
        return None

    def _make_context(self) -> ActorContext:
        ctx = self.ctx = ActorContext(self)
        return ctx

    def _enter(self, worker: Worker, coro: Coroutine[Any, Any, Any]) -> Coroutine[Any, Any, Any]:
        self.worker = worker
        self.context = self.base.copy()
        self.coro = coro
        return coro

    def _begin_control(self, worker: Worker) -> Coroutine[Any, Any, Any] | None:
        """Serve what overtakes messages, most urgent first. A coroutine is a turn."""
        if self.pending & WIND_DOWN:
            self.wind_down()
        if self.pending & FAILURES:
            self.pending &= ~FAILURES
            self.decide_about_failures()
        if self.pending & STOP:
            self.begin_stopping()
        if self.pending & HOOK:
            self.pending &= ~HOOK
            coro = self._enter_hook(worker, STOPS, self.actor.on_stop)
            self.limit(self.options.shutdown)
            return coro
        if self.pending & START:
            self.pending &= ~START
            return self._enter_hook(worker, STARTS, self._start_hook)
        if self.pending & NOTICES and self.phase == RUNNING:
            return self._begin_notice(worker)
        return None

    def _start_hook(self, ctx: ActorContext) -> Coroutine[Any, Any, None]:
        error = self.error
        if error is None:
            return self.actor.on_start(ctx)
        return self.actor.on_restart(error, ctx)

    def _enter_hook(self, worker: Worker, kind: int, hook: Callable[..., Any]) -> Any:
        self.kind, self.item = kind, None
        return self._enter(worker, hook(self._make_context()))

    def _begin_notice(self, worker: Worker) -> Any:
        assert self.kin is not None
        while self.kin.notices:
            news = self.kin.notices.popleft()
            function = self.actor.find_handler(type(news))
            if function is not None:
                self.kind, self.item = NOTICE, news
                return self._enter(worker, function(self.actor, news, self._make_context()))
            self.system.dead_letter(news, self.ref, "unhandled")
        self.pending &= ~NOTICES
        return None

    def done(self, value: Any) -> bool:
        """Commit: the state takes effect, the reply is given, the message is handled."""
        item, ctx = self.item, self.ctx
        assert ctx is not None
        self.state = ctx.state
        ctx.cell = None
        self.worker = self.coro = self.ctx = self.item = None
        if self.kind == MESSAGE:
            mailbox = self.mailbox
            assert mailbox is not None
            mailbox.handled += 1
            if type(item) is Envelope and item.reply is not None:
                item.reply.settle(value)
            if self.pending or mailbox.queue:
                return True
            self.is_scheduled = False
            return False
        return self._hook_done()

    def _hook_done(self) -> bool:
        if self.kind == STARTS:
            self.started()
        elif self.kind == STOPS:
            self.wind_down()
        return self._has_more()

    def _has_more(self) -> bool:
        """Whether to stay in the ready queue."""
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
        kind, item, ctx = self.kind, self.item, self.ctx
        assert ctx is not None
        ctx.cell = None
        self.worker = self.coro = self.ctx = self.item = None
        if kind == MESSAGE:
            self._account(item, error)
        if error is not None:
            self.fail(error)
        elif kind != MESSAGE or self.phase >= STOPPING:
            # A hook that was interrupted has had its chance.
            self._hook_interrupted(kind)
        return self._has_more()

    def _hook_interrupted(self, kind: int) -> None:
        if kind == STARTS and not self.pending & STOP:
            self.pending |= STOP
        self.wind_down()

    def _account(self, item: Any, error: BaseException | None) -> None:
        """Say what became of the message of a turn that did not commit."""
        mailbox = self.mailbox
        assert mailbox is not None
        envelope = item if type(item) is Envelope else Envelope(item)
        if error is None:
            mailbox.cancelled += 1
            if envelope.reply is not None:
                envelope.reply.settle(None, ActorStoppedError(self.name, envelope.message))
        elif envelope.attempts < self.options.redeliver and self.phase < STOPPING:
            envelope.attempts += 1
            mailbox.queue.appendleft(envelope)
        else:
            mailbox.failed += 1
            if envelope.reply is not None:
                envelope.reply.settle(None, error)

    # ------------------------------------------------------------------ undelivered

    def _is_expired(self, envelope: Envelope) -> bool:
        if envelope.deadline == float("inf") or envelope.deadline > trio.current_time():
            return False
        self._lose(envelope, "expired")
        self.box().dead += 1
        return True

    def _refuse(self, item: Any, message: Any) -> None:
        """No handler: a mistake of the sender's, not a crash of this actor."""
        self.box().dead += 1
        error = UnhandledMessageError(self.name, message, self.actor.handled_types())
        if type(item) is not Envelope or item.reply is None or not item.reply.settle(None, error):
            self.system.dead_letter(message, self.ref, "unhandled")

    def _lose(self, item: Any, reason: str) -> None:
        if type(item) is Envelope:
            if item.reply is not None:
                item.reply.settle(None, ActorStoppedError(self.name, item.message))
            item = item.message
        self.system.dead_letter(item, self.ref, reason)

    def return_mail(self) -> None:
        """Turn what is left into dead letters; who waits for a reply is told."""
        if self.mailbox is None:
            return
        for item, was_accepted in self.mailbox.close():
            if was_accepted:
                self._lose(item, "stopped")
            elif type(item) is Envelope and item.reply is not None:
                item.reply.settle(None, ActorStoppedError(self.name, item.message))

    def counters(self) -> Counters:
        """Say where all messages of this actor are."""
        in_progress = int(self.item is not None and self.kind == MESSAGE)
        return Counters() if self.mailbox is None else self.mailbox.counters(in_progress)


def deadlock(start: Cell, target: Cell) -> tuple[str, ...] | None:
    """Return the names of a circle of asks that *start* asking *target* would close, if any."""
    path: list[Cell] = []

    def reaches(cell: Cell) -> bool:
        path.append(cell)
        if cell is start or any(reaches(each) for each in cell.asking or () if each not in path):
            return True
        path.pop()
        return False

    return (start.name, *(cell.name for cell in path)) if reaches(target) else None
