# One life of the model server: from the start of the process to its end, whatever ends it.
#
# Three things make sure that no process is left behind. The task that waits for the process
# stops it when it is cancelled: standard input closed, then SIGTERM, then SIGKILL, each with
# its time. The process ends by itself when its standard input does, so it can't outlive us
# even if we are killed. And it is in a process group of its own, so that Ctrl-C in a terminal
# reaches us only, and we stop it in order.
"""Running the model server process once, and saying how it ended."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import deque
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from actors.agents._without_group import without_group
from protocols._model_errors import LocalModelError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Self

PROGRAM: Final = Path(__file__).with_name("_server.py")
_LINES_KEPT: Final = 12
_LONGEST_LINE: Final = 4096
_READ_BUDGET: Final = 1.0
_TERMINATE_BUDGET: Final = 1.0


@attrs.frozen
class ServerOptions:
    """What the server is to serve, and how long we wait for it.

    Args:
        gguf: the model file.
        host: the address to listen at.
        port: the port to listen at; 0 stands for any free one.
        parallel: how many requests are answered at once.
        context: tokens for each of them, prompt and answer together.
        start_budget: seconds until it has to be ready.
        stop_budget: seconds that it gets to end by itself, before it is terminated.
    """

    gguf: Path
    host: str
    port: int
    parallel: int
    context: int
    start_budget: float
    stop_budget: float

    def command(self) -> list[str]:
        """Return the command line of the server process."""
        # -P, because the script's own folder is no place to import from.
        return [
            *(sys.executable, "-P", str(PROGRAM)),
            *("--gguf", str(self.gguf), "--host", self.host, "--port", str(self.port)),
            *("--parallel", str(self.parallel), "--context", str(self.context)),
        ]


async def run_server(
    options: ServerOptions, on_ready: Callable[[str, int], None]
) -> LocalModelError:
    """Run the server until it ends, and return (not raise) an error that says how it ended.

    Args:
        options: what to serve.
        on_ready: called with the server's URL and process id once it listens.
    """
    life = _Life(options, on_ready)
    with without_group():
        async with trio.open_nursery() as nursery:
            try:
                process = await nursery.start(_launch(options, life.stop))
            except OSError as error:
                life.end = f"could not be started ({error})"
            else:
                nursery.start_soon(life.keep_last_lines, process.stderr)
                await life.follow(process)
            # Stops the process if it is still there, because it was not ready in time.
            nursery.cancel_scope.cancel()
    return life.epitaph()


def _launch(
    options: ServerOptions, stop: Callable[[trio.Process], Awaitable[object]]
) -> Callable[..., Awaitable[object]]:
    """Return what a nursery starts as the process, and cancels to *stop* it."""
    group: dict[str, Any] = {"process_group": 0}
    if sys.platform == "win32":
        group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return partial(
        trio.run_process,
        options.command(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        check=False,
        deliver_cancel=stop,
        **group,
    )


class _Life:
    """What we learn about one process while it lives."""

    def __init__(self, options: ServerOptions, on_ready: Callable[[str, int], None]) -> None:
        self.end = ""
        self._is_ready = False
        self._options = options
        self._on_ready = on_ready
        self._returncode: int | None = None
        self._last_lines: deque[str] = deque(maxlen=_LINES_KEPT)
        self._all_read = trio.Event()

    async def follow(self, process: trio.Process) -> None:
        """Wait until *process* is ready and then until it ends, or until its time is up."""
        assert process.stdin is not None
        assert process.stdout is not None
        async with process.stdin, process.stdout:
            with trio.move_on_after(self._options.start_budget) as starting:
                url = await _announced_url(process.stdout)
                if url is None:
                    await self._note_end(process, "ended before it was ready")
            if starting.cancelled_caught:
                self.end = (
                    f"was not ready within {self._options.start_budget:g} s, and was stopped"
                )
            elif url is not None:
                self._is_ready = True
                self._on_ready(url, process.pid)
                await self._note_end(process, "died")

    async def stop(self, process: trio.Process) -> None:
        """Ask, then insist. trio cancels this as soon as the process is gone."""
        assert process.stdin is not None
        await process.stdin.aclose()
        # While it loads the model it doesn't listen to us, and has nothing to lose.
        if self._is_ready:
            await trio.sleep(self._options.stop_budget)
        process.terminate()
        await trio.sleep(_TERMINATE_BUDGET)
        process.kill()

    async def _note_end(self, process: trio.Process, end: str) -> None:
        self._returncode = await process.wait()
        self.end = f"{end} ({_in_words(self._returncode)})"
        with trio.move_on_after(_READ_BUDGET):
            await self._all_read.wait()

    async def keep_last_lines(self, stderr: trio.abc.ReceiveStream) -> None:
        """Read what the process complains of, so that it never blocks, and keep the end."""
        async with stderr:
            async for line in _Lines(stderr):
                self._last_lines.append(line)
        self._all_read.set()

    def epitaph(self) -> LocalModelError:
        """Say how the process ended."""
        return LocalModelError(
            f"the model server for {self._options.gguf} {self.end}",
            stderr="\n".join(self._last_lines),
            returncode=self._returncode,
        )


async def _announced_url(stdout: trio.abc.ReceiveStream) -> str | None:
    """Return the URL in the ready line, or None if the output ended without one."""
    async for line in _Lines(stdout):
        # Something in the user's Python may greet on standard output before the server does.
        with suppress(ValueError, TypeError, KeyError):
            return str(json.loads(line)["url"])
    return None


class _Lines:
    """The lines of a stream, as text; one that is too long comes in pieces."""

    def __init__(self, stream: trio.abc.ReceiveStream) -> None:
        self._stream = stream
        self._rest = b""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        await trio.lowlevel.checkpoint()
        while b"\n" not in self._rest and len(self._rest) < _LONGEST_LINE:
            chunk = await self._stream.receive_some(_LONGEST_LINE)
            if not chunk:
                return self._last_line()
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace").rstrip("\r")

    def _last_line(self) -> str:
        line, self._rest = self._rest, b""
        if not line:
            raise StopAsyncIteration
        return line.decode(errors="replace")


def _in_words(returncode: int) -> str:
    if returncode >= 0:
        return f"exit code {returncode}"
    try:
        return f"by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"by signal {-returncode}"
