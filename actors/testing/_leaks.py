# What counts is what was not there before. trio keeps threads that have nothing to do for a
# while, under a name of its own; they are no leak. A file descriptor is told by its number and by
# what it leads to, so that one which was closed and opened again as something else is seen.
"""An oracle that says what a piece of code has left behind."""

from __future__ import annotations

import gc
import os
import sys
import threading
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import attrs
import trio
from trio.testing import wait_all_tasks_blocked

from actors._core._system import System, current_system

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

FD_DIRS: Final = (Path("/proc/self/fd"), Path("/dev/fd"))
IDLE_THREAD: Final = "Trio thread "
# How many frames to remember of where a coroutine was made, for those nobody awaits.
DEPTH: Final = 4
# Seconds for what is about to end. That is a matter of steps, not of time.
SETTLE: Final = 1.0


class LeakError(AssertionError):
    """Something was left behind.

    Attributes:
        found: one sentence for each.
    """

    def __init__(self, found: tuple[str, ...]) -> None:
        super().__init__("left behind: " + "; ".join(found))
        self.found = found


@attrs.frozen
class Belongings:
    """What there is at one moment, each with how to call it."""

    tasks: dict[Any, str]
    threads: dict[Any, str]
    files: dict[Any, str]
    timers: dict[Any, str]

    @classmethod
    def now(cls, systems: tuple[System, ...] = ()) -> Belongings:
        """Look around."""
        return cls(_tasks(), _threads(), _files(), _timers(systems))

    def beyond(self, before: Belongings) -> list[str]:
        """Say what is here that was not there *before*."""
        return [
            f"{kind} {name}"
            for kind in ("tasks", "threads", "files", "timers")
            for key, name in getattr(self, kind).items()
            if key not in getattr(before, kind)
        ]


class leaks:  # noqa: N801  (it reads as what it does, like contextlib.suppress)
    """Fail with `LeakError` if the block leaves anything behind that was not there before.

    It looks for tasks, threads, open files and sockets, timers of actor systems, coroutines
    that nobody awaited, and files that nobody closed. Use it as ``async with`` inside of trio:
    it then waits until what is about to end has ended. Around ``trio.run`` a plain ``with``
    does. If the block raises, that is more important: what was left is noted on the error.

    Args:
        *systems: whose timers count. By default that of the block we are in, if any.
    """

    def __init__(self, *systems: System) -> None:
        self._systems = systems
        self._before: Belongings | None = None
        self._catcher: warnings.catch_warnings[list[warnings.WarningMessage]] | None = None
        self._caught: list[warnings.WarningMessage] = []
        self._depth = 0

    def __enter__(self) -> Self:
        system = current_system()
        if not self._systems and system is not None:
            self._systems = (system,)
        gc.collect()
        self._before = Belongings.now(self._systems)
        self._depth = sys.get_coroutine_origin_tracking_depth()
        sys.set_coroutine_origin_tracking_depth(max(DEPTH, self._depth))
        self._catcher = warnings.catch_warnings(record=True)
        caught = self._catcher.__enter__()
        assert caught is not None, "it was asked to record"
        self._caught = caught
        warnings.simplefilter("always")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        found = self._look()
        if not found:
            return
        if error is None:
            raise LeakError(found)
        error.add_note(f"besides, it left behind: {'; '.join(found)}")

    async def __aenter__(self) -> Self:
        await trio.lowlevel.checkpoint()
        return self.__enter__()

    async def __aexit__(  # noqa: ASYNC910  (it waits, or has waited long enough)
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        gc.collect()  # what was dropped has its end arranged for, and then ends
        with trio.CancelScope(shield=True, deadline=trio.current_time() + SETTLE):
            await wait_all_tasks_blocked()
        self.__exit__(kind, error, trace)

    def _look(self) -> tuple[str, ...]:
        assert self._before is not None
        assert self._catcher is not None
        gc.collect()
        found = Belongings.now(self._systems).beyond(self._before)
        sys.set_coroutine_origin_tracking_depth(self._depth)
        self._catcher.__exit__(None, None, None)
        for warning in self._caught:
            if _is_about_a_leak(warning):
                found.append(str(warning.message).strip())
            else:
                # Somebody else's, who may have asked for it to be an error.
                warnings.warn_explicit(
                    warning.message, warning.category, warning.filename, warning.lineno
                )
        return tuple(found)


def _is_about_a_leak(warning: warnings.WarningMessage) -> bool:
    if issubclass(warning.category, ResourceWarning):
        return True
    return issubclass(warning.category, RuntimeWarning) and "never awaited" in str(warning.message)


def _tasks() -> dict[Any, str]:
    try:
        root = trio.lowlevel.current_root_task()
    except RuntimeError:
        return {}
    return {} if root is None else {task: repr(task.name) for task in _below(root)}


def _below(task: trio.lowlevel.Task) -> Iterator[trio.lowlevel.Task]:
    todo = [task]
    while todo:
        task = todo.pop()
        yield task
        todo += [child for nursery in task.child_nurseries for child in nursery.child_tasks]


def _threads() -> dict[Any, str]:
    return {
        thread: repr(thread.name)
        for thread in threading.enumerate()
        if not thread.name.startswith(IDLE_THREAD)
    }


def _files() -> dict[Any, str]:
    directory = next((path for path in FD_DIRS if path.is_dir()), None)
    if directory is None:  # pragma: no cover  (an operating system without such a directory)
        return {}
    found = {}
    for entry in os.listdir(directory):  # noqa: PTH208  (it has to be closed before we look)
        try:
            target = os.readlink(directory / entry)  # noqa: PTH115  (sockets aren't paths)
        except OSError:
            continue  # the one that the list was read from
        found[entry, target] = f"{entry} ({target})"
    return found


def _timers(systems: tuple[System, ...]) -> dict[Any, str]:
    """Each system's n-th timer: they have no names, so it is their number that may not grow."""
    return {
        (system, number): f"of {system.name}"
        for system in systems
        for number in range(len(system.timers))
    }
