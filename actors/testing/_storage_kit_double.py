"""A storage in trio's time, virtual or not: slow, failing, dying, coming back."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Self, TypeVar, final

import trio

from actors.checkpoint._memory import MemoryBackend
from actors.checkpoint._storage import LogStore
from protocols._checkpoint_errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from actors.checkpoint._backend import Backend, Write
    from actors.checkpoint._types import Saved

T = TypeVar("T")


class StorageDouble(LogStore):
    """Keeps checkpoints in memory, and is as slow and unreliable as a test wants it.

    Commits are on their way for a while, and are safe, or have failed, in their order. It is
    an ``async with`` block whose end waits for them. What was safe stays there over its death,
    and over its end: it can be opened again.

    Args:
        latency: how long a commit, or any other call, takes, in seconds of trio's time.

    Attributes:
        latency: the same; may be changed.
        written: how many commits are safe.
    """

    def __init__(self, latency: float = 0.0) -> None:
        self._double = _Lane(self)
        super().__init__(self._double)
        self.latency = latency
        self.written = 0
        self._failures: dict[int, BaseException] = {}
        self._death: BaseException | None = None
        self._gate = trio.Event()
        self._gate.set()

    def fail(self, nth: int = 1, error: BaseException | None = None) -> None:
        """Let the *nth* commit from now on fail, and so all that are on their way behind it.

        Args:
            nth: 1 is the next one that is written.
            error: what it fails with.
        """
        default = StorageError("this commit fails, as the test wants")
        self._failures[self.written + nth] = error or default

    def die(self, error: BaseException | None = None) -> None:
        """Let everything fail until it comes back, also what is on its way."""
        self._death = error or StorageError("the storage is away, as the test wants")

    def come_back(self) -> None:
        """Work again, with what was safe."""
        self._death = None

    def hold(self) -> None:
        """Keep everything on its way until `release`."""
        if self._gate.is_set():
            self._gate = trio.Event()

    def release(self) -> None:
        """Let go on what was held."""
        self._gate.set()

    async def __aenter__(self) -> Self:
        await self._double.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._double.stop(kind, error, trace)  # noqa: ASYNC102  (whoever cancels may)

    # ------------------------------------------------------------------ for its lane

    async def delay(self) -> None:
        """Wait as long as anything takes."""
        await self._gate.wait()
        await trio.sleep(self.latency)

    def fault(self) -> BaseException | None:
        """Return what is wrong with all of it."""
        return self._death

    def fault_of_commit(self) -> BaseException | None:
        """Return what is wrong with the commit that is about to be written."""
        return self._death or self._failures.pop(self.written + 1, None)


@final
class _Lane:
    """Calls a backend in memory after a while, in the order in which it was asked."""

    def __init__(self, owner: StorageDouble) -> None:
        self._owner = owner
        self._backend = MemoryBackend()
        self._queue: deque[tuple[Write, Saved]] = deque()
        self._news = trio.Event()
        self._nursery: Any = None
        self._is_closing = False

    async def start(self) -> None:
        """Begin to write what is appended."""
        self._is_closing = False
        self._nursery = trio.open_nursery()
        nursery = await self._nursery.__aenter__()
        nursery.start_soon(self._write)

    async def stop(self, *exception: Any) -> None:
        """Write what is on its way, and stop."""
        self._is_closing = True
        self._news.set()
        await self._nursery.__aexit__(*exception)

    async def call(self, do: Callable[[Backend], T]) -> T:
        """Return what *do* returns."""
        await self._owner.delay()
        error = self._owner.fault()
        if error is not None:
            raise error
        return do(self._backend)

    def append(self, write: Write, saved: Saved) -> bool:
        """Put a commit on its way."""
        if self._nursery is None:
            raise RuntimeError("open the storage first: async with storage: ...")
        self._queue.append((write, saved))
        self._news.set()
        return False

    async def close(self) -> None:
        """Do nothing: the end of the block does."""
        await trio.lowlevel.checkpoint()

    async def _write(self) -> None:
        while True:
            while self._queue:
                await self._owner.delay()
                write, saved = self._queue.popleft()
                saved(self._written(write))
            if self._is_closing:
                await trio.lowlevel.checkpoint()
                return
            self._news = trio.Event()
            await self._news.wait()

    def _written(self, write: Write) -> BaseException | None:
        error = self._owner.fault_of_commit()
        if error is None:
            (error,) = self._backend.append([write])
        if error is None:
            self._owner.written += 1
        return error
