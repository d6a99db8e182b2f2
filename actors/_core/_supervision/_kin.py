# An idle actor has to be small, so what most actors never need is kept apart and made on demand.
"""How an actor was spawned, and what only some actors have: children, watchers, a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs
import trio
from attrs.validators import ge, instance_of

from actors._core._checks import at_least, instance
from actors._core._mailbox import MailboxPolicy
from actors._core._supervision._decide import Restart

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable

    from actors._core._cell import Cell
    from actors._core._home import Home
    from actors._core._later._stash import Stash
    from actors._core._later._ticks import Ticks
    from actors._core._later._timers import Timer, Timers
    from actors._core._reasons import Terminated
    from actors._core._supervision._group import Regroup


@attrs.frozen
class Options:
    """How an actor was spawned. Shared by all that are spawned alike."""

    restart: Restart = attrs.field(default=Restart.PERMANENT, validator=instance(Restart))
    mailbox: MailboxPolicy = attrs.field(factory=MailboxPolicy, validator=instance(MailboxPolicy))
    shutdown: float = attrs.field(default=5.0, validator=[instance_of((int, float)), ge(0)])
    significant: bool = attrs.field(default=False, validator=instance(bool))
    redeliver: int = attrs.field(default=0, validator=at_least(0))
    dedicated_task: bool = attrs.field(default=False, validator=instance(bool))


DEFAULT: Final = Options()


class Group:
    """What a supervisor knows of its children besides their names."""

    __slots__ = (
        "counts_children",
        "has_time_limits",
        "is_regrouping",
        "regroup",
        "stopping",
        "timer",
        "to_stop",
    )

    def __init__(self, *, has_time_limits: bool) -> None:
        # Whether their turns, or their idleness, are limited.
        self.has_time_limits = has_time_limits
        # Whether the supervisor is idle, and to be stopped some time, once it has none.
        self.counts_children = False
        # The incident that is being dealt with, if siblings are restarted along.
        self.regroup: Regroup[Cell] | None = None
        self.timer: Timer | None = None
        self.is_regrouping = False
        # When the supervisor ends: who has not been asked to stop yet, and who is stopping.
        self.to_stop: list[Cell] | None = None
        self.stopping: list[Cell] = []

    def drop_regroup(self) -> None:
        """There is no incident to deal with any more."""
        self.regroup = None
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class Kin:
    """What only some actors have."""

    __slots__ = (
        "children",
        "drained_by",
        "error",
        "fault",
        "group",
        "home",
        "incarnation",
        "is_users_turn",
        "left",
        "notices",
        "own_recent",
        "recent",
        "registered",
        "since",
        "started",
        "stash",
        "stopped",
        "ticks",
        "timer",
        "waits_for",
        "watchers",
        "watching",
    )

    def __init__(self) -> None:
        self.children: dict[str | int, Cell] = {}
        # Who is told of our end, and of whose end we are told.
        self.watchers: dict[Cell, None] = {}
        self.watching: dict[Cell, None] = {}
        # Made when the first one comes: an empty deque is larger than all the rest.
        self.notices: deque[Terminated] | None = None
        self.is_users_turn = False
        self.waits_for: list[Cell] = []
        # What failed outside of any turn: a child for good, or a resource.
        self.fault: BaseException | None = None
        # Why the last incarnation ended.
        self.error: BaseException | None = None
        self.home: Home | None = None
        # Times of restarts: of the children together, and our own where each child counts alone.
        self.recent: tuple[float, ...] = ()
        self.own_recent: tuple[float, ...] = ()
        self.incarnation = 1
        self.started: trio.Event | None = None
        self.stopped: trio.Event | None = None
        # The budget for stopping: what is left of it, in seconds, and the step that uses it.
        self.left: float | None = None
        self.since = 0.0
        self.timer: Timer | None = None
        self.group: Group | None = None
        self.stash: Stash | None = None
        self.ticks: Ticks | None = None
        self.registered: str | None = None
        self.drained_by = ""

    def limit(self, timers: Timers, budget: float, out_of_time: Callable[[], None]) -> None:
        """Let a step of stopping begin, which ends by `unlimit` or *out_of_time*.

        All steps of one actor share its budget; the time its children take isn't its own.
        """
        self.unlimit()
        if self.left is None:
            self.left = budget
        self.since = trio.current_time()
        self.timer = timers.at(self.since + self.left, out_of_time)

    def unlimit(self) -> None:
        """The step is over, or there is nothing to wait for any more."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
            if self.left is not None:
                self.left = max(0.0, self.left - (trio.current_time() - self.since))
