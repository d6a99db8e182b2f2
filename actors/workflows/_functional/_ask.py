"""Asking the world outside, from the middle of a function."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from actors._core._turns._tasks import checkpoint_if_cancelled
from actors.workflows._functional._digest import digest_of
from actors.workflows._functional._journal import Asked
from protocols._events import WorkflowEvent, WorkflowRunState

if TYPE_CHECKING:
    from actors.workflows._functional._frames import Frame


async def ask(frame: Frame, data: Any, response_type: Any, request_id: str | None) -> Any:
    """Return the answer to a question, or park the task until the run pauses.

    Args:
        frame: where it is asked.
        data: what is asked.
        response_type: the type that the answer must have.
        request_id: names the request; None to have a name made.

    Raises:
        ValueError: another request of that name is open.
    """
    await checkpoint_if_cancelled()
    run = frame.run
    asked = _identify(frame, data, response_type, request_id)
    if asked.path in run.journal.answers:
        return run.keeper.given(run.journal.answers[asked.path])
    pause = run.pause
    pause.claim(asked)
    try:
        if not asked.is_same(run.journal.asked.get(asked.path)):
            await run.keeper.record(asked)
        run.emit(_event(frame, asked))
        if run.status is WorkflowRunState.IN_PROGRESS:
            run.reports.say(WorkflowRunState.IN_PROGRESS_PENDING_REQUESTS)
        await pause.wait(asked)
    finally:
        pause.drop(asked)


def _identify(frame: Frame, data: Any, response_type: Any, request_id: str | None) -> Asked:
    """Find out which question of the run this is, and whether it was asked before."""
    digest = digest_of((data,), {})
    if request_id is None:
        path = frame.next("?")
        place = frame.run.journal.place_of_question(path, digest)
    else:
        # It is the question of that name, whatever it says.
        path = place = frame.scope.question(request_id)
    known = frame.run.journal.asked.get(place)
    if known is None and place != path:
        frame.run.warn(_other_question(frame, path))
    if request_id is None:
        request_id = str(uuid.uuid4()) if known is None else known.request_id
    source = frame.space.name if frame.turn is None else frame.turn.step
    return Asked(place, request_id, source, data, response_type, digest)


def _event(frame: Frame, asked: Asked) -> WorkflowEvent:
    event = WorkflowEvent.request_info(
        asked.request_id, asked.source, asked.data, asked.response_type
    )
    if frame.space.names is None:
        return event
    import msgspec

    return msgspec.structs.replace(event, path=frame.space.names)


def _other_question(frame: Frame, path: str) -> str:
    return (
        f"workflow {frame.space.name!r} asks at {path}, where it has asked something else before; "
        "that answer isn't used for this question. Put what the question is made of into a step, "
        "or name it with request_id"
    )
