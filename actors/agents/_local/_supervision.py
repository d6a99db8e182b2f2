"""Keeping a model server running: again on the same port if it dies, but not for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs
import trio

from actors.agents._local._process import ServerOptions, run_server
from protocols._errors import LocalModelError

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_RESTARTS: Final = 3
RESTART_PERIOD: Final = 60.0


@attrs.define(eq=False)
class ServerStatus:
    """What is known about a server that is kept running.

    Args:
        url: where it listens; the same for all incarnations.
        pid: the process id of this incarnation, None while there is none.
        restarts: how often it had to be started again.
        ready: set while it listens; another event after each death.
    """

    url: str = ""
    pid: int | None = None
    restarts: int = 0
    ready: trio.Event = attrs.field(factory=trio.Event)

    def came_up(self, url: str, pid: int) -> None:
        """Note that an incarnation listens."""
        self.url, self.pid = url, pid
        self.ready.set()

    def went_down(self) -> None:
        """Note that it doesn't any more."""
        self.pid = None
        if self.ready.is_set():
            self.ready = trio.Event()


async def keep_running(
    options: ServerOptions,
    status: ServerStatus,
    *,
    started: Callable[[], None],
    on_restart: Callable[[str], None] | None,
) -> LocalModelError:
    """Run a server until it can't be kept running, and return an error that says why.

    That is when its first incarnation doesn't start, or when it has died too often.

    Args:
        options: what to serve.
        status: where to note what happens.
        started: called once, when the first incarnation listens.
        on_restart: called with a sentence at each restart.
    """

    def on_ready(url: str, pid: int) -> None:
        status.came_up(url, pid)
        if not status.restarts:
            started()

    restarts: tuple[float, ...] = ()
    while True:
        end = await run_server(options, on_ready)
        if not status.url:
            return end
        status.went_down()
        decision = _restarts_after_death(restarts, trio.current_time())
        if decision is None:
            return _gave_up(end)
        restarts = decision
        status.restarts += 1
        # Whoever has the address shall find the next incarnation there too.
        options = attrs.evolve(options, port=_port(status.url))
        if on_restart is not None:
            on_restart(f"{end.message}; starting it again at {status.url}")


def _restarts_after_death(recent: tuple[float, ...], now: float) -> tuple[float, ...] | None:
    """Decide on a restart: the restarts that count from now on, or None to give up.

    The window is closed, as in OTP: a restart exactly one period ago still counts.
    """
    counted = (*(when for when in recent if now - when <= RESTART_PERIOD), now)
    return counted if len(counted) <= MAX_RESTARTS else None


def _gave_up(end: LocalModelError) -> LocalModelError:
    error = LocalModelError(
        f"{end.message}, for the {MAX_RESTARTS + 1}th time within {RESTART_PERIOD:g} s, and is "
        "given up; is there enough memory?",
        stderr=end.stderr,
        returncode=end.returncode,
    )
    error.__cause__ = end
    return error


def _port(url: str) -> int:
    return int(url.rpartition(":")[2])
