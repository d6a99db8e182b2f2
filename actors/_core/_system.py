# A system is one nursery, one dispatcher, and a guardian that supervises what is spawned.
#
# The workers live in a scope that shields them from the caller's cancellation, so that actors
# can be stopped in order (youngest first, each within its budget) even while the block around
# us is being cancelled. The shield is not for ever: when the block ends, `shutdown_budget`
# seconds go to the orderly stop; then all that still runs is cancelled, and what even then goes
# on is named as a zombie. trio can't do more: a task that shields itself can't be killed.
#
# No error may cross a nursery here, since it would come out wrapped in a group. What fails the
# system is recorded, the block is cancelled by a scope of ours, and `__aexit__` raises it bare.
"""A tree of actors with a beginning and an end: `open_system`."""

from __future__ import annotations

import contextvars
import itertools
import logging
import random
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import trio

from actors._core._actor import Actor
from actors._core._cell import Cell
from actors._core._dispatch import Dispatcher
from actors._core._errors import ActorStoppedError
from actors._core._happenings import ActorFailed, DeadLetter, SystemEvent, ZombieActor
from actors._core._home import Home
from actors._core._hub import DeadLetters, Listener
from actors._core._life import DEFAULT, STOPPING, Options
from actors._core._mailbox import MailboxPolicy
from actors._core._reasons import ShutDown
from actors._core._supervision import Restart, Supervision
from actors._core._timers import Timers
from actors._core._turn import split

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from actors._core._mailbox import Counters
    from actors._core._ref import ActorRef

logger = logging.getLogger("actors")
T = TypeVar("T")

ambient: contextvars.ContextVar[System | None] = contextvars.ContextVar("ambient", default=None)


class Guardian(Actor):
    """The root of a system: it has children, and nothing to say."""

    def __init__(self, supervision: Supervision) -> None:
        self.supervision = supervision  # type: ignore[misc]  # the guardian's is per system


class System:
    """A tree of supervised actors. `open_system` opens one."""

    def __init__(
        self, name: str, supervision: Supervision, shutdown_budget: float, seed: int | None
    ) -> None:
        self.name = name
        self.random = random.Random(seed)  # noqa: S311  (jitter and orders, no secrets)
        self.dispatcher = Dispatcher(None if seed is None else self._choose)
        self.timers = Timers()
        self.dead_letters = DeadLetters()
        self.is_heard = False
        self._budget = shutdown_budget
        self._listeners: dict[Listener, None] = {}
        self._pool: trio.Nursery | None = None
        self._error: BaseException | None = None
        self._body = trio.CancelScope()
        self._numbers = itertools.count(1)
        self.root = Cell(self, None, name, partial(Guardian, supervision), DEFAULT)
        self.root.start()

    def __repr__(self) -> str:
        return f"<System {self.name}>"

    # ------------------------------------------------------------------ what users call

    def spawn(
        self,
        factory: Callable[..., Actor],
        *args: Any,
        name: str | None = None,
        restart: Restart | None = None,
        mailbox: MailboxPolicy | None = None,
        **options: Any,
    ) -> ActorRef[Any]:
        """Start an actor, at once and without waiting.

        Args:
            factory: called with *args* for each incarnation; usually the actor's class.
            *args: for the factory.
            name: unique among the living; made up if None.
            restart: when to start it again after a failure. Default: always.
            mailbox: how many messages may wait, and what happens to one more.
            **options: ``shutdown`` (seconds it may take to stop, 5), ``redeliver`` (how often
                the message of a failed turn is tried again, 0), ``dedicated_task`` (a task of
                its own for life, False), ``significant`` (False).

        Raises:
            NameTakenError: if a living actor has the name.
            ActorStoppedError: if the system is shutting down.
        """
        return self.spawn_under(
            self.root, factory, args, name=name, restart=restart, mailbox=mailbox, **options
        )

    def events(self, buffer: int = 1000) -> Listener:
        """Listen to the kernel's events, from the moment the block is entered."""
        self.is_heard = True
        return Listener(self._listeners, buffer)

    def counters(self, ref: ActorRef[Any]) -> Counters:
        """Say where all messages are that *ref* accepted."""
        return ref._cell.counters()  # noqa: SLF001  (the system and its refs are one module's)

    # ------------------------------------------------------------------ what actors call

    def spawn_under(
        self,
        parent: Cell,
        factory: Callable[..., Actor],
        args: tuple[Any, ...],
        *,
        name: str | None,
        restart: Restart | None,
        mailbox: MailboxPolicy | None,
        **options: Any,
    ) -> ActorRef[Any]:
        """Start a child of *parent*."""
        if parent.phase >= STOPPING:
            raise ActorStoppedError(parent.name, factory)
        if restart is None and mailbox is None and not options:
            chosen = DEFAULT
        else:
            chosen = Options(
                restart=restart or Restart.PERMANENT, mailbox=mailbox or MailboxPolicy(), **options
            )
        if name is None:
            name = f"{getattr(factory, '__name__', 'actor').lower()}-{next(self._numbers)}"
        cell = Cell(self, parent, name, partial(factory, *args) if args else factory, chosen)
        parent.adopt(cell)
        if chosen.dedicated_task:
            cell.dispatcher = self._dedicated()
        cell.start()
        return cell.ref

    def _dedicated(self) -> Dispatcher:
        """A dispatcher with one worker: the same turn loop, in a task that is never shared."""
        dispatcher = Dispatcher()
        dispatcher.nursery, dispatcher.max_workers = self._pool, 1
        return dispatcher

    def home_of(self, cell: Cell) -> Home:
        """Return the home task of *cell*, started when it is first needed."""
        if cell.home is None:
            assert self._pool is not None
            cell.home = Home(cell, self._pool)
        return cell.home

    def publish(self, event: SystemEvent) -> None:
        """Tell the listeners."""
        for listener in self._listeners:
            listener.put(event)

    def report(self, event: ActorFailed | ZombieActor) -> None:
        """Tell the listeners and the log of what somebody should look at."""
        self.publish(event)
        if isinstance(event, ZombieActor):
            stack = "\n".join(event.stack)
            logger.error("%s goes on although it was killed:\n%s", event.ref.name, stack)
        else:
            logger.warning("%s failed (%s): %r", event.ref.name, event.decision, event.error)

    def dead_letter(self, message: Any, recipient: ActorRef[Any], reason: str) -> None:
        """Record that *message* was not handled."""
        letter = DeadLetter(message, recipient, reason)
        self.dead_letters.add(letter)
        self.publish(letter)

    def fail(self, error: BaseException) -> None:
        """End the system with *error*: the block is cancelled, and raises it."""
        self._error = self._error or error
        self._body.cancel()

    def _choose(self, ready: Any) -> Any:
        """Explore another order of turns; the seed decides which."""
        index = self.random.randrange(len(ready))
        ready.rotate(-index)
        cell = ready.popleft()
        ready.rotate(index)
        return cell

    # ------------------------------------------------------------------ its life

    async def __aenter__(self) -> System:
        self._token = ambient.set(self)
        self._manager = trio.open_nursery()
        nursery = await self._manager.__aenter__()
        await nursery.start(self._run_pool)
        self._body.__enter__()
        return self

    async def _run_pool(self, task_status: trio.TaskStatus[None]) -> None:
        """Hold the workers, the timers and the homes, out of reach of the block's end."""
        try:
            with trio.CancelScope(shield=True) as self._shield:
                async with trio.open_nursery() as pool:
                    self._pool = self.dispatcher.nursery = self.timers.nursery = pool
                    task_status.started()
                    await trio.sleep_forever()
        except BaseException as exc:  # noqa: BLE001  (see the essay: none may cross the nursery)
            passing, real = split(exc)
            if real is not None:
                self.fail(real)
            if passing is not None:
                raise passing from None

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        remaining = error
        try:
            if self._body.__exit__(kind, error, trace):
                remaining = None
        except BaseException as exc:  # noqa: BLE001  (raised again below)
            remaining = exc
        ambient.reset(self._token)
        await self._shut_down()
        if self._error is not None and (remaining is None or split(remaining)[1] is None):
            raise self._error
        if remaining is not None and remaining is not error:
            raise remaining
        return remaining is None

    async def _shut_down(self) -> None:
        """Stop the actors in order, within the budget; then let nothing go on."""
        with trio.CancelScope(shield=True, deadline=trio.current_time() + self._budget) as scope:
            self.root.stop(ShutDown())
            await self.root.wait_stopped()
        if scope.cancelled_caught:
            self.root.kill()
        self._shield.cancel()
        await self._manager.__aexit__(None, None, None)


def open_system(
    name: str = "system",
    *,
    supervision: Supervision | None = None,
    shutdown_budget: float = 10.0,
    seed: int | None = None,
) -> System:
    """Open a system of actors: ``async with open_system() as system: …``.

    Leaving the block stops the actors, the youngest first, and waits until nothing of them is
    left. If the block is cancelled the same happens, within the budget.

    Args:
        name: the first part of the actors' names.
        supervision: how the actors that are spawned by the system itself are kept alive.
        shutdown_budget: seconds for the orderly stop; then what still runs is cancelled.
        seed: explore, and replay exactly, another order of turns.

    Raises:
        RestartLimitError: out of the block, if an actor crashed too often.
    """
    return System(name, supervision or Supervision(), shutdown_budget, seed)


def current_system() -> System | None:
    """Return the system whose block we are in, if any."""
    return ambient.get()
