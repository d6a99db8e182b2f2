"""Jobs: submitted anywhere, worked at by one at a time, taken over when a worker is gone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio

from actors import open_storage
from protocols import CheckpointNotFoundError, JobStateError, LeaseLostError, Message

SHORT = 0.05


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def jobs(request: pytest.FixtureRequest, place: Path) -> AsyncIterator[Any]:
    urls = {"memory": "memory:", "sqlite": f"sqlite:///{place}/runs.db"}
    url = urls.get(request.param) or request.getfixturevalue("postgres_url")
    async with open_storage(url) as storage:
        yield storage.jobs


async def test_a_job_goes_from_its_submission_over_a_worker_to_its_result(jobs: Any) -> None:
    body = {"message": Message("user", ["do it"])}
    assert await jobs.submit("job", body) is True
    assert await jobs.submit("job", "something else") is False
    assert (await jobs.status("job")).state == "waiting"

    lease = await jobs.claim("me", ttl=10)
    assert (lease.job_id, lease.body, lease.token, lease.owner) == ("job", body, 1, "me")
    assert await jobs.claim("you", ttl=10) is None
    running = await jobs.status("job")
    assert (running.state, running.owner) == ("running", "me")
    assert 5 < running.left <= 10

    await jobs.finish(lease, "done", {"answer": 42})
    status = await jobs.status("job")
    assert (status.state, status.result, status.left) == ("done", {"answer": 42}, 0)
    assert await jobs.claim("you", ttl=10) is None


async def test_jobs_are_taken_oldest_first_and_by_queue(jobs: Any) -> None:
    for number in range(3):
        await jobs.submit(f"job-{number}", number)
    await jobs.submit("other", None, queue="slow")
    taken = [(await jobs.claim("me", ttl=10)).body for _ in range(3)]
    assert taken == [0, 1, 2]
    assert (await jobs.claim("me", queue="slow", ttl=10)).job_id == "other"
    assert [one.job_id for one in await jobs.list_jobs()] == ["job-0", "job-1", "job-2", "other"]


async def test_of_many_workers_each_job_gets_one(jobs: Any) -> None:
    for number in range(20):
        await jobs.submit(f"job-{number}", number)
    done: list[int] = []

    async def work(name: str) -> None:
        while (lease := await jobs.claim(name, ttl=10)) is not None:
            done.append(lease.body)
            await jobs.finish(lease, "done")

    async with trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(work, f"worker-{number}")
    assert sorted(done) == list(range(20))


async def test_who_lets_a_lease_end_loses_the_job_and_cant_end_it_any_more(jobs: Any) -> None:
    await jobs.submit("job", None)
    first = await jobs.claim("frozen", ttl=SHORT)
    second = await jobs.claim("next", ttl=10, wait=10)
    assert (second.job_id, second.token) == ("job", 2)
    for stale in (jobs.renew(first, ttl=1), jobs.finish(first, "done"), jobs.release(first)):
        with pytest.raises(LeaseLostError, match=r"'frozen' no longer has the job 'job'.*token 2"):
            await stale
    await jobs.finish(second, "done", 1)
    with pytest.raises(LeaseLostError, match="it is done already"):
        await jobs.finish(second, "failed", 2)


async def test_a_lease_that_is_renewed_goes_on(jobs: Any) -> None:
    await jobs.submit("job", None)
    lease = await jobs.claim("me", ttl=4 * SHORT)
    for _ in range(4):
        await trio.sleep(2 * SHORT)
        lease = await jobs.renew(lease, ttl=4 * SHORT)
    assert await jobs.claim("you", ttl=1) is None


async def test_a_job_that_is_given_back_is_taken_by_somebody_else(jobs: Any) -> None:
    await jobs.submit("job", None)
    await jobs.release(await jobs.claim("me", ttl=10))
    lease = await jobs.claim("you", ttl=10)
    assert (lease.owner, lease.token) == ("you", 2)


async def test_a_parked_job_waits_again_when_somebody_answers(jobs: Any) -> None:
    await jobs.submit("job", None)
    lease = await jobs.claim("me", ttl=10)
    assert await jobs.notes(lease) == []
    await jobs.finish(lease, "parked", {"asks": ["q"]})
    assert await jobs.claim("me", ttl=10) is None
    await jobs.answer("job", {"q": True})
    lease = await jobs.claim("you", ttl=10)
    (note,) = await jobs.notes(lease)
    assert (note.kind, note.content) == ("answer", {"q": True})
    assert await jobs.notes(lease, after=note.number) == []


async def test_an_answer_that_comes_while_the_job_is_being_parked_isnt_lost(jobs: Any) -> None:
    await jobs.submit("job", None)
    lease = await jobs.claim("me", ttl=10)
    await jobs.notes(lease)
    await jobs.answer("job", {"q": True})
    await jobs.finish(lease, "parked")
    assert (await jobs.status("job")).state == "waiting"


async def test_a_cancellation_reaches_whoever_works_at_the_job(jobs: Any) -> None:
    await jobs.submit("job", None)
    await jobs.cancel("job", "turn")
    lease = await jobs.claim("me", ttl=10)
    (note,) = await jobs.notes(lease)
    assert (note.kind, note.content) == ("cancel", "turn")
    await jobs.finish(lease, "cancelled")
    with pytest.raises(JobStateError, match="'job' is cancelled: there is nothing to answer"):
        await jobs.answer("job", {"q": 1})


async def test_only_a_job_that_has_ended_is_forgotten(jobs: Any) -> None:
    assert await jobs.forget("job") is False
    await jobs.submit("job", None)
    with pytest.raises(JobStateError, match="cancel it first"):
        await jobs.forget("job")
    await jobs.finish(await jobs.claim("me", ttl=10), "failed", "why")
    assert await jobs.forget("job") is True
    for asked in (jobs.status("job"), jobs.answer("job", {}), jobs.cancel("job")):
        with pytest.raises(CheckpointNotFoundError, match="no job 'job'"):
            await asked


async def test_who_waits_for_a_job_gets_it_soon_after_it_was_submitted(jobs: Any) -> None:
    async with trio.open_nursery() as nursery:

        async def submit() -> None:
            await trio.sleep(SHORT)
            await jobs.submit("job", "now")

        nursery.start_soon(submit)
        with trio.fail_after(5):
            lease = await jobs.claim("me", ttl=10, wait=4)
    assert lease is not None
    assert lease.body == "now"
    with trio.fail_after(2):
        assert await jobs.claim("me", ttl=10, wait=SHORT) is None


async def test_several_may_wait_at_the_same_time(jobs: Any) -> None:
    got: list[str] = []

    async def work(name: str) -> None:
        lease = await jobs.claim(name, ttl=10, wait=8)
        assert lease is not None
        got.append(lease.job_id)

    with trio.fail_after(8):
        async with trio.open_nursery() as nursery:
            for number in range(4):
                nursery.start_soon(work, f"worker-{number}")
            await trio.sleep(SHORT)
            for number in range(4):
                await jobs.submit(f"job-{number}", None)
    assert sorted(got) == ["job-0", "job-1", "job-2", "job-3"]


async def test_postgresql_tells_who_waits_at_once(postgres_url: str) -> None:
    """Without NOTIFY this would take until the next look, in five seconds."""
    async with open_storage(postgres_url) as one, open_storage(postgres_url) as other:
        async with trio.open_nursery() as nursery:

            async def submit() -> None:
                await trio.sleep(4 * SHORT)
                await other.jobs.submit("job", None)

            nursery.start_soon(submit)
            with trio.fail_after(3):
                assert await one.jobs.claim("me", ttl=60, wait=30) is not None
