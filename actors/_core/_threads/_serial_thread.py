# One thread at a time, in the order in which it was asked. It is one of trio's, taken when there
# is something to do and given back when there is nothing more: who forgets to close the owner
# leaves no thread behind.
#
# Once something is in the queue it is done. A caller that is cancelled meanwhile waits until it
# is: otherwise nobody would know whether it was.
"""Work that blocks and must keep its order: files, databases."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, TypeAlias, TypeVar, final

import attrs
import trio
from trio.lowlevel import (
    Abort,
    Task,
    TrioToken,
    checkpoint_if_cancelled,
    current_task,
    current_trio_token,
    reschedule,
    start_thread_soon,
    wait_task_rescheduled,
)

T = TypeVar("T")

#: Told in the trio thread: None, or what went wrong.
Told: TypeAlias = Callable[[BaseException | None], None]

#: How many items are worked on in one go at most.
GROUP: Final = 512


@attrs.frozen(eq=False)
class _Item:
    content: Any
    told: Told
    token: TrioToken


@attrs.define(eq=False)
class _Call:
    function: Callable[[], Any]
    task: Task | None = None
    token: TrioToken | None = None
    result: Any = None
    error: BaseException | None = None


@final
class SerialThread:
    """Does calls, and works on items in groups, one after another in a thread.

    Args:
        work: works on several items that were put in one after another, in one go, and returns
            for each what went wrong with it, or None. If it raises, that is what went wrong
            with each of them.
        name: of the thread.
    """

    def __init__(
        self, work: Callable[[list[Any]], Sequence[BaseException | None]], name: str
    ) -> None:
        self._work = work
        self._name = name
        self._queue: deque[_Item | _Call] = deque()
        self._lock = threading.Lock()
        self._is_busy = False

    def put(self, item: Any, told: Told) -> None:
        """Have an item worked on; *told* must not raise."""
        self._submit(_Item(item, told, current_trio_token()))

    def soon(self, function: Callable[[], Any]) -> None:
        """Have something done about which nobody wants to hear."""
        self._submit(_Call(function))

    async def call(self, function: Callable[[], T]) -> T:
        """Return what *function* returns; not even a cancellation keeps it from its end."""
        await checkpoint_if_cancelled()
        return await self.finish(function)

    async def finish(self, function: Callable[[], T], *, abandons: bool = False) -> T:  # noqa: ASYNC910  (it waits)
        """Do the same also for who is cancelled already: for cleaning up.

        Args:
            function: what is done.
            abandons: whether a cancellation ends the waiting. It is done all the same, some time.
        """
        call = _Call(function, current_task(), current_trio_token())
        self._submit(call)

        def abort(_: object) -> Abort:
            if not abandons:
                return Abort.FAILED
            call.task = None
            return Abort.SUCCEEDED

        await wait_task_rescheduled(abort)
        if call.error is not None:
            raise call.error
        result: T = call.result
        return result

    def _submit(self, entry: _Item | _Call) -> None:
        with self._lock:
            self._queue.append(entry)
            is_idle, self._is_busy = not self._is_busy, True
        if is_idle:
            start_thread_soon(self._run, lambda _: None, self._name)

    # ------------------------------------------------------------------ in the thread

    def _run(self) -> None:
        while entries := self._next():
            first = entries[0]
            if isinstance(first, _Call):
                _do(first)
            else:
                self._do_items([one for one in entries if isinstance(one, _Item)])

    def _next(self) -> list[_Item | _Call]:
        """Take one call, or as many items as are waiting before the next call."""
        with self._lock:
            queue, entries = self._queue, list[_Item | _Call]()
            while queue and len(entries) < GROUP:
                if entries and (isinstance(queue[0], _Call) or isinstance(entries[0], _Call)):
                    break
                entries.append(queue.popleft())
            self._is_busy = bool(entries)
            return entries

    def _do_items(self, items: list[_Item]) -> None:
        try:
            errors = self._work([one.content for one in items])
        except Exception as exc:  # noqa: BLE001  (whoever waits for these is told)
            errors = [exc] * len(items)
        news: dict[TrioToken, list[tuple[Told, BaseException | None]]] = {}
        for one, error in zip(items, errors, strict=True):
            news.setdefault(one.token, []).append((one.told, error))
        for token, some in news.items():
            # The program may have ended without waiting.
            with suppress(trio.RunFinishedError):
                token.run_sync_soon(_tell, some)


def _do(call: _Call) -> None:
    try:
        call.result = call.function()
    except BaseException as exc:  # noqa: ASYNC103, BLE001  (it is raised where the call was made)
        call.error = exc
    if call.token is not None:
        with suppress(trio.RunFinishedError):
            call.token.run_sync_soon(_wake, call)


def _wake(call: _Call) -> None:
    if call.task is not None:  # otherwise nobody waits any more
        reschedule(call.task)


def _tell(news: list[tuple[Told, BaseException | None]]) -> None:
    for told, error in news:
        told(error)
