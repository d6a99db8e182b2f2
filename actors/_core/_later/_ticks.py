# Timers that users start. A tick is an ordinary message: it queues behind the others, in an
# envelope by which it is found again. So cancelling a timer also takes back a tick that waits in
# the mailbox, and a handler never sees a tick of a timer that it has cancelled or started anew.
# All timers end with their incarnation; the next one starts its own, in its start hook.
#
# The bound: an actor has so many timers at most, and each has one tick in the mailbox at most. A
# periodic timer whose last tick still waits leaves that round out. A tick that finds the mailbox
# full waits for room like any sender, if that is the mailbox's policy.
"""Messages that an actor sends to itself, later."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import trio

from actors._core._errors import (
    ActorStoppedError,
    MailboxFullError,
    TimerLimitError,
    UnhandledMessageError,
)
from actors._core._mailbox import Envelope
from actors._core._phases import RUNNING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from actors._core._cell import Cell
    from actors._core._later._timers import Timer

MOST_TIMERS: Final = 1000


class Tick(Envelope):
    """The message of a timer, on its way through the mailbox."""

    __slots__ = ("key",)

    def __init__(self, key: Hashable, message: Any) -> None:
        super().__init__(message)
        self.key = key


class Alarm:
    """One timer of an actor: what it says, and how often."""

    __slots__ = ("every", "message", "tick", "timer")

    def __init__(self, message: Any, every: float | None) -> None:
        self.message = message
        self.every = every
        self.timer: Timer | None = None
        # What waits in the mailbox.
        self.tick: Tick | None = None


class Ticks:
    """The timers of one incarnation, by their keys."""

    __slots__ = ("_alarms", "_cell")

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._alarms: dict[Hashable, Alarm] = {}

    def __len__(self) -> int:
        """How many are running, or have a tick that waits."""
        return len(self._alarms)

    def start(self, key: Hashable, message: Any, delay: float, *, repeat: bool) -> None:
        """Start a timer; see `ActorContext.start_timer`."""
        if not 0 <= delay < float("inf") or (repeat and not delay):
            raise ValueError(f"a timer needs a number of seconds, not {delay!r}")
        cell = self._cell
        if cell.phase > RUNNING:
            raise ActorStoppedError(cell.name, message)
        if cell.actor.find_handler(type(message)) is None:
            raise UnhandledMessageError(cell.name, message, cell.actor.handled_types())
        self.cancel(key)
        if len(self._alarms) >= MOST_TIMERS:
            raise TimerLimitError(cell.name, MOST_TIMERS)
        alarm = self._alarms[key] = Alarm(message, delay if repeat else None)
        self._arm(key, alarm, delay)

    def _arm(self, key: Hashable, alarm: Alarm, delay: float) -> None:
        due = trio.current_time() + delay
        alarm.timer = self._cell.system.timers.at(due, partial(self._fire, key, alarm))

    def _fire(self, key: Hashable, alarm: Alarm) -> None:
        alarm.timer = None
        if alarm.every is not None:
            self._arm(key, alarm, alarm.every)
        if alarm.tick is None:
            alarm.tick = Tick(key, alarm.message)
            self._send(alarm.tick)

    def _send(self, tick: Tick) -> None:
        cell = self._cell
        try:
            if not cell.post(tick, tick.message, may_wait=True):
                cell.box().wait_for_room(tick, None)
        except MailboxFullError:
            cell.system.dead_letter(tick.message, cell.ref, "dropped: mailbox full")
            self.left(tick)
        except ActorStoppedError:
            self.left(tick)  # it drains, and takes no more

    def left(self, tick: Tick) -> None:
        """*tick* isn't in the mailbox any more: it is being handled, or was dropped."""
        alarm = self._alarms.get(tick.key)
        if alarm is None or alarm.tick is not tick:
            return
        alarm.tick = None
        if alarm.every is None:
            del self._alarms[tick.key]

    def cancel(self, key: Hashable) -> bool:
        """Stop a timer, and take back a tick of it that waits. False: there was none."""
        alarm = self._alarms.pop(key, None)
        if alarm is None:
            return False
        if alarm.timer is not None:
            alarm.timer.cancel()
        if alarm.tick is not None:
            self._cell.take_back(alarm.tick)
        return True

    def clear(self) -> None:
        """Stop all."""
        for key in list(self._alarms):
            self.cancel(key)
