# How an actor ends: by itself, by a failure, by a request, by force.
#
# Nothing in here waits. Each step that has to wait for something (a turn in progress, a child
# that stops, a resource that closes) leaves, and whoever brings the news calls `wind_down`
# again, which looks at the facts afresh. So a step may be repeated and does no harm, and there
# is no task whose cancellation could leave an actor half stopped.
#
# The order in which an incarnation ends is always the same: the turn in progress, the children
# in reverse order of their start, the `on_stop` hook (unless it crashed or was killed), the
# resources that `ctx.enter` entered, the mailbox. Names are free before watchers hear of it, or
# whoever restarts the actor by name would race with its own name.
#
# What fails on the way to the end is reported and changes nothing else. What fails outside of
# any turn (a resource, or a child for good) interrupts the turn and fails the actor: `fault`.
"""The end of an incarnation, and of an actor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from actors._core._home import Home
from actors._core._introspection._happenings import ActorFailed, ActorStopped
from actors._core._phases import (
    DOWN,
    ENDING,
    FAULT,
    FINISH,
    HOOK,
    HOOK_LATER,
    RUNNING,
    START,
    STOP,
    STOPPED,
    STOPPING,
    WIND_DOWN,
)
from actors._core._reasons import Crashed, Finished, Killed, ShutDown, Terminated
from actors._core._supervision._decide import Restart
from actors._core._supervision._patience import Patience

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from actors._core._cell import Cell
    from actors._core._reasons import ExitReason
    from actors._core._supervision._kin import Kin
    from actors._core._system import System

# So many children of a pool are stopping at the same time.
AT_ONCE: Final = 100


class Ending(Patience):
    """How an actor gets from running to down or stopped."""

    __slots__ = ()

    def fail(self, error: BaseException) -> None:
        """Something raised *error*, and no turn is in progress: end this incarnation."""
        if self.parent is None and isinstance(error, Exception):
            self.system.fail(error)
        ends_anyway = self.phase >= STOPPING or self.pending & STOP
        if ends_anyway or (self.phase == ENDING and self.error is not None):
            self.report_failure(error)
            if not isinstance(self.reason, Killed):
                self.reason = Crashed(error)
        else:
            self.family().error = error
            self.pending &= ~(START | FINISH)
            if self.phase != ENDING:
                self.phase = ENDING
                self.pending &= ~HOOK_LATER
            if not isinstance(error, Exception):
                # The program is being interrupted. That is nothing a restart could cure.
                self.stop(Crashed(error))
        self.wind_down()

    def finish(self) -> None:
        """This incarnation's work is done: end it after the turn in progress."""
        if self.options.restart is not Restart.PERMANENT or self.parent is None:
            self.stop(Finished())
        elif self.ctx is None:
            self.wake(FINISH)
        else:
            self.pending |= FINISH

    def halt(self) -> None:
        """End this incarnation for a sibling's sake, within the budget; another one follows.

        Repeating this does no harm.
        """
        if self.phase > RUNNING or self.pending & STOP:
            return  # it is ending anyway
        if self.options.restart is Restart.TEMPORARY:
            parent = self.parent
            self.stop(ShutDown("" if parent is None else parent.name))
        elif self.ctx is not None:
            self.pending |= FINISH
            self.limit()
        elif self.kin is not None and self.kin.children:
            # By way of the dispatcher, or a deep tree would be a deep recursion.
            self.wake(FINISH)
        else:
            self.begin_ending()

    def begin_ending(self) -> None:
        """End this incarnation in order; the parent will start a new one."""
        fault = self.take_fault()
        if fault is not None:
            self.fail(fault)
            return
        self.pending &= ~(START | FINISH)
        if self.phase <= RUNNING:
            if self.phase == RUNNING and self.actor.has_stop_hook and self._has_time():
                self.pending |= HOOK_LATER
            self.phase = ENDING
        self.wind_down()

    def _has_time(self) -> bool:
        return self.kin is None or self.kin.left is None or self.kin.left > 0

    def end_of_child(self) -> ShutDown:
        """Return the reason of children that this actor stops: who stops it, or itself."""
        reason = self.reason
        if isinstance(reason, (ShutDown, Killed)):
            return ShutDown(reason.by)
        return ShutDown(self.name if self.parent is not None else self.system.why())

    def fault(self, error: BaseException) -> None:
        """Fail with *error*, which comes from outside of any turn; interrupt the turn."""
        if not isinstance(error, Exception):
            self.system.fail(error)
        if self.ctx is None and (self.parent is None or self.phase != RUNNING):
            self.fail(error)
            return
        kin = self.family()
        if kin.fault is not None or self.phase >= STOPPING or self.pending & STOP:
            self.report_failure(error)
            return
        kin.fault = error
        if self.ctx is None:
            # By way of the dispatcher: what fails from below may go far up.
            self.wake(FAULT)
        else:
            self.pending |= FAULT
            self.interrupt()

    def take_fault(self) -> BaseException | None:
        """Return what failed outside of any turn, if anything has: the turn's end, or ours."""
        if not self.pending & FAULT:
            return None
        self.pending &= ~FAULT
        kin = self.family()
        fault, kin.fault = kin.fault, None
        return fault

    def report_failure(self, error: BaseException) -> None:
        """Report an *error* that decides nothing any more."""
        self.system.report(ActorFailed(self.ref, error, "LeaveDown", 0))

    # ------------------------------------------------------------------ stopping

    def stop(self, reason: ExitReason) -> None:
        """Stop after the turn in progress, before anything that is queued."""
        if (
            self.phase == RUNNING
            and not self.pending
            and self.kin is None
            and self.ctx is None
            and not self.actor.has_stop_hook
        ):
            self.terminate(reason)  # there is nothing to wait for, as with most actors
            return
        if self.phase >= STOPPING or self.pending & STOP:
            return
        self.reason = reason
        if self.ctx is not None:
            self.pending |= STOP
            self.limit()
        elif self.phase == RUNNING and self.kin is not None and self._is_supervisor(self.kin):
            # By way of the dispatcher, or a deep tree would be a deep recursion: downwards, and
            # upwards where the end of the last child ends its parent.
            self.wake(STOP)
        else:
            self.begin_stopping()

    def _is_supervisor(self, kin: Kin) -> bool:
        return bool(kin.children) or (kin.group is not None and self.parent is not None)

    def begin_stopping(self) -> None:
        """Leave the running phase for good; no turn is in progress."""
        fault = self.take_fault()
        if fault is not None:
            self.report_failure(fault)
        if self.phase == ENDING and self.error is not None:
            self.report_failure(self.error)
        if self.phase == RUNNING and self.actor.has_stop_hook:
            self.pending |= HOOK_LATER
        if isinstance(self.reason, Killed):
            self.pending &= ~(HOOK | HOOK_LATER)
        self.pending &= ~(STOP | START | FINISH)
        if self.phase == DOWN:
            self.unlimit()  # a restart that is due
        self.phase = STOPPING
        self.wind_down()

    def kill(self) -> None:
        """Stop without patience, children first: cancel turns in progress, run no hooks."""
        reason = Killed(self.system.askers.name())
        for cell in self.subtree():
            cell.kill_alone(reason)

    def kill_alone(self, reason: Killed) -> None:
        """Do `kill`'s work for this actor."""
        if self.phase == STOPPED:
            return
        self.reason = reason
        self.pending &= ~(HOOK | HOOK_LATER | FINISH)
        if self.ctx is not None:
            self.pending |= STOP
            self.interrupt()
        elif self.phase < STOPPING:
            self.begin_stopping()
        else:
            self.wind_down()

    def subtree(self) -> list[Cell]:
        """Return this actor and all below it, in the order in which they are to end."""
        cells = [self.me]
        for cell in cells:
            if cell.kin is not None:
                cells += cell.kin.children.values()
        cells.reverse()
        return cells

    def wind_down(self) -> None:
        """Take the next step of ending this incarnation, or leave until there is news."""
        self.pending &= ~WIND_DOWN
        if self.phase not in {ENDING, STOPPING} or self.ctx is not None:
            return
        if self.kin is not None and self.kin.ticks is not None:
            self.kin.ticks.clear()
        if self.pending & STOP:
            self.begin_stopping()  # it came while a last turn was in progress
            return
        if self._children_remain():
            return
        if self.pending & (HOOK | HOOK_LATER):
            self.pending &= ~HOOK_LATER
            self.wake(HOOK)
        elif self._resources_remain():
            return
        elif self.phase == STOPPING or self.parent is None:
            self.terminate(self.reason or Crashed(cast("BaseException", self.error)))
        else:
            self.phase = DOWN
            self.parent.child_ended(self.me, self.error)

    def _children_remain(self) -> bool:
        """Stop the youngest child, or some children of a pool; whether any has to be waited for."""
        kin = self.kin
        if kin is None or not kin.children:
            return False
        group = kin.group
        assert group is not None
        if group.to_stop is None:
            group.drop_regroup()
            group.to_stop = list(kin.children.values())
        at_once = AT_ONCE if self.actor.supervision.is_pool else 1
        # At least so many are stopping. While that is half of what may, there is no need to look.
        if len(kin.children) - len(group.to_stop) > at_once // 2:
            return True
        group.stopping = [child for child in group.stopping if child.phase != STOPPED]
        if not group.to_stop:
            return bool(group.stopping)
        reason = self.end_of_child()
        while group.to_stop and len(group.stopping) < at_once:
            child = group.to_stop.pop()
            child.stop(reason)
            if child.phase != STOPPED:
                group.stopping.append(child)
        return bool(group.stopping)

    def _resources_remain(self) -> bool:
        """Leave the youngest resource; whether there is one to wait for."""
        home = self.home
        if home is None:
            return False
        is_killed = isinstance(self.reason, Killed)
        if not home.close(patiently=not is_killed):
            self.family().home = None
            self.unlimit()
            return False
        if not is_killed:
            self.limit()
        return True

    def terminate(self, reason: ExitReason) -> None:  # noqa: C901  (a call would cost a tenth)
        """End for good: free the name, return what was queued, tell who watches."""
        self.phase, self.reason, self.pending = STOPPED, reason, 0
        parent = self.parent
        family = None if parent is None else parent.kin
        if family is not None:
            family.children.pop(self.own_name, None)
        if self.mailbox is not None:
            self.me.return_mail()
        if self.kin is not None:
            self._tell_kin(self.kin, Terminated(self.ref, reason))
        system: System = self.dispatcher.owner
        if system.listeners:
            system.publish(ActorStopped(self.ref, reason))
        if self.options.dedicated_task:
            self.dispatcher.retire()
        if parent is None or family is None:
            return
        if parent.phase > RUNNING:
            if parent.phase in {ENDING, STOPPING}:
                parent.wake(WIND_DOWN)
        # Most children mean nothing to a parent that goes on.
        elif (group := family.group) is not None and (
            group.regroup is not None or group.counts_children or self.options.significant
        ):
            parent.child_gone(self.me, reason)

    def _tell_kin(self, kin: Kin, news: Terminated) -> None:
        kin.unlimit()
        for event in (kin.started, kin.stopped):
            if event is not None:
                event.set()
        if kin.registered is not None:
            self.system.registry.unregister(kin.registered)
        for watcher in kin.watchers:
            watcher.family().watching.pop(self.me, None)
            watcher.notice(news)
        kin.watchers.clear()
        for watched in kin.watching:
            watched.family().watchers.pop(self.me, None)
        kin.watching.clear()

    # ------------------------------------------------------------------ resources

    async def enter(self, manager: AbstractAsyncContextManager[Any]) -> Any:
        """Enter *manager* in a task of its own, until this incarnation ends."""
        kin = self.family()
        if kin.home is None:
            kin.home = Home(self.me, self.system.pool)
        return await kin.home.enter(manager)

    def resource_left(self, error: BaseException | None) -> None:
        """A resource isn't entered any more. An error of it is this actor's failure."""
        if error is not None:
            self.fault(error)
        if self.phase in {ENDING, STOPPING}:
            self.wake(WIND_DOWN)
