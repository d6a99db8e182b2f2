# Each function is one transaction. Two workers never get the same job: SQLite has one writer at
# a time, and PostgreSQL skips the rows that another transaction holds. A lease is good while its
# token is the job's; the clock only decides when somebody else may take a job, and it is the
# database's, so that the clocks of machines needn't agree.
"""Jobs in the table of a database."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from actors.checkpoint._jobs_types import OVER, JobState, JobStatus, Lease, Note
from protocols._checkpoint_errors import CheckpointNotFoundError, JobStateError, LeaseLostError

if TYPE_CHECKING:
    from actors.checkpoint._sql._sql_backend import SQLBackend

_COLUMNS: Final = "id, queue, state, owner, token, until, result"


def submit(table: SQLBackend, job_id: str, body: Any, queue: str) -> bool:
    """Add a job, unless there is one with this id."""
    nothing = table.sealer.value("job result", job_id, None)
    sealed = table.sealer.value("job", job_id, body)
    with table.step():
        if table.query("select 1 from jobs where id = ?", (job_id,)):
            return False
        table.do(
            "insert into jobs(id, queue, state, owner, token, until, body, result) "
            "values (?, ?, 'waiting', '', 0, 0, ?, ?) on conflict(id) do nothing",
            (job_id, queue, sealed, nothing),
        )
        table.notify(queue)
        return True


def claim(table: SQLBackend, owner: str, queue: str, ttl: float) -> Lease | float:
    """Take the oldest job that nobody has; or tell in how many seconds one may be free."""
    with table.step():
        now = table.now()
        found = table.query(
            "select id, token, body from jobs where queue = ? and (state = 'waiting' "  # noqa: S608
            f"or (state = 'running' and until < ?)) order by number limit 1{table.SKIP_LOCKED}",
            (queue, now),
        )
        if not found:
            query = "select min(until) from jobs where queue = ? and state = 'running'"
            ((first,),) = table.query(query, (queue,))
            return math.inf if first is None else max(0.0, first - now)
        job_id, token, body = found[0]
        table.do(
            "update jobs set state = 'running', owner = ?, token = ?, until = ? where id = ?",
            (owner, token + 1, now + ttl, job_id),
        )
    content = table.sealer.read_value("job", job_id, body)
    return Lease(job_id, queue, owner, token + 1, now + ttl, content)


def renew(table: SQLBackend, lease: Lease, ttl: float) -> float:
    """Keep a job, and return until when."""
    with table.step():
        _held(table, lease)
        until = table.now() + ttl
        table.do("update jobs set until = ? where id = ?", (until, lease.job_id))
        return until


def finish(table: SQLBackend, lease: Lease, state: JobState, result: Any, seen: int) -> None:
    """Say how a job has ended, that it waits for an answer, or that somebody else may have it."""
    sealed = table.sealer.value("job result", lease.job_id, result)
    with table.step():
        _held(table, lease)
        if state == "parked" and _notes(table, lease.job_id, seen):
            state = "waiting"
        table.do(
            "update jobs set state = ?, until = 0, result = ? where id = ?",
            (state, sealed, lease.job_id),
        )
        if state == "waiting":
            table.notify(lease.queue)


def _held(table: SQLBackend, lease: Lease) -> None:
    query = f"select token, state from jobs where id = ?{table.LOCKED}"  # noqa: S608  (ours)
    found = table.query(query, (lease.job_id,))
    if found and found[0] == (lease.token, "running"):
        return
    reason = f"somebody else took it (token {found[0][0]})" if found else "it was removed"
    if found and found[0][0] == lease.token:
        reason = f"it is {found[0][1]} already"
    raise LeaseLostError(
        f"{lease.owner!r} no longer has the job {lease.job_id!r} (token {lease.token}): {reason}; "
        "stop working at it. Renew leases at a third of their time",
        run_id=lease.job_id,
        incarnation=lease.token,
    )


def notes(table: SQLBackend, job_id: str, after: int) -> list[Note]:
    """Return what was said about a job."""
    with table.told():
        return _notes(table, job_id, after)


def _notes(table: SQLBackend, job_id: str, after: int) -> list[Note]:
    query = "select number, kind, body from notes where job = ? and number > ? order by number"
    return [
        Note(number, kind, table.sealer.read_value(f"note, {kind},", job_id, body))
        for number, kind, body in table.query(query, (job_id, after))
    ]


def note(table: SQLBackend, job_id: str, kind: str, content: Any) -> None:
    """Say something about a job; one that is parked waits for a worker again."""
    sealed = table.sealer.value(f"note, {kind},", job_id, content)
    with table.step():
        query = f"select queue, state from jobs where id = ?{table.LOCKED}"  # noqa: S608  (ours)
        found = table.query(query, (job_id,))
        if not found:
            raise _missing(job_id)
        queue, state = found[0]
        if state in OVER:
            raise JobStateError(
                f"the job {job_id!r} is {state}: there is nothing to {kind} any more"
            )
        table.do("insert into notes(job, kind, body) values (?, ?, ?)", (job_id, kind, sealed))
        if state == "parked":
            table.do("update jobs set state = 'waiting' where id = ?", (job_id,))
        table.notify(queue)


def status(table: SQLBackend, job_id: str) -> JobStatus:
    """Tell where a job is."""
    with table.told():
        found = table.query(f"select {_COLUMNS} from jobs where id = ?", (job_id,))  # noqa: S608  (ours)
        if not found:
            raise _missing(job_id)
        return _status(table, found[0], table.now())


def list_jobs(table: SQLBackend, queue: str | None) -> list[JobStatus]:
    """Return all jobs, oldest first."""
    query = f"select {_COLUMNS} from jobs"  # noqa: S608  (ours)
    with table.told():
        now = table.now()
        if queue is None:
            found = table.query(f"{query} order by number")
        else:
            found = table.query(f"{query} where queue = ? order by number", (queue,))
        return [_status(table, row, now) for row in found]


def _status(table: SQLBackend, row: tuple[Any, ...], now: float) -> JobStatus:
    job_id, queue, state, owner, token, until, result = row
    content = table.sealer.read_value("job result", job_id, result)
    left = max(0.0, until - now) if state == "running" else 0.0
    return JobStatus(job_id, queue, state, owner, token, content, left)


def forget(table: SQLBackend, job_id: str) -> bool:
    """Remove a job that has ended."""
    with table.step():
        query = f"select state from jobs where id = ?{table.LOCKED}"  # noqa: S608  (ours)
        found = table.query(query, (job_id,))
        if not found:
            return False
        if found[0][0] not in OVER:
            raise JobStateError(f"the job {job_id!r} is {found[0][0]}; cancel it first")
        table.do("delete from notes where job = ?", (job_id,))
        table.do("delete from jobs where id = ?", (job_id,))
        return True


def _missing(job_id: str) -> CheckpointNotFoundError:
    return CheckpointNotFoundError(f"there is no job {job_id!r}", checkpoint_id=job_id)
