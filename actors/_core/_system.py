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
# Of two errors the block's own wins, unless it is just how the block heard of the other.
#
# When no task is left, whatever has not ended by then is declared ended (`_bury`): who waits for
# a reply or for an actor's end, perhaps outside of the block, must not wait for ever.
"""A tree of actors with a beginning and an end: `open_system`."""

from __future__ import annotations

import itertools
import logging
import random
from contextvars import Context, ContextVar, copy_context
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any, Self

import trio
from trio.lowlevel import enable_ki_protection

from actors._core._actor import Actor
from actors._core._askers import Askers
from actors._core._cell import Cell
from actors._core._errors import UndeliveredError
from actors._core._identity import check_name
from actors._core._in_trio import check_in_trio
from actors._core._introspection._happenings import (
    ActorFailed,
    DeadLetter,
    SystemEvent,
    ZombieActor,
)
from actors._core._introspection._hub import DeadLetters, Listener
from actors._core._introspection._inspect import SystemFacts, look_at
from actors._core._kinds import kinds_of_cells
from actors._core._later._timers import Timers
from actors._core._mailbox import MailboxPolicy
from actors._core._phases import STOPPED
from actors._core._reasons import Killed, ShutDown
from actors._core._ref import check_ref
from actors._core._registry import Registry
from actors._core._supervision._decide import Restart, Supervision
from actors._core._supervision._kin import DEFAULT, Options
from actors._core._supervision._patience import ZOMBIE_AFTER
from actors._core._turns._dispatch import Dispatcher
from actors._core._turns._explore import Explorer, exploring
from actors._core._turns._turn import bare, split

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from actors._core._mailbox import Counters
    from actors._core._ref import ActorRef

logger = logging.getLogger("actors")

ambient: ContextVar[System | None] = ContextVar("ambient", default=None)


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
        explorer = exploring.get() or (None if seed is None else Explorer(seed))
        self._explorer = explorer
        if explorer is not None:
            explorer.systems.add(self)
        # For jitter, no secrets.
        self.random = random.Random() if explorer is None else explorer.random  # noqa: S311
        choose = None if explorer is None else explorer.choose
        self.dispatcher = Dispatcher(choose, fatal=self.fail, exposed=True)
        self.dispatcher.owner = self
        self.askers = Askers(self.dispatcher)
        self.timers = Timers()
        self.registry = Registry()
        self.dead_letters = DeadLetters()
        self.listeners: dict[Listener, None] = {}
        self._budget = shutdown_budget
        self._error: BaseException | None = None
        self._body = trio.CancelScope()
        self._shield = trio.CancelScope(shield=True)
        self._was_opened = False
        self._opened = trio.Event()
        self._watch = trio.CancelScope(shield=True)
        self._numbers = itertools.count(1)
        self._kind, self._timed_kind = kinds_of_cells()
        # What the last spawner's context had in it, and the copy for actors with the same.
        self._seen: tuple[tuple[ContextVar[Any], Any], ...] = ()
        self._context = Context()
        self._context.run(ambient.set, self)
        self.root = Cell(self, None, name, partial(Guardian, supervision), DEFAULT)
        self.root.check_child(0)
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
                its own for life, False), ``significant`` (whether its end may end its
                supervisor, see ``auto_shutdown`` of `Supervision`; False).

        Raises:
            ValueError: if an option makes no sense, a significant child that is permanent, say.
            NameTakenError: if a living actor has the name.
            ActorStoppedError: if the system is shutting down.
            RuntimeError: outside of the system's block, or in another thread.
            TypeError: if an option is of another type.
            Exception: what the factory raised; there is no actor then.
        """
        return self.spawn_under(self.root, factory, args, name, restart, mailbox, options)

    def events(self, buffer: int = 1000) -> Listener:
        """Listen to the kernel's events, from the moment the block is entered."""
        return Listener(self.listeners, buffer, lambda: self._watch.cancel_called)

    def register(self, name: str, ref: ActorRef[Any]) -> None:
        """Let others find the actor by *name*, until it ends; restarts don't matter.

        Raises:
            NameTakenError: if a living actor has the name.
            ActorStoppedError: if the actor has ended.
            ValueError: if it has another name, isn't of this system, or *name* is empty.
            TypeError: if *ref* is no `ActorRef`, or *name* no string.
        """
        check_ref(ref)
        self.dispatcher.check_thread()
        cell = ref._cell  # noqa: SLF001  (the system and its refs are one module's)
        if cell.system is not self:
            raise ValueError(f"{ref.name} isn't an actor of this system")
        self.registry.register(name, cell)

    def unregister(self, name: str) -> bool:
        """Take *name* from the actor that has it. False: none has."""
        self.dispatcher.check_thread()
        return self.registry.unregister(name)

    def whereis(self, name: str) -> ActorRef[Any] | None:
        """Return the living actor that was registered under *name*, or None."""
        return self.registry.whereis(name)

    async def wait_registered(self, name: str) -> ActorRef[Any]:
        """Wait until an actor is registered under *name*, and return it.

        Raises:
            ActorStoppedError: if the system ends before.
        """
        return await self.registry.wait(name)

    def counters(self, ref: ActorRef[Any]) -> Counters:
        """Say where all messages are that *ref* accepted."""
        return ref._cell.counters()  # noqa: SLF001  (the system and its refs are one module's)

    def inspect(self) -> SystemFacts:
        """Say what all actors are doing at this moment. `print` it to see the tree.

        Nothing is kept for this while nobody calls it. A call takes time in proportion to the
        number of actors, and makes the ``repr`` of each message in progress.
        """
        return look_at(self)

    # ------------------------------------------------------------------ what actors call

    @enable_ki_protection
    def spawn_under(
        self,
        parent: Cell,
        factory: Callable[..., Actor],
        args: tuple[Any, ...],
        name: str | None,
        restart: Restart | None,
        mailbox: MailboxPolicy | None,
        options: dict[str, Any],
    ) -> ActorRef[Any]:
        """Start a child of *parent*."""
        if self.dispatcher.nursery is None:
            raise RuntimeError(f"spawn actors inside of the block `async with` {self!r}")
        if get_ident() != self.dispatcher.thread:
            self.dispatcher.check_thread()
        if restart is None and mailbox is None and not options:
            chosen = DEFAULT
        else:
            chosen = Options(
                restart=restart or Restart.PERMANENT, mailbox=mailbox or MailboxPolicy(), **options
            )
            if chosen.significant:
                parent.check_significant(chosen)
        own_name = next(self._numbers) if name is None else check_name(name)
        group = parent.check_child(own_name)
        kind = self._timed_kind if group.has_time_limits else self._kind
        cell = kind(self, parent, own_name, partial(factory, *args) if args else factory, chosen)
        parent.adopt(cell)
        if chosen.dedicated_task:
            cell.dispatcher = self._dedicated()
        cell.start()
        return cell.ref

    def _dedicated(self) -> Dispatcher:
        """A dispatcher with one worker: the same turn loop, in a task that is never shared."""
        shared = self.dispatcher
        dispatcher = Dispatcher(
            fatal=self.fail, workers=shared.workers, max_workers=1, exposed=True
        )
        dispatcher.owner, dispatcher.nursery = self, self.pool
        return dispatcher

    @property
    def pool(self) -> trio.Nursery:
        """Where the system's own tasks run."""
        assert self.dispatcher.nursery is not None, "actors live inside the system's block"
        return self.dispatcher.nursery

    def context(self) -> Context:
        """Copy our caller's context variables, with this system as the ambient one.

        Many actors are spawned in a row with the same variables; they share one copy, which
        nobody changes, for a copy each would be a sixth of an idle actor.
        """
        seen, last = copy_context(), self._seen
        if len(seen) == len(last):
            for variable, value in last:
                if variable.get(seen) is not value:
                    break
            else:
                return self._context
        mine = seen
        if seen.get(ambient) is not self:
            mine = seen.copy()
            mine.run(ambient.set, self)
        self._seen, self._context = tuple(seen.items()), mine
        return mine

    def publish(self, event: SystemEvent) -> None:
        """Tell the listeners."""
        for listener in self.listeners:
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
        if self._error is None:
            self._error = error
        self._body.cancel()

    def complete(self) -> None:
        """End the system because its work is done: the block is cancelled, and raises nothing."""
        self._body.cancel()

    # ------------------------------------------------------------------ its life

    @enable_ki_protection
    async def __aenter__(self) -> Self:
        check_in_trio(f"the system {self.name!r} was opened")
        if self._was_opened:
            raise RuntimeError(f"{self!r} has been opened before; open_system() makes another one")
        self._was_opened = True
        self.dispatcher.thread = get_ident()
        self._manager = trio.open_nursery()
        self._nursery = await self._manager.__aenter__()
        self._nursery.start_soon(self._run_pool, name=f"actors of {self.name}")
        try:
            await self._opened.wait()
        except BaseException as exc:
            self._shield.cancel()
            # As `async with` would: the nursery waits for what it has started.
            await self._manager.__aexit__(type(exc), exc, exc.__traceback__)  # noqa: ASYNC102
            raise
        self._token = ambient.set(self)
        self._body.__enter__()
        return self

    @enable_ki_protection
    async def _run_pool(self) -> None:  # noqa: ASYNC910  (nobody waits for the task itself)
        """Hold the workers, the timers and the resources, out of reach of the block's end."""
        try:
            with self._shield:
                async with trio.open_nursery() as pool:
                    self.dispatcher.nursery = self.timers.nursery = pool
                    self._opened.set()
                    await trio.sleep_forever()
        except BaseException as exc:  # noqa: BLE001, ASYNC103  (none may cross the nursery)
            real = split(exc)[1]
            if real is not None:
                self.fail(bare(real))
        finally:
            self._bury()
            self._watch.cancel()

    def _bury(self) -> None:
        """No task of ours is left: what has not ended by itself ends now."""
        self.dispatcher.closed = True
        self.timers.close()
        self.registry.close(self.root.name)
        for cell in self.root.subtree():
            if cell.phase != STOPPED:
                cell.terminate(Killed(cell.end_of_child().by))
        for listener in self.listeners:
            listener.end()

    @enable_ki_protection
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        remaining = error
        if self._explorer is not None and error is not None:
            self._explorer.block_failed(self, error)
        try:
            if self._body.__exit__(kind, error, trace):
                remaining = None
        except BaseException as exc:  # noqa: BLE001, ASYNC103  (raised again below)
            remaining = exc
        ambient.reset(self._token)
        await self._shut_down(self.why(remaining))  # noqa: ASYNC102  (it shields itself, with the budget)
        failure = self._error
        if failure is not None and (remaining is None or _is_told_by(remaining, failure)):
            raise failure from failure.__cause__
        if failure is not None:
            assert remaining is not None
            remaining.add_note(f"besides, the actor system failed: {failure!r}")
        if remaining is not None and remaining is not error:
            raise remaining
        return remaining is None

    def why(self, error: BaseException | None = None) -> str:
        """Say what ended the block, which *error* has left, for those that are stopped by it."""
        block = f"the block of {self.name}"
        if self._error is not None:
            return f"{block}: the system failed with {type(self._error).__name__}"
        if error is None:
            return f"{block}: it was left"
        real = split(error)[1]
        if real is None:
            return f"{block}: it was cancelled"
        return f"{block}: it raised {type(bare(real)).__name__}"

    async def _shut_down(self, why: str) -> None:  # noqa: ASYNC910  (it waits for a nursery)
        """Stop the actors in order, within the budget; then let nothing go on."""
        with trio.CancelScope(shield=True, deadline=trio.current_time() + self._budget):
            self.root.stop(ShutDown(why))
            try:
                await self.root.wait_stopped()
            except KeyboardInterrupt as exc:
                self.fail(exc)  # no more patience
        if self.root.phase != STOPPED:
            self.root.kill()
            self._nursery.start_soon(self._name_zombies, trio.current_time())
        self._shield.cancel()
        try:
            await self._manager.__aexit__(None, None, None)
        except BaseException as exc:  # noqa: BLE001, ASYNC103  (raised at the very end)
            self.fail(bare(exc))

    async def _name_zombies(self, since: float) -> None:
        with self._watch:
            await trio.sleep(ZOMBIE_AFTER)
            for cell in self.root.subtree():
                cell.mourn(cell.waiting_for(), since)


def _is_told_by(error: BaseException, failure: BaseException) -> bool:
    """Whether *error* is only how the block heard of the system's *failure*."""
    real = split(error)[1]
    if real is None or isinstance(real := bare(real), UndeliveredError):
        return True
    cause: BaseException | None = failure
    while cause is not None and cause is not real:
        cause = cause.__cause__
    return cause is real


def open_system(
    name: str = "system",
    *,
    supervision: Supervision | None = None,
    shutdown_budget: float = 10.0,
    seed: int | None = None,
) -> System:
    """Open a system of actors, with ``async with``.

    Leaving the block stops the actors, the youngest first, and waits until nothing of them is
    left. If the block is cancelled the same happens, within the budget.

    Args:
        name: the first part of the actors' names.
        supervision: how the actors that are spawned by the system itself are kept alive.
        shutdown_budget: seconds for the orderly stop; then what still runs is cancelled.
        seed: explore, and replay exactly, another order of turns. Inside an exploration
            (`actors.testing`) that one's seed is followed instead.

    Raises:
        ValueError: if *shutdown_budget* is negative, or *name* can't be the first part of a path.
        TypeError: if *supervision* is none.
        RestartLimitError: out of the block, if an actor crashed too often.
    """
    check_name(name)
    if not isinstance(supervision, Supervision | None):
        raise TypeError(f"supervision must be a Supervision, not {supervision!r}")
    if not shutdown_budget >= 0:
        raise ValueError(f"shutdown_budget must be a number of seconds, not {shutdown_budget!r}")
    return System(name, supervision or Supervision(), shutdown_budget, seed)


def current_system() -> System | None:
    """Return the system whose block we are in, if any."""
    return ambient.get()
