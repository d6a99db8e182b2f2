"""Jobs that wait for a worker, and leases of those that a worker has taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Where a job is: nobody has it, somebody works at it, it needs an answer, or it is over.
JobState: TypeAlias = Literal["waiting", "running", "parked", "done", "failed", "cancelled"]

OVER: Final = frozenset({"done", "failed", "cancelled"})


@attrs.frozen
class Lease:
    """The right to work at a job for a while.

    Args:
        job_id: names the job, and usually the run.
        queue: where it was submitted.
        owner: who has the lease.
        token: grows with each lease of the job. What is done under an older one is refused.
        until: when it ends, in seconds of the storage's clock.
        body: what was submitted.
    """

    job_id: str
    queue: str
    owner: str
    token: int
    until: float
    body: Any


@attrs.frozen
class JobStatus:
    """What is known of a job.

    Args:
        job_id: names the job.
        queue: where it was submitted.
        state: where it is.
        owner: who worked at it last.
        token: of the last lease; 0 if there was none.
        result: what it ended with, or what it waits for.
        left: how long the lease goes on, in seconds; 0 if nobody has one.
    """

    job_id: str
    queue: str
    state: JobState
    owner: str
    token: int
    result: Any
    left: float


@attrs.frozen
class Note:
    """What somebody said to whoever works at a job.

    Args:
        number: grows with each note.
        kind: ``answer`` or ``cancel``.
        content: answers by request id; or how it is to be cancelled.
    """

    number: int
    kind: Literal["answer", "cancel"]
    content: Any


class JobQueue(Protocol):
    """Hands jobs to workers, each to one at a time.

    All of it may be called from any process and machine that has the storage.
    """

    async def submit(self, job_id: str, body: Any, *, queue: str = "default") -> bool:
        """Add a job; False if there is one with this id already, which stays as it is."""
        ...

    async def claim(
        self, owner: str, *, queue: str = "default", ttl: float, wait: float = 0.0
    ) -> Lease | None:
        """Take the oldest job that nobody has, or whose lease has ended.

        Args:
            owner: who takes it; only for people.
            queue: of which queue.
            ttl: for how long, in seconds.
            wait: how long to wait for one if there is none, in seconds.
        """
        ...

    async def renew(self, lease: Lease, *, ttl: float) -> Lease:
        """Keep a job for longer.

        Raises:
            LeaseLostError: somebody else may have it.
        """
        ...

    async def release(self, lease: Lease) -> None:
        """Give a job back, for somebody else to take it."""
        ...

    async def finish(self, lease: Lease, state: JobState, result: Any = None) -> None:
        """Say how a job has ended, or that it is parked until somebody answers.

        A job that is parked while there are notes that its worker hasn't seen waits instead.

        Raises:
            LeaseLostError: somebody else may have it.
        """
        ...

    async def notes(self, lease: Lease, *, after: int = 0) -> list[Note]:
        """Return what was said about a job, from the note after *after* on."""
        ...

    async def status(self, job_id: str) -> JobStatus:
        """Tell where a job is.

        Raises:
            CheckpointNotFoundError: there is none with this id.
        """
        ...

    async def answer(self, job_id: str, answers: Mapping[str, Any]) -> None:
        """Answer what a job asks, by request id; one that was parked waits for a worker again.

        Raises:
            CheckpointNotFoundError: there is none with this id.
            JobStateError: it has ended.
        """
        ...

    async def cancel(self, job_id: str, after: str = "now") -> None:
        """Ask whoever works at a job, or will, to cancel it; errors as those of `answer`."""
        ...

    async def list_jobs(self, *, queue: str | None = None) -> list[JobStatus]:
        """Return all jobs, oldest first."""
        ...

    async def forget(self, job_id: str) -> bool:
        """Remove a job that has ended; False if there is none.

        Raises:
            JobStateError: it hasn't.
        """
        ...
