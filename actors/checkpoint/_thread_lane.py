# One thread at a time works for a storage, in the order in which it was asked. It is one of
# trio's, taken when there is something to do and given back when there is nothing more: a
# storage that nobody closes leaves no thread behind.
#
# Commits that have queued up meanwhile are written in one go: with many runs at once, that one
# flush to the disk is shared is what makes safe commits cheap.
#
# Once something is in the queue it is done. A caller that is cancelled meanwhile waits until it
# is: otherwise nobody would know whether it was written.
"""A lane in a thread, with commits written in groups."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeVar, final

import attrs
import trio

from actors.checkpoint._backend import Backend, Write
from actors.checkpoint._types import Saved

T = TypeVar("T")

#: How many commits are written in one go at most.
GROUP: Final = 512


@attrs.frozen(eq=False)
class _Append:
    write: Write
    saved: Saved
    token: trio.lowlevel.TrioToken


@attrs.define(eq=False)
class _Call:
    do: Callable[[Backend], Any] | None  # None: close it
    task: trio.lowlevel.Task
    token: trio.lowlevel.TrioToken
    result: Any = None
    error: BaseException | None = None


@final
class ThreadLane:
    """Calls a backend in a thread.

    Args:
        connect: makes the backend, in the thread, when it is first needed, and again after it
            was closed or couldn't be made.
    """

    def __init__(self, connect: Callable[[], Backend]) -> None:
        self._connect = connect
        self._backend: Backend | None = None
        self._queue: deque[_Append | _Call] = deque()
        self._lock = threading.Lock()
        self._is_working = False
        self.groups = 0

    async def call(self, do: Callable[[Backend], T]) -> T:
        """Return what *do* returns; it runs to its end even if the caller is cancelled."""
        await trio.lowlevel.checkpoint_if_cancelled()
        result: T = await self._call(do)
        return result

    async def _call(self, do: Callable[[Backend], Any] | None) -> Any:
        token = trio.lowlevel.current_trio_token()
        call = _Call(do, trio.lowlevel.current_task(), token)
        self._submit(call)
        await trio.lowlevel.wait_task_rescheduled(lambda _: trio.lowlevel.Abort.FAILED)
        if call.error is not None:
            raise call.error
        return call.result

    def append(self, write: Write, saved: Saved) -> bool:
        """Write a commit; *saved* is told when it is safe."""
        self._submit(_Append(write, saved, trio.lowlevel.current_trio_token()))
        return False

    async def close(self) -> None:
        """Wait for what is on its way, and close the backend."""
        await self._call(None)
        await trio.lowlevel.checkpoint_if_cancelled()

    def _let_go(self) -> None:
        backend, self._backend = self._backend, None
        if backend is not None:
            backend.close()

    def _submit(self, item: _Append | _Call) -> None:
        with self._lock:
            self._queue.append(item)
            is_idle, self._is_working = not self._is_working, True
        if is_idle:
            trio.lowlevel.start_thread_soon(self._work, lambda _: None, "checkpoint storage")

    # ------------------------------------------------------------------ in the thread

    def _work(self) -> None:
        while items := self._next():
            first = items[0]
            if isinstance(first, _Call):
                self._do(first)
            else:
                self._write([one for one in items if isinstance(one, _Append)])

    def _next(self) -> list[_Append | _Call]:
        """Take one call, or as many commits as are waiting before the next call."""
        with self._lock:
            queue, items = self._queue, list[_Append | _Call]()
            while queue and len(items) < GROUP:
                if isinstance(queue[0], _Call) and items:
                    break
                items.append(queue.popleft())
                if isinstance(items[0], _Call):
                    break
            self._is_working = bool(items)
            return items

    def _ready(self) -> Backend:
        if self._backend is not None and not self._backend.is_alive():
            self._let_go()
        if self._backend is None:
            self._backend = self._connect()
        return self._backend

    def _do(self, call: _Call) -> None:
        try:
            if call.do is None:
                self._let_go()
            else:
                call.result = call.do(self._ready())
        except BaseException as exc:  # noqa: ASYNC103, BLE001  (it is raised where the call was)
            call.error = exc
        # The program may have ended without waiting.
        with suppress(trio.RunFinishedError):
            call.token.run_sync_soon(trio.lowlevel.reschedule, call.task)

    def _write(self, items: list[_Append]) -> None:
        self.groups += 1
        try:
            errors = self._ready().append([one.write for one in items])
        except Exception as exc:  # noqa: BLE001  (whoever waits for these is told)
            errors = [exc] * len(items)
        told: dict[trio.lowlevel.TrioToken, list[tuple[Saved, BaseException | None]]] = {}
        for one, error in zip(items, errors, strict=True):
            told.setdefault(one.token, []).append((one.saved, error))
        for token, news in told.items():
            with suppress(trio.RunFinishedError):
                token.run_sync_soon(_tell, news)


def _tell(news: list[tuple[Saved, BaseException | None]]) -> None:
    for saved, error in news:
        saved(error)
