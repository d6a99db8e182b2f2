# An actor's place among others: it is started, watched, waited for.
"""Starting, restarting, watching."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import trio

from actors._core._errors import ActorStoppedError
from actors._core._identity import make
from actors._core._introspection._happenings import ActorRestarted, ActorStarted
from actors._core._phases import (
    DOWN,
    ENDING,
    NOTICES,
    RUNNING,
    START,
    STARTING,
    STOPPED,
    STOPPING,
)
from actors._core._reasons import Crashed, NotFound, Terminated
from actors._core._supervision._supervising import Supervising

if TYPE_CHECKING:
    from actors._core._cell import Cell
    from actors._core._reasons import ExitReason
    from actors._core._system import System


class Life(Supervising):
    """What an actor has to do with others. `Cell` adds the messages."""

    __slots__ = ()

    def start(self) -> None:
        """Run the start hook, or take messages at once if there is none."""
        if self.actor.has_start_hook:
            self.wake(START)
        else:
            self.started()

    def started(self) -> None:
        """Take messages from now on."""
        self.phase = RUNNING
        kin = self.kin
        if kin is not None:
            kin.error = None
            if kin.started is not None:
                kin.started.set()
                kin.started = None
            # Only who has been started before, and so has kin, can be part of a regroup.
            if self.parent is not None:
                self.parent.go_on_regrouping()
        system: System = self.dispatcher.owner
        if system.listeners:
            system.publish(ActorStarted(self.ref))
        if self.pending or self.mailbox is not None:
            self.me.look_for_work()

    def restart(self) -> None:
        """Begin a new incarnation: a new object, the state that was last committed."""
        if self.phase != DOWN:
            return
        kin = self.family()
        kin.incarnation += 1
        kin.left, kin.timer, kin.recent, kin.group = None, None, (), None
        self.phase = STARTING
        self.me.unstash_all()
        try:
            self.actor = self.base.copy().run(make, self.factory)
        except BaseException as exc:  # noqa: BLE001, ASYNC103  (a failed start is a failure)
            if not isinstance(exc, Exception):
                self.system.fail(exc)
            if self.phase == STOPPED:
                self.report_failure(exc)
            else:
                self.fail(exc)
            return  # noqa: ASYNC104  (a factory can't be cancelled)
        if self.phase != STARTING:
            return  # the factory did something that ended us
        self.system.publish(ActorRestarted(self.ref, kin.incarnation))
        self.start()

    # ------------------------------------------------------------------ watching

    def watched_by(self, watcher: Cell) -> None:
        """Tell *watcher* once when this actor ends, at once if it has."""
        if self.phase == STOPPED:
            watcher.notice(Terminated(self.ref, NotFound()))
        elif watcher.phase < STOPPED:
            self.family().watchers[watcher] = None
            watcher.family().watching[self.me] = None

    def unwatched_by(self, watcher: Cell) -> None:
        """Undo that, if it isn't too late."""
        if self.kin is not None and self.kin.watchers.pop(watcher, self) is None:
            watcher.family().watching.pop(self.me)

    def notice(self, news: Terminated) -> None:
        """Hear of a watched actor's end, in the supervision lane."""
        if self.phase < STOPPING:
            kin = self.family()
            if kin.notices is None:
                kin.notices = deque()
            kin.notices.append(news)
            self.wake(NOTICES)

    # ------------------------------------------------------------------ waiting

    def waits_for(self, other: Cell) -> None:
        """Note that this actor's turn waits for *other*."""
        kin = self.kin or self.family()
        kin.waits_for.append(other)

    def waits_no_more(self, other: Cell) -> None:
        """That wait is decided."""
        assert self.kin is not None
        self.kin.waits_for.remove(other)

    async def wait_started(self) -> None:
        """Wait until messages are taken."""
        await trio.lowlevel.checkpoint()
        while self.phase in {STARTING, ENDING, DOWN}:
            kin = self.family()
            if kin.started is None:
                kin.started = trio.Event()
            await kin.started.wait()
        if self.phase >= STOPPING:
            cause = self.reason.error if isinstance(self.reason, Crashed) else None
            raise ActorStoppedError(self.name) from cause

    async def wait_stopped(self) -> ExitReason:
        """Wait until nothing of the actor is left, and say why it ended."""
        await trio.lowlevel.checkpoint()
        if self.phase != STOPPED:
            kin = self.family()
            if kin.stopped is None:
                kin.stopped = trio.Event()
            await kin.stopped.wait()
        assert self.reason is not None
        return self.reason
