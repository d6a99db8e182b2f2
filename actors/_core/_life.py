# An actor's place among others: it is started, looked after by its parent, watched, waited for.
#
# A parent decides about a child that ended at once, even while a turn of its own is in progress:
# the decision is about the child only, and a handler that waits for its child's answer would
# otherwise wait for a restart that waits for the handler. Only a failure of the parent itself
# (too many restarts) concerns its turn, and interrupts it.
"""Starting, supervising, watching."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from actors._core._ending import Ending
from actors._core._errors import ActorStoppedError, NameTakenError, RestartLimitError
from actors._core._happenings import ActorFailed, ActorRestarted, ActorStarted
from actors._core._identity import make
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
from actors._core._reasons import Crashed, Finished, NotFound, Terminated
from actors._core._supervision import (
    Decision,
    GiveUp,
    LeaveDown,
    StartAgain,
    Supervision,
    count_recent,
    decide,
)

if TYPE_CHECKING:
    from actors._core._cell import Cell
    from actors._core._reasons import ExitReason


class Life(Ending):
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
        if self.system.listeners:
            self.system.publish(ActorStarted(self.ref))
        self.me.look_for_work()

    def restart(self) -> None:
        """Begin a new incarnation: a new object, the state that was last committed."""
        if self.phase != DOWN:
            return
        kin = self.family()
        kin.incarnation += 1
        kin.left, kin.timer, kin.recent = None, None, ()
        self.phase = STARTING
        try:
            self.actor = self.base.copy().run(make, self.factory)
        except BaseException as exc:  # noqa: BLE001, ASYNC103  (a failed start is a failure)
            if not isinstance(exc, Exception):
                self.system.fail(exc)
            self.fail(exc)
            return  # noqa: ASYNC104  (a factory can't be cancelled)
        self.system.publish(ActorRestarted(self.ref, kin.incarnation))
        self.start()

    # ------------------------------------------------------------------ children

    def check_name(self, name: str | int) -> None:
        """Refuse a child if it can't have this name, or can't be at all.

        Raises:
            NameTakenError: if a living child has it.
            ActorStoppedError: if this actor is about to end.
        """
        if self.phase > RUNNING:
            raise ActorStoppedError(self.name, name)
        if isinstance(name, str) and (not name or set(name) & {"/", "#"}):
            raise ValueError(f"an actor can't be named {name!r}: use no '/' and no '#'")
        if self.kin is None or not self.kin.children:
            check_supported(self.supervision)
        elif name in self.kin.children:
            raise NameTakenError(f"{self.name}/{name}")

    def adopt(self, child: Cell) -> None:
        """Take *child* in. Its name was checked, but its factory may have done anything since."""
        children = self.family().children
        if self.phase > RUNNING or child.own_name in children:
            self.check_name(child.own_name)
        children[child.own_name] = child

    @property
    def supervision(self) -> Supervision:
        """How this actor keeps its children alive."""
        return self.actor.supervision

    def child_ended(self, child: Cell, error: BaseException | None) -> None:
        """*child* is down: it failed with *error*, or did its work. Say what becomes of it."""
        if self.phase > RUNNING:
            decision: Decision = LeaveDown()
        else:
            decision = self._decide(child, error)
        self._report(child, error, decision)
        if isinstance(decision, StartAgain):
            due = trio.current_time() + decision.delay
            child.family().timer = self.system.timers.at(due, child.restart)
            return
        child.terminate(Finished() if error is None else Crashed(error))
        if isinstance(decision, GiveUp):
            self.fault(self._escalate(child, error, decision))

    def _decide(self, child: Cell, error: BaseException | None) -> Decision:
        supervision = self.supervision
        counts_alone = supervision.budget == "child"
        decision = decide(
            supervision,
            child.options.restart,
            error,
            child.family().own_recent if counts_alone else self.family().recent,
            now=trio.current_time(),
            chance=self.system.random.random(),
        )
        if isinstance(decision, StartAgain):
            if counts_alone:
                child.family().own_recent = decision.recent
            else:
                self.family().recent = decision.recent
        return decision

    def _report(self, child: Cell, error: BaseException | None, decision: Decision) -> None:
        if error is None:
            return
        count = 0
        if isinstance(decision, (StartAgain, GiveUp)):
            count = count_recent(self.supervision, decision.recent, trio.current_time())
        self.system.report(ActorFailed(child.ref, error, type(decision).__name__, count))

    def _escalate(
        self, child: Cell, error: BaseException | None, decision: GiveUp
    ) -> BaseException:
        if error is not None and not decision.is_over_limit:
            return error
        supervision = self.supervision
        limit = RestartLimitError(child.name, supervision.max_restarts, supervision.period)
        limit.__cause__ = error
        return limit

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
            self.family().notices.append(news)
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
            kin.started = kin.started or trio.Event()
            await kin.started.wait()
        if self.phase >= STOPPING:
            cause = self.reason.error if isinstance(self.reason, Crashed) else None
            raise ActorStoppedError(self.name) from cause

    async def wait_stopped(self) -> ExitReason:
        """Wait until nothing of the actor is left, and say why it ended."""
        await trio.lowlevel.checkpoint()
        if self.phase != STOPPED:
            kin = self.family()
            kin.stopped = kin.stopped or trio.Event()
            await kin.stopped.wait()
        assert self.reason is not None
        return self.reason


def check_supported(supervision: Supervision) -> None:
    """Refuse what isn't there yet, instead of quietly doing something else."""
    if supervision.strategy != "one_for_one":
        raise NotImplementedError(
            f"strategy={supervision.strategy!r} isn't implemented for actors yet; use one_for_one"
        )
