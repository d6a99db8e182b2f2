# A storage of somebody else's has the six methods of `CheckpointStorage` and no log. A run saves
# whole checkpoints in it, one per checkpoint commit, and nothing in between: a crash repeats the
# round. It has no fence either, so nothing keeps two processes from going on with one run.
#
# Commits can't wait, and saving does. So checkpoints queue up here, and a task of the run saves
# them in order; the end of the run saves what is left.
"""The log of a run in a storage that only knows whole checkpoints."""

from __future__ import annotations

import json
from collections import deque
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

import trio

from actors.checkpoint._types import Position, RunInfo
from actors.workflows._durable._keys import key_of, parse
from actors.workflows._durable._records import StoredDelivery, StoredRequest
from actors.workflows._durable._signature import digest_of
from protocols._checkpoints import EXECUTOR_STATE_KEY, WorkflowCheckpoint
from protocols._errors import WorkflowCheckpointException

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actors.checkpoint._types import Commit, Saved
    from protocols._checkpoints import CheckpointStorage


#: Where a checkpoint's metadata have the graph itself, of which the hash is.
SIGNATURE: Final = "graph_signature"


class ForeignLog:
    """Writes a run into a storage that only knows whole checkpoints: `RunLog`, but for its fence.

    Args:
        storage: where to.
        run: which run.
        entries: what the run is made of so far.
        previous: the checkpoint that it goes on from, if it does.
    """

    stored = None
    incarnation = 1

    def __init__(
        self,
        storage: CheckpointStorage,
        run: RunInfo,
        entries: Mapping[str, Any],
        previous: str | None,
    ) -> None:
        self.run = run
        self.sequence = run.sequence
        self.checkpoint_id = previous
        self._storage = storage
        self._entries = dict(entries)
        self._queue: deque[tuple[WorkflowCheckpoint, Saved]] = deque()
        self._more = trio.Event()
        self._one_at_a_time = trio.Lock()

    def append(self, commit: Commit, saved: Saved) -> bool:
        """Queue a checkpoint; a commit that is none is only kept for the next one."""
        if commit.is_whole:
            self._entries.clear()
        for key in commit.removed:
            self._entries.pop(key, None)
        self._entries.update(commit.changes)
        self.sequence += 1
        if commit.checkpoint is None:
            return True
        found = written_out(self._entries, self.run, self.sequence, self.checkpoint_id)
        found.iteration_count = commit.checkpoint.iteration
        self.checkpoint_id = found.checkpoint_id
        # Handlers go on with what they sent; a checkpoint is what it was.
        self._queue.append((deepcopy(found), saved))
        self._more.set()
        return False

    async def work(self) -> None:
        """Save what queues up, for as long as the run runs."""
        while True:
            await self._more.wait()
            self._more = trio.Event()
            await self.flush()

    async def flush(self) -> None:
        """Save all that is queued."""
        async with self._one_at_a_time:
            while self._queue:
                checkpoint, saved = self._queue[0]
                error: BaseException | None = None
                try:
                    await self._storage.save(checkpoint)
                except Exception as exc:  # noqa: BLE001  (whoever appended is told)
                    error = exc
                self._queue.popleft()
                saved(error)


def written_out(
    entries: Mapping[str, Any], run: RunInfo, sequence: int, previous: str | None
) -> WorkflowCheckpoint:
    """Return the checkpoint that has these entries, and MAF's view of them beside."""
    signature = json.loads(run.signature)
    found = WorkflowCheckpoint(
        run.workflow_name,
        digest_of(signature),
        Position(run.run_id, sequence).checkpoint_id,
        previous,
        run_id=run.run_id,
        sequence=sequence,
        metadata={SIGNATURE: signature},
        entries=dict(entries),
    )
    for key, value in entries.items():
        path, kind, names = parse(key)
        if not path:
            _place(found, kind, names, value)
    return found


def _place(checkpoint: WorkflowCheckpoint, kind: str, names: tuple[str, ...], value: Any) -> None:
    if kind == "shared":
        checkpoint.state[names[0]] = value
    elif kind == "executor":
        checkpoint.state.setdefault(EXECUTOR_STATE_KEY, {})[names[0]] = value
    elif kind == "queue" and isinstance(value, StoredDelivery):
        message = value.spelled()
        checkpoint.messages.setdefault(message.source_id, []).append(message)
    elif kind == "request" and isinstance(value, StoredRequest):
        checkpoint.pending_request_info_events[value.id] = value.spelled()


def entries_of(checkpoint: WorkflowCheckpoint) -> dict[str, Any]:
    """Return the entries of a checkpoint, as they are after somebody has changed its fields.

    Raises:
        WorkflowCheckpointException: it has messages in a form that no run of ours writes.
    """
    entries = dict(checkpoint.entries)
    if checkpoint.messages and not any(parse(key).kind == "queue" for key in entries):
        raise WorkflowCheckpointException(
            f"checkpoint {checkpoint.checkpoint_id!r} has messages on their way, but not to whom: "
            "another program wrote it, and only that one can resume it"
        )
    states = dict(checkpoint.state)
    for name, kept in states.pop(EXECUTOR_STATE_KEY, {}).items():
        entries[key_of("", "executor", name)] = kept
    for name, value in states.items():
        entries[key_of("", "shared", name)] = value
    return entries
