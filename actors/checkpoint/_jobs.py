"""The queue of jobs of a storage; see `JobQueue`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, cast, final

import attrs
import trio

from actors.checkpoint._jobs_types import OVER
from actors.checkpoint._log._ids import checked_id
from actors.checkpoint._sql import _jobs_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from actors.checkpoint._backend import Backend
    from actors.checkpoint._jobs_types import JobState, JobStatus, Lease, Note
    from actors.checkpoint._lane import Lane
    from actors.checkpoint._sql._sql_backend import SQLBackend

T = TypeVar("T")

#: How often who waits looks by itself, in seconds: for jobs of other processes, and for leases
#: that have ended.
LOOK: Final = 0.25
# A lease that ends now has ended a moment later.
_MOMENT: Final = 0.01


class News(Protocol):
    """Hears of jobs that wait."""

    async def listen(self) -> None:
        """Begin to hear; what happens from now on is not missed."""
        ...

    async def wait(self, at_most: float) -> None:
        """Wait until there may be a job, or for so many seconds."""
        ...


@final
class SQLJobs:
    """Jobs in a database.

    Args:
        lane: calls the database.
        news: hears of jobs that wait.
    """

    def __init__(self, lane: Lane, news: News) -> None:
        self._lane = lane
        self._news = news
        # The last note that each worker here has seen, by job and token.
        self._seen: dict[tuple[str, int], int] = {}

    async def _call(self, do: Callable[[SQLBackend], T]) -> T:
        def call(backend: Backend) -> T:
            return do(cast("SQLBackend", backend))

        return await self._lane.call(call)

    async def submit(self, job_id: str, body: Any, *, queue: str = "default") -> bool:
        """Add a job; False if there is one with this id already."""
        checked_id(job_id)
        return await self._call(lambda table: _jobs_table.submit(table, job_id, body, queue))

    async def claim(
        self, owner: str, *, queue: str = "default", ttl: float, wait: float = 0.0
    ) -> Lease | None:
        """Take the oldest job that nobody has, or whose lease has ended."""
        end = trio.current_time() + wait
        if wait > 0:
            await self._news.listen()
        while True:
            found = await self._call(lambda table: _jobs_table.claim(table, owner, queue, ttl))
            left = end - trio.current_time()
            if not isinstance(found, float):
                return found
            if left <= 0:
                return None
            await self._news.wait(min(left, found + _MOMENT))

    async def renew(self, lease: Lease, *, ttl: float) -> Lease:
        """Keep a job for longer."""
        until = await self._call(lambda table: _jobs_table.renew(table, lease, ttl))
        return attrs.evolve(lease, until=until)

    async def release(self, lease: Lease) -> None:
        """Give a job back."""
        await self._finish(lease, "waiting", None)

    async def finish(self, lease: Lease, state: JobState, result: Any = None) -> None:
        """Say how a job has ended, or that it is parked until somebody answers."""
        if state not in {"parked", *OVER}:
            raise ValueError(f"a job ends done, failed or cancelled, or is parked, not {state!r}")
        await self._finish(lease, state, result)

    async def _finish(self, lease: Lease, state: JobState, result: Any) -> None:
        seen = self._seen.pop((lease.job_id, lease.token), 0)
        finish = partial(_jobs_table.finish, lease=lease, state=state, result=result, seen=seen)
        await self._call(finish)

    async def notes(self, lease: Lease, *, after: int = 0) -> list[Note]:
        """Return what was said about a job."""
        found = await self._call(lambda table: _jobs_table.notes(table, lease.job_id, after))
        key = lease.job_id, lease.token
        last = max((one.number for one in found), default=after)
        self._seen[key] = max(self._seen.get(key, 0), last)
        return found

    async def status(self, job_id: str) -> JobStatus:
        """Tell where a job is."""
        return await self._call(lambda table: _jobs_table.status(table, job_id))

    async def answer(self, job_id: str, answers: Mapping[str, Any]) -> None:
        """Answer what a job asks, by request id."""
        content = dict(answers)
        await self._call(lambda table: _jobs_table.note(table, job_id, "answer", content))

    async def cancel(self, job_id: str, after: str = "now") -> None:
        """Ask whoever works at a job, or will, to cancel it."""
        await self._call(lambda table: _jobs_table.note(table, job_id, "cancel", after))

    async def list_jobs(self, *, queue: str | None = None) -> list[JobStatus]:
        """Return all jobs, oldest first."""
        return await self._call(lambda table: _jobs_table.list_jobs(table, queue))

    async def forget(self, job_id: str) -> bool:
        """Remove a job that has ended."""
        return await self._call(lambda table: _jobs_table.forget(table, job_id))


@final
class Looking:
    """Hears of nothing: who waits looks now and then."""

    async def listen(self) -> None:
        """Do nothing."""
        await trio.lowlevel.checkpoint()

    async def wait(self, at_most: float) -> None:
        """Wait until it is time to look again."""
        await trio.sleep(min(at_most, LOOK))
