"""A storage of somebody else: the six methods are enough, and the kit finds what is wrong."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
import trio

from actors.testing import StorageCheck, storage_checks
from protocols import (
    CheckpointStorage,
    CodecError,
    WorkflowCheckpoint,
    WorkflowCheckpointException,
    decode,
    encode,
)

CHECKS = {check.name: check for check in storage_checks(logs=False)}


class SixMethods:
    """What a user may write: bytes in a dict."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    async def save(self, checkpoint: WorkflowCheckpoint) -> str:
        await trio.lowlevel.checkpoint()
        self.kept.pop(checkpoint.checkpoint_id, None)
        self.kept[checkpoint.checkpoint_id] = self.packed(checkpoint)
        return checkpoint.checkpoint_id

    async def load(self, checkpoint_id: str) -> WorkflowCheckpoint:
        await trio.lowlevel.checkpoint()
        if checkpoint_id not in self.kept:
            raise WorkflowCheckpointException(f"no checkpoint {checkpoint_id!r}")
        return self.unpacked(self.kept[checkpoint_id])

    async def list_checkpoints(self, *, workflow_name: str) -> list[WorkflowCheckpoint]:
        found = [await self.load(one) for one in list(self.kept)]
        return [one for one in found if one.workflow_name == workflow_name]

    async def list_checkpoint_ids(self, *, workflow_name: str) -> list[str]:
        found = await self.list_checkpoints(workflow_name=workflow_name)
        return [one.checkpoint_id for one in found]

    async def get_latest(self, *, workflow_name: str) -> WorkflowCheckpoint | None:
        found = await self.list_checkpoints(workflow_name=workflow_name)
        return found[-1] if found else None

    async def delete(self, checkpoint_id: str) -> bool:
        await trio.lowlevel.checkpoint()
        return self.kept.pop(checkpoint_id, None) is not None

    def packed(self, checkpoint: WorkflowCheckpoint) -> Any:
        return encode(checkpoint)

    def unpacked(self, kept: Any) -> WorkflowCheckpoint:
        found: WorkflowCheckpoint = decode(kept)
        return found


@pytest.mark.parametrize("check", CHECKS.values(), ids=str)
async def test_six_methods_are_enough(check: StorageCheck) -> None:
    storage = SixMethods()
    assert isinstance(storage, CheckpointStorage)
    await check(lambda: storage)


class Aliasing(SixMethods):
    def packed(self, checkpoint: WorkflowCheckpoint) -> Any:
        return checkpoint

    def unpacked(self, kept: Any) -> WorkflowCheckpoint:
        same: WorkflowCheckpoint = attrs.evolve(kept)
        return same


class Forgiving(SixMethods):
    """Saves what it can't load, and loads nothing in its place."""

    def packed(self, checkpoint: WorkflowCheckpoint) -> Any:
        try:
            return encode(checkpoint)
        except CodecError:
            return encode(attrs.evolve(checkpoint, state={"deep": [{"inside": None}]}))


class Empty(SixMethods):
    async def load(self, checkpoint_id: str) -> WorkflowCheckpoint:
        if checkpoint_id not in self.kept:
            return WorkflowCheckpoint("w", "s")
        return await super().load(checkpoint_id)


class Backwards(SixMethods):
    async def list_checkpoints(self, *, workflow_name: str) -> list[WorkflowCheckpoint]:
        return (await super().list_checkpoints(workflow_name=workflow_name))[::-1]


class Growing(SixMethods):
    async def delete(self, checkpoint_id: str) -> bool:
        await super().delete(checkpoint_id)
        return True


@pytest.mark.parametrize(
    ("storage", "name"),
    [
        (Aliasing(), "what is saved and what is loaded are copies"),
        (Forgiving(), "what cant come back as it was is refused when it is saved"),
        (Empty(), "a checkpoint that isnt there is an error"),
        (Empty(), "ids can lead nowhere else"),
        (Backwards(), "checkpoints are listed by workflow oldest first"),
        (Backwards(), "the latest checkpoint is the last one of its workflow"),
        (Growing(), "a deleted checkpoint is gone"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
async def test_the_kit_finds_what_is_wrong(storage: SixMethods, name: str) -> None:
    with pytest.raises(AssertionError):
        await CHECKS[name](lambda: storage)
