# A worker takes jobs of a storage and runs each as one run of a workflow, named by the job. The
# lease of a job is renewed while it runs; a worker that can't renew in time has lost the job, and
# stops it. A worker that doesn't know that it has lost it (it was frozen) is stopped by the
# fence: whoever took the job over has opened its run, so no commit of the older one counts.
#
# Where a job goes on is in the run's log, not in the job: whoever takes it resumes the run if
# there is one, and begins it otherwise. So it doesn't matter where a worker was when it died.
#
# A run that waits for people parks its job; an answer makes it one that waits for a worker.
# Answers stay with the job, and those to what isn't open are left aside, so that a resume may be
# given all of them again.
#
# What tools and clients are given holds secrets, and is stored neither with the run nor with the
# job. Each worker has it of its own, or finds it out for the job that it has taken.
"""Processes that run workflows for others: jobs under leases, from any machine."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from actors.checkpoint import LogStorage, Position
from actors.workflows._durable._errors import UnknownOutcomeError
from actors.workflows._durable._keys import parse
from actors.workflows._durable._opening import Place, Resumption
from actors.workflows._running._kwargs import RunKwargs
from actors.workflows._running._run import Run
from protocols._checkpoint_errors import (
    CheckpointNotFoundError,
    LeaseLostError,
    StaleWriterError,
    StorageError,
)
from protocols._errors import RequestError, WorkflowException
from protocols._events import WorkflowRunState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from actors.checkpoint import JobQueue, Lease
    from actors.checkpoint._jobs_types import JobState
    from actors.workflows._running._carry import Carry
    from actors.workflows._running._kwargs import Kwargs
    from actors.workflows._running._result import WorkflowRunResult
    from actors.workflows._workflow import Workflow

    JobKwargs: TypeAlias = (
        Kwargs | Callable[[Lease], Kwargs | Awaitable[Kwargs | None] | None] | None
    )

# How often a lease is renewed before it ends.
_RENEWALS: Final = 4

_log: Final = logging.getLogger(__name__)


@attrs.frozen(kw_only=True)
class WorkerOptions:
    """How a worker works.

    Args:
        queue: whose jobs it takes; those for the workflow's name if not given.
        name: who it is, for people.
        ttl: for how many seconds it takes a job. If it dies, somebody else takes the job over
            when they are past.
        concurrency: how many jobs it works at, at once.
    """

    queue: str | None = None
    name: str = "worker"
    ttl: float = attrs.field(default=10.0, validator=attrs.validators.gt(0))
    concurrency: int = attrs.field(default=1, validator=attrs.validators.ge(1))


class Worker:
    """Takes jobs and runs them: ``await Worker(workflow, storage).work()``.

    Args:
        workflow: what is run.
        storage: whose jobs, and where the runs are stored. It is one for several processes:
            SQLite on one machine, PostgreSQL on any.
        options: how.
        function_invocation_kwargs: for the tools of agents, as `Workflow.run` takes them; or a
            function, async or not, that is given the `Lease` of the job, and returns them. It is
            asked by whoever takes the job, and again when the job is taken over.
        client_kwargs: for the chat clients of agents, likewise.
    """

    def __init__(
        self,
        workflow: Workflow,
        storage: LogStorage,
        options: WorkerOptions | None = None,
        *,
        function_invocation_kwargs: JobKwargs = None,
        client_kwargs: JobKwargs = None,
    ) -> None:
        self.workflow = workflow
        self.options = options or WorkerOptions()
        self._kwargs = function_invocation_kwargs, client_kwargs
        self._storage = storage
        self._jobs: JobQueue = storage.jobs  # type: ignore[attr-defined]  # not all have one
        self._free = trio.CapacityLimiter(self.options.concurrency)
        self._queue = self.options.queue or workflow.name

    async def work(self) -> None:
        """Take jobs and run them, until somebody cancels.

        Runs in progress are then stored as they are, and their jobs given back. The same if
        somebody can't say what tools are to be given: that is no failure of a job.
        """
        async with trio.open_nursery() as nursery:
            while True:
                owner = object()
                await self._free.acquire_on_behalf_of(owner)
                lease = await self._jobs.claim(
                    self.options.name, queue=self._queue, ttl=self.options.ttl, wait=3600.0
                )
                if lease is None:
                    self._free.release_on_behalf_of(owner)
                else:
                    nursery.start_soon(self._one, lease, owner)

    async def work_once(self, *, wait: float = 0.0) -> bool:
        """Take one job, if there is one within so many seconds, and run it; say whether."""
        lease = await self._jobs.claim(
            self.options.name, queue=self._queue, ttl=self.options.ttl, wait=wait
        )
        if lease is None:
            return False
        await self._do(lease)
        return True

    async def _one(self, lease: Lease, owner: object) -> None:
        try:
            await self._do(lease)
        finally:
            self._free.release_on_behalf_of(owner)

    async def _do(self, lease: Lease) -> None:  # noqa: ASYNC910  (waits for the storage)
        """Work at a job until it is over, parked, or lost."""
        task = _Task(
            self.workflow, self._storage, self._jobs, lease, self.options.ttl, self._kwargs
        )
        try:
            await task.run()
        except (LeaseLostError, StaleWriterError):
            _log.warning("job %s was taken over by another worker", lease.job_id)
        except StorageError:
            # Its lease ends by itself, and then somebody takes it who can reach the storage.
            _log.exception("job %s: the storage can't be reached", lease.job_id)
            await trio.sleep(self.options.ttl)
        except BaseException:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + self.options.ttl):
                await task.give_back()
            raise


class _Task:
    """One job, under one lease."""

    def __init__(
        self,
        workflow: Workflow,
        storage: LogStorage,
        jobs: JobQueue,
        lease: Lease,
        ttl: float,
        kwargs: tuple[JobKwargs, JobKwargs],
    ) -> None:
        self._workflow = workflow
        self._storage = storage
        self._jobs = jobs
        self._lease = lease
        self._ttl = ttl
        self._given = kwargs
        self._kwargs = RunKwargs()
        self._run: Run | None = None
        self._answers: dict[str, Any] = {}
        self._last_note = 0
        self._cancel: str | None = None

    async def run(self) -> None:
        """Run until it is over, or needs an answer that isn't there."""
        failures: list[Exception] = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep, failures, nursery.cancel_scope)
            try:
                await self._go_on()
            except Exception as exc:  # noqa: BLE001  (raised below, outside of the nursery)
                failures.append(exc)
            nursery.cancel_scope.cancel()
        if failures:
            raise failures[0]

    async def give_back(self) -> None:  # noqa: ASYNC910  (waits for the storage)
        """Let somebody else have the job."""
        try:
            await self._jobs.release(self._lease)
        except (LeaseLostError, StorageError):
            _log.warning("job %s could not be given back", self._lease.job_id)

    async def _keep(self, failures: list[Exception], scope: trio.CancelScope) -> None:
        """Renew the lease, and hear what is said about the job."""
        while True:
            await trio.sleep(self._ttl / _RENEWALS)
            try:
                # Who can't renew in time has lost it, whatever the storage would say later.
                with trio.fail_after(self._ttl * (1 - 1 / _RENEWALS)):
                    self._lease = await self._jobs.renew(self._lease, ttl=self._ttl)
                    await self._hear()
            except LeaseLostError as exc:
                failures.append(exc)
                scope.cancel()
            except (trio.TooSlowError, StorageError) as exc:
                lost = LeaseLostError(f"the lease of {self._lease.job_id} has ended: {exc}")
                failures.append(lost)
                scope.cancel()

    async def _hear(self) -> None:
        for note in await self._jobs.notes(self._lease, after=self._last_note):
            self._last_note = note.number
            if note.kind == "answer":
                self._answers.update(note.content)
            else:
                self._cancel = str(note.content)
                self._stop()

    def _stop(self) -> None:
        run = self._run
        if run is None or run.is_over:
            return
        if self._cancel == "superstep" and run.settings.schedule == "superstep":
            run.ends_after_round = True
        elif self._cancel == "now":
            run.cancel()
        else:
            run.conductor.begin_no_more()
            run.check_quiet()

    async def _go_on(self) -> None:
        await self._hear()
        functions, client = [await _asked_for(each, self._lease) for each in self._given]
        self._kwargs = RunKwargs.given(self._workflow.graph, functions, client)
        while True:
            if self._cancel is not None:
                await self._jobs.finish(self._lease, "cancelled")
                return
            used = dict(self._answers)
            if await self._is_done_with(used) or self._answers == used:
                return

    async def _is_done_with(self, used: Mapping[str, Any]) -> bool:
        """Run with these answers; whether the job is over."""
        try:
            result = await self._resumed(used)
        except (StaleWriterError, StorageError):
            raise
        except UnknownOutcomeError as exc:
            await self._park({"unknown": {exc.request_id: str(exc)}}, used)
            return False
        except RequestError as exc:
            await self._park({"requests": await self._open(), "refused": str(exc)}, used)
            return False
        except Exception as exc:  # noqa: BLE001  (the job's outcome)
            return await self._has_failed(exc)
        return await self._is_over(result, used)

    async def _has_failed(self, error: Exception) -> bool:
        details = {"error": type(error).__name__, "message": str(error)}
        await self._jobs.finish(self._lease, "failed", details)
        return True

    async def _open(self) -> dict[str, Any]:
        """Return what the stored run asks."""
        entries = (await self._storage.read_run(self._lease.job_id)).values()
        # Those of workflows inside are asked by their hosts, if they are for people.
        found = [each for key, each in entries.items() if parse(key)[:2] == ((), "request")]
        return {each.id: each.data for each in found}

    async def _is_over(self, result: WorkflowRunResult, used: Mapping[str, Any]) -> bool:
        state = result.get_final_state()
        if state is WorkflowRunState.IDLE_WITH_PENDING_REQUESTS:
            asked = {each.request_id: each.data for each in result.get_request_info_events()}
            await self._park({"requests": asked}, used)
            return False
        outputs = list(result.get_outputs())
        is_cancelled = state is WorkflowRunState.CANCELLED
        end: JobState = "cancelled" if is_cancelled else "done"
        found: dict[str, Any] = {"outputs": outputs}
        if result.undelivered:
            found["undelivered"] = [
                f"a {type(each.message).__name__} of {each.source_executor_id!r}: {each.reason}"
                for each in result.undelivered
            ]
        await self._jobs.finish(self._lease, end, found)
        return True

    async def _park(self, what: dict[str, Any], used: Mapping[str, Any]) -> None:
        """Wait for people, unless somebody has answered meanwhile."""
        await self._hear()
        if self._answers == used:
            await self._jobs.finish(self._lease, "parked", what)

    async def _resumed(self, answers: Mapping[str, Any]) -> WorkflowRunResult:
        start = await self._beginning(answers)
        make = self._workflow._make_run  # noqa: SLF001  (as the workflow itself does)
        run = self._run = make(Run, None, start, self._storage, False, None)
        try:
            return await run.execute()
        finally:
            self._run = None

    async def _beginning(self, answers: Mapping[str, Any]) -> Carry | Resumption:
        """Return the state of the run if it has begun, and otherwise what it begins with."""
        run_id, kwargs = self._lease.job_id, self._kwargs
        try:
            stored = await self._storage.read_run(run_id)
        except CheckpointNotFoundError:
            workflow, body = self._workflow, self._lease.body
            _, carry = workflow._begin(body, None, (None, None))  # noqa: SLF001  (as `run` does)
            more = workflow._completing(body)  # noqa: SLF001
            place = Place(self._storage, Position(run_id, 0))
            return attrs.evolve(  # noqa: ASYNC910  (waits for the storage)
                carry, kwargs=kwargs, beginning=carry.beginning + more, position=place
            )
        if stored.checkpoint_id is None:
            raise WorkflowException(f"the run {run_id!r} has no checkpoint to go on from")
        return Resumption(stored.checkpoint_id, answers, kwargs, is_lenient=True)


async def _asked_for(kwargs: JobKwargs, lease: Lease) -> Kwargs | None:  # noqa: ASYNC910  (mostly known)
    """Return what a job's tools or clients are given."""
    if not callable(kwargs):
        return kwargs  # noqa: ASYNC910  (as above)
    found = kwargs(lease)
    return await found if isinstance(found, Awaitable) else found  # noqa: ASYNC910  (as above)
