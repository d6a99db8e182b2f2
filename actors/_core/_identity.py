"""What an actor is, apart from what happens to it: its names, its parts, its place in the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trio.lowlevel import disable_ki_protection

from actors._core._actor import Actor
from actors._core._phases import STARTING
from actors._core._ref import ActorRef
from actors._core._supervision._kin import Kin, Options

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context

    from actors._core._cell import Cell
    from actors._core._context import ActorContext
    from actors._core._home import Home
    from actors._core._mailbox import Mailbox
    from actors._core._reasons import ExitReason
    from actors._core._system import System
    from actors._core._turns._dispatch import Dispatcher


class Identity:
    """The parts of one actor."""

    __slots__ = (
        "actor",
        "base",
        "context",
        "ctx",
        "dispatcher",
        "factory",
        "is_scheduled",
        "kin",
        "mailbox",
        "options",
        "own_name",
        "parent",
        "pending",
        "phase",
        "reason",
        "ref",
        "state",
    )

    def __init__(
        self,
        system: System,
        parent: Cell | None,
        name: str | int,
        factory: Callable[[], Actor],
        options: Options,
    ) -> None:
        self.dispatcher: Dispatcher = system.dispatcher
        self.parent = parent
        # A number stands for a made-up name; see `name`.
        self.own_name = name
        self.factory = factory
        self.options = options
        # A turn sees the context variables of whoever spawned the actor, never a worker's.
        self.base: Context = system.context()
        self.context = self.base
        self.actor = make(factory)
        self.state = self.actor.state
        self.phase = STARTING
        self.pending = 0
        self.is_scheduled = False
        self.ctx: ActorContext | None = None  # the turn in progress
        self.mailbox: Mailbox | None = None
        self.reason: ExitReason | None = None
        self.kin: Kin | None = None
        self.ref: ActorRef[Any] = ActorRef()
        self.ref._cell = self  # type: ignore[assignment]  # noqa: SLF001  (as in `me`)

    @property
    def me(self) -> Cell:
        """This object, as what it always is."""
        return self  # type: ignore[return-value]  # Cell is the only subclass

    @property
    def system(self) -> System:
        """The system that the actor lives in."""
        owner: System = self.dispatcher.owner
        return owner

    @property
    def name(self) -> str:
        """The path of names from the system down to this actor."""
        path, cell = [], self.me
        while cell.parent is not None:
            path.append(cell.last_name)
            cell = cell.parent
        return "/".join((cell.last_name, *reversed(path)))

    @property
    def last_name(self) -> str:
        """The last part of the name. Names that are made up can't be taken by anybody else."""
        if isinstance(self.own_name, str):
            return self.own_name
        factory = getattr(self.factory, "func", self.factory)
        return f"{getattr(factory, '__name__', 'actor').lower()}#{self.own_name}"

    @property
    def incarnation(self) -> int:
        """1, and one more after each restart."""
        return 1 if self.kin is None else self.kin.incarnation

    @property
    def error(self) -> BaseException | None:
        """Why the incarnation ended, or the one before this one; None if its work was done."""
        return None if self.kin is None else self.kin.error

    @property
    def home(self) -> Home | None:
        """The resources that were entered, if any were."""
        return None if self.kin is None else self.kin.home

    def family(self) -> Kin:
        """Return the rare part of this actor, made when it is first needed."""
        if self.kin is None:
            self.kin = Kin()
        return self.kin

    def wake(self, what: int) -> None:
        """Note that *what* is pending, and become ready if no turn is in progress."""
        if not self.is_scheduled:
            self.dispatcher.schedule(self.me)
            self.is_scheduled = True
        self.pending |= what


def check_name(name: str) -> str:
    """Return *name* if it can be a part of a path of names.

    Raises:
        TypeError: if it is no string.
        ValueError: if it is empty, or could be mistaken for a path or for a made-up name.
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of an actor or a system is a string, not {name!r}")
    if not name or set(name) & {"/", "#"}:
        raise ValueError(f"an actor or a system can't be named {name!r}: use no '/' and no '#'")
    return name


@disable_ki_protection
def make(factory: Callable[[], Actor]) -> Actor:
    """Make the object that handles an actor's messages. A user's code, which Ctrl-C interrupts."""
    if not callable(factory):
        raise TypeError(
            f"an actor is made anew for each incarnation, so give its class, or a function that "
            f"makes one, and not {factory!r}"
        )
    actor: object = factory()
    if not isinstance(actor, Actor):
        raise TypeError(f"{factory!r} made a {type(actor).__name__}, which isn't an Actor")
    return actor
