# One actor's life, apart from its messages: starting, running, failing, stopping, stopped.
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
"""The phases of an actor, and how it gets from one to the next."""

from __future__ import annotations

import contextvars
from collections import deque
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from actors._core._errors import ActorStoppedError, NameTakenError, RestartLimitError
from actors._core._happenings import (
    ActorFailed,
    ActorRestarted,
    ActorStarted,
    ActorStopped,
    ZombieActor,
)
from actors._core._mailbox import MailboxPolicy
from actors._core._reasons import Crashed, Killed, NotFound, ShutDown, Terminated
from actors._core._ref import ActorRef
from actors._core._supervision import GiveUp, Restart, StartAgain, Supervision, decide
from actors._core._turn import stack_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from actors._core._actor import Actor
    from actors._core._cell import Cell
    from actors._core._dispatch import Dispatcher, Worker
    from actors._core._home import Home
    from actors._core._reasons import ExitReason
    from actors._core._system import System

# Phases. FAILED: a turn failed, and the incarnation is being wound down. DOWN: that is done, and
# the parent decides. An actor only ever moves forward, but for DOWN -> RUNNING.
STARTING, RUNNING, FAILED, DOWN, STOPPING, STOPPED = range(6)

# What is pending besides messages, as flags: the control lanes.
START: Final = 1  # the start hook has to run
STOP: Final = 2
WIND_DOWN: Final = 4  # something that the end waits for has happened
FAILURES: Final = 8  # children failed
NOTICES: Final = 16  # watched actors ended
HOOK: Final = 32  # the stop hook has to run
DRAIN: Final = 64
# What must not wait for the next message.
URGENT: Final = START | STOP | WIND_DOWN | FAILURES | HOOK

ZOMBIE_AFTER: Final = 1.0


@attrs.frozen
class Options:
    """How an actor was spawned. Shared by all that are spawned alike."""

    restart: Restart = Restart.PERMANENT
    mailbox: MailboxPolicy = MailboxPolicy()
    shutdown: float = 5.0
    significant: bool = False
    redeliver: int = 0
    dedicated_task: bool = False


DEFAULT: Final = Options()


class Kin:
    """What only some actors have: children, watchers, people who wait for them."""

    __slots__ = (
        "children",
        "failures",
        "notices",
        "recent",
        "spawned",
        "started",
        "stopped",
        "watchers",
    )

    def __init__(self) -> None:
        self.children: dict[str, Cell] = {}
        self.watchers: dict[Cell, None] = {}
        self.failures: list[tuple[Cell, BaseException]] = []
        self.notices: deque[Terminated] = deque()
        self.recent: tuple[float, ...] = ()
        self.spawned = 0
        self.started: trio.Event | None = None
        self.stopped: trio.Event | None = None


class Life:
    """The phases of one actor. `Cell` adds the messages."""

    __slots__ = (
        "actor",
        "base",
        "context",
        "coro",
        "dispatcher",
        "error",
        "factory",
        "home",
        "incarnation",
        "is_killed",
        "is_scheduled",
        "kin",
        "options",
        "own_name",
        "parent",
        "pending",
        "phase",
        "reason",
        "ref",
        "state",
        "system",
        "worker",
    )

    def __init__(
        self,
        system: System,
        parent: Cell | None,
        name: str,
        factory: Callable[[], Actor],
        options: Options,
    ) -> None:
        self.system = system
        self.dispatcher: Dispatcher = system.dispatcher
        self.parent = parent
        self.own_name = name
        self.factory = factory
        self.options = options
        self.actor: Actor = factory()
        self.state = self.actor.state
        # A turn sees the context variables of whoever spawned the actor, never a worker's.
        self.base = self.context = contextvars.copy_context()
        self.phase = STARTING
        self.pending = 0
        self.is_scheduled = self.is_killed = False
        self.incarnation = 1
        self.coro: Coroutine[Any, Any, Any] | None = None
        self.reason: ExitReason | None = None
        self.error: BaseException | None = None
        self.kin: Kin | None = None
        self.home: Home | None = None
        self.worker: Worker | None = None
        self.ref: ActorRef[Any] = ActorRef(self.me)

    @property
    def me(self) -> Cell:
        """This object, as what it always is."""
        return self  # type: ignore[return-value]  # Cell is the only subclass

    @property
    def name(self) -> str:
        """The path of names from the system down to this actor."""
        if self.parent is None:
            return self.own_name
        return f"{self.parent.name}/{self.own_name}"

    def family(self) -> Kin:
        """Return the rare part of this actor, made when it is first needed."""
        if self.kin is None:
            self.kin = Kin()
        return self.kin

    def wake(self, what: int) -> None:
        """Note that *what* is pending, and become ready if no turn is in progress."""
        self.pending |= what
        if not self.is_scheduled:
            self.is_scheduled = True
            self.dispatcher.schedule(self.me)

    # ------------------------------------------------------------------ starting

    def adopt(self, child: Cell) -> None:
        """Take *child* in. Its name must be free."""
        kin = self.family()
        if child.own_name in kin.children:
            raise NameTakenError(child.own_name)
        kin.children[child.own_name] = child

    def start(self) -> None:
        """Run the start hook, or take messages at once if there is none."""
        if self.actor.has_start_hook:
            self.wake(START)
        else:
            self.started()

    def started(self) -> None:
        """Take messages from now on."""
        self.phase, self.error = RUNNING, None
        if self.kin is not None and self.kin.started is not None:
            self.kin.started.set()
        if self.system.is_heard:
            self.system.publish(ActorStarted(self.ref))
        self.me.look_for_work()

    # ------------------------------------------------------------------ failing

    def fail(self, error: BaseException) -> None:
        """A turn raised *error*: end this incarnation, then ask the parent."""
        if self.phase >= STOPPING:
            self.wind_down()
            return
        self.phase, self.error = FAILED, error
        self.wind_down()

    def child_failed(self, child: Cell, error: BaseException) -> None:
        """Hear, in the supervision lane, that *child* waits for a decision."""
        self.family().failures.append((child, error))
        self.wake(FAILURES)

    def decide_about_failures(self) -> None:
        """Do what the supervision says about each child that failed."""
        assert self.kin is not None
        failures, self.kin.failures = self.kin.failures, []
        for child, error in failures:
            if child.phase == DOWN:
                self._decide(child, error)

    def _decide(self, child: Cell, error: BaseException) -> None:
        assert self.kin is not None
        supervision = self.supervision
        now = trio.current_time()
        decision = decide(
            supervision,
            child.options.restart,
            error,
            self.kin.recent,
            now=now,
            chance=self.system.random.random(),
        )
        count = 0
        if isinstance(decision, (StartAgain, GiveUp)):
            self.kin.recent = decision.recent
            count = len(decision.recent)
        self.system.report(ActorFailed(child.ref, error, type(decision).__name__, count))
        if isinstance(decision, StartAgain) and self.phase <= RUNNING:
            self.system.timers.at(now + decision.delay, child.restart)
            return
        child.terminate(Crashed(error))
        if isinstance(decision, GiveUp) and self.phase < STOPPING:
            limit = RestartLimitError(child.name, supervision.max_restarts, supervision.period)
            limit.__cause__ = error
            self.fail(limit)

    @property
    def supervision(self) -> Supervision:
        """How this actor keeps its children alive."""
        return self.actor.supervision

    def restart(self) -> None:
        """Begin a new incarnation: a new object, the state that was last committed."""
        if self.phase != DOWN:
            return
        self.incarnation += 1
        try:
            self.actor = self.factory()
        except Exception as exc:  # noqa: BLE001  (a failed start is one more failure, as in OTP)
            self.fail(exc)
            return
        self.system.publish(ActorRestarted(self.ref, self.incarnation))
        self.start()

    # ------------------------------------------------------------------ stopping

    def stop(self, reason: ExitReason) -> None:
        """Stop after the turn in progress, before anything that is queued."""
        if self.phase >= STOPPING or self.pending & STOP:
            return
        self.reason = reason
        if self.worker is None:
            self.begin_stopping()
        else:
            self.pending |= STOP
            self.limit(self.options.shutdown)

    def begin_stopping(self) -> None:
        """Leave the running phase; no turn is in progress."""
        was_running = self.phase == RUNNING
        self.pending &= ~(STOP | START)
        self.phase = STOPPING
        if was_running and self.actor.has_stop_hook and not self.is_killed:
            self.pending |= HOOK
        self.wind_down()

    def kill(self) -> None:
        """Stop without patience: cancel the turn in progress, run no hook."""
        if self.phase == STOPPED:
            return
        self.is_killed = True
        self.reason = Killed()
        self.pending &= ~HOOK
        for child in list(self.kin.children.values() if self.kin else ()):
            child.kill()
        if self.worker is not None:
            self.pending |= STOP
            self._interrupt()
        elif self.phase < STOPPING:
            self.begin_stopping()
        else:
            self.wind_down()

    def wind_down(self) -> None:
        """Take the next step of ending this incarnation, or leave until there is news."""
        self.pending &= ~WIND_DOWN
        if self.phase not in {FAILED, STOPPING} or self.worker is not None:
            return
        if self._children_remain():
            return
        if self.pending & HOOK:
            self.wake(HOOK)
        elif self.home is not None:
            self.home.close()
        elif self.phase == FAILED:
            self._report_failure()
        else:
            self.terminate(self.reason or ShutDown())

    def _children_remain(self) -> bool:
        """Stop the youngest child; whether there is one to wait for."""
        while self.kin is not None and self.kin.children:
            child = next(reversed(self.kin.children.values()))
            child.stop(ShutDown())
            if child.phase != STOPPED:
                return True
        return False

    def _report_failure(self) -> None:
        assert self.error is not None
        self.phase = DOWN
        if self.parent is not None:
            self.parent.child_failed(self.me, self.error)
        else:
            self.system.fail(self.error)
            self.terminate(Crashed(self.error))

    def terminate(self, reason: ExitReason) -> None:
        """End for good: free the name, return what was queued, tell who watches."""
        self.phase, self.reason, self.pending = STOPPED, reason, 0
        parent = self.parent
        if parent is not None and parent.kin is not None:
            parent.kin.children.pop(self.own_name, None)
        self.me.return_mail()
        kin = self.kin
        if kin is not None:
            for event in (kin.started, kin.stopped):
                if event is not None:
                    event.set()
            for watcher in kin.watchers:
                watcher.notice(Terminated(self.ref, reason))
            kin.watchers.clear()
        if self.system.is_heard:
            self.system.publish(ActorStopped(self.ref, reason))
        if parent is not None and parent.phase in {FAILED, STOPPING}:
            parent.wake(WIND_DOWN)

    # ------------------------------------------------------------------ budgets

    def limit(self, seconds: float) -> None:
        """Kill the turn in progress if it isn't over in time."""
        timers, coro = self.system.timers, self.coro
        timers.at(trio.current_time() + seconds, lambda: self._escalate(coro))

    def _escalate(self, coro: Any) -> None:
        if self.coro is coro and coro is not None:
            self.is_killed = True
            self.pending &= ~HOOK
            self.reason = Killed()
            self._interrupt()

    def _interrupt(self) -> None:
        assert self.worker is not None
        self.worker.interrupt()
        since, coro = trio.current_time(), self.coro
        self.system.timers.at(since + ZOMBIE_AFTER, lambda: self._mourn(coro, since))

    def _mourn(self, coro: Any, since: float) -> None:
        if self.coro is coro and coro is not None:
            self.system.report(ZombieActor(self.ref, stack_of(coro), since))

    # ------------------------------------------------------------------ watching

    def watched_by(self, watcher: Cell) -> None:
        """Tell *watcher* once when this actor ends, at once if it has."""
        if self.phase == STOPPED:
            watcher.notice(Terminated(self.ref, NotFound()))
        else:
            self.family().watchers[watcher] = None

    def notice(self, news: Terminated) -> None:
        """Hear of a watched actor's end, in the supervision lane."""
        if self.phase < STOPPING:
            self.family().notices.append(news)
            self.wake(NOTICES)

    async def wait_started(self) -> None:
        """Wait until messages are taken."""
        kin = self.family()
        if self.phase in {STARTING, FAILED, DOWN}:
            kin.started = kin.started or trio.Event()
            await kin.started.wait()
        else:
            await trio.lowlevel.checkpoint()
        if self.phase >= STOPPING:
            cause = self.reason.error if isinstance(self.reason, Crashed) else None
            raise ActorStoppedError(self.name) from cause

    async def wait_stopped(self) -> ExitReason:
        """Wait until nothing of the actor is left, and say why it ended."""
        kin = self.family()
        if self.phase != STOPPED:
            kin.stopped = kin.stopped or trio.Event()
            await kin.stopped.wait()
        else:
            await trio.lowlevel.checkpoint()
        assert self.reason is not None
        return self.reason
