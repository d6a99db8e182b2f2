"""Keeping a model server running: again on the same port if it dies, but not for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs
import trio

from actors._core._supervision._decide import Backoff, Restart, StartAgain, Supervision, decide
from actors.agents._local._process import ServerOptions, run_server
from protocols._model_errors import LocalModelError

if TYPE_CHECKING:
    from collections.abc import Callable

# At once: whoever asks the model waits for it, and the window bounds the restarts.
SUPERVISION: Final = Supervision(max_restarts=3, period=60.0, backoff=Backoff(base=0))


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
        now = trio.current_time()
        decision = decide(SUPERVISION, Restart.PERMANENT, end, restarts, now=now, chance=0)
        if not isinstance(decision, StartAgain):
            return _gave_up(end)
        restarts = decision.recent
        status.restarts += 1
        # Whoever has the address shall find the next incarnation there too.
        options = attrs.evolve(options, port=_port(status.url))
        if on_restart is not None:
            on_restart(f"{end.message}; starting it again at {status.url}")


def _gave_up(end: LocalModelError) -> LocalModelError:
    error = LocalModelError(
        f"{end.message}, for the {SUPERVISION.max_restarts + 1}th time within {SUPERVISION.period:g} s, and is "
        "given up; is there enough memory?",
        stderr=end.stderr,
        returncode=end.returncode,
    )
    error.__cause__ = end
    return error


def _port(url: str) -> int:
    return int(url.rpartition(":")[2])
