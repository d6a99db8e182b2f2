"""What ``actors model fetch`` and ``actors model serve`` do."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from actors.agents._local._commands import fetch_command, serve_command
from actors.cli._interrupt import Interruption, run_interruptible
from actors.cli._outcome import DONE, INTERRUPTED
from actors.cli._views import say

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from actors.agents._local._files import FetchProgress

_DOING: Final = {"check": "checking", "download": "downloading", "unpack": "unpacking"}
_MEGABYTE: Final = 1_000_000
_TENTHS: Final = 10


def fetch_model_file(path: Path | None) -> int:
    """Fetch the small model, print where it is, and return the exit code."""

    async def fetch(interruption: Interruption) -> Path | None:
        with interruption.scope, _progress() as progress:
            return await fetch_command(path, progress.show)
        return None

    found = run_interruptible(fetch, notice="stopping the download")
    if found is None:
        say("Nothing was fetched; what was begun has been removed.")
        return INTERRUPTED
    print(found)  # noqa: T201 (a command line's output)
    return DONE


def serve_model_file(gguf: Path | None, **options: Any) -> int:
    """Serve a model file until Ctrl-C, and return the exit code."""

    async def serve(interruption: Interruption) -> None:
        with interruption.scope:
            await serve_command(gguf, say=_say_url, **options)

    run_interruptible(serve, notice="stopping the model server")
    say("The model server has stopped.")
    return INTERRUPTED


def _say_url(text: str) -> None:
    """Print the URL, for scripts; sentences are for people."""
    if text.startswith("http"):
        print(text, flush=True)  # noqa: T201 (a command line's output)
    else:
        say(text)


def _progress() -> _Lines | _Bar:
    return _Bar() if sys.stderr.isatty() else _Lines()


class _Lines:
    """Progress in lines: one for each tenth of the download, one for each other step."""

    def __init__(self) -> None:
        self._last = ("", -1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """There is nothing to take down."""

    def show(self, progress: FetchProgress) -> None:
        """Show how far it is."""
        is_download = progress.step == "download"
        tenth = _TENTHS * progress.done // max(progress.total, 1) if is_download else 0
        if (progress.step, tenth) == self._last:
            return
        self._last = (progress.step, tenth)
        share = f"{100 * tenth // _TENTHS} % of " if is_download else ""
        say(f"{_DOING[progress.step]} {share}{progress.total // _MEGABYTE} MB")


class _Bar:
    """Progress as a bar on a terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

        columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn()
        self._bars = Progress(*columns, console=Console(stderr=True))
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def show(self, progress: FetchProgress) -> None:
        """Show how far it is."""
        if progress.step not in self._tasks:
            task = self._bars.add_task(_DOING[progress.step], total=progress.total)
            self._tasks[progress.step] = task
        self._bars.update(self._tasks[progress.step], completed=progress.done)
