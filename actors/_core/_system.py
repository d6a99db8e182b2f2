# A system is one nursery, one dispatcher, and a guardian that supervises what is spawned.
#
# How it is opened, and how it ends, is in `_block.py`.
"""A tree of actors with a beginning and an end: `open_system`."""

from __future__ import annotations

import itertools
import logging
import random
from contextvars import Context, ContextVar, copy_context
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any, Self

from trio.lowlevel import enable_ki_protection

from actors._core._actor import Actor
from actors._core._askers import Askers
from actors._core._block import Block
from actors._core._cell import Cell
from actors._core._identity import check_name
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
from actors._core._ref import check_ref
from actors._core._registry import Registry
from actors._core._supervision._decide import Restart, Supervision
from actors._core._supervision._kin import DEFAULT, Options
from actors._core._turns._dispatch import Dispatcher
from actors._core._turns._explore import Explorer, exploring

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    import trio

    from actors._core._mailbox import Counters
    from actors._core._ref import ActorRef

logger = logging.getLogger("actors")

ambient: ContextVar[System | None] = ContextVar("ambient", default=None)


class Guardian(Actor):
    """The root of a system: it has children, and nothing to say."""

    def __init__(self, supervision: Supervision) -> None:
        self.supervision = supervision  # type: ignore[misc]  # the guardian's is per system


class System(Block):
    """A tree of supervised actors. `open_system` opens one."""

    def __init__(
        self, name: str, supervision: Supervision, shutdown_budget: float, seed: int | None
    ) -> None:
        super().__init__(name, shutdown_budget)
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
        """The same turn loop, in a task that is never shared: one cell needs only one worker."""
        shared = self.dispatcher
        dispatcher = Dispatcher(fatal=self.fail, workers=shared.workers, exposed=True)
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

    # ------------------------------------------------------------------ its life

    @enable_ki_protection
    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self._token = ambient.set(self)
        return self

    @enable_ki_protection
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if self._explorer is not None and error is not None:
            self._explorer.block_failed(self, error)
        ambient.reset(self._token)
        return await super().__aexit__(kind, error, trace)  # noqa: ASYNC102  (it shields itself)


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
