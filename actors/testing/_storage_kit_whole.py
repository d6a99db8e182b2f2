"""Checks of the six methods that every storage of checkpoints has."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

import trio

from actors.testing._storage_kit import OpenStorage, storage_check
from protocols._checkpoints import WorkflowCheckpoint
from protocols._content._item import Content
from protocols._errors import ActorsError, WorkflowCheckpointException
from protocols._events import WorkflowEvent, WorkflowMessage
from protocols._frozen import FrozenDict, FrozenList
from protocols._log import Log
from protocols._message import Message

#: Values that come back as they were: equal, and of the same type.
VALUES: Final[tuple[Any, ...]] = (
    None, True, 0, -1, 2**80, 1.0, -0.5, "", "ü\n", b"\x00\xff", (1, (2,)), [1, [2]],
    {1: "a", "1": "b"}, {(1, 2): {"x"}}, {"a", "b"}, frozenset({1}), FrozenList([1]),
    FrozenDict({"a": 1}), Log(range(100)), datetime(2026, 11, 29, 1, 2, 3, 4, UTC),
    Decimal("1.50"), UUID(int=7), {"$type": "x"}, Message("user", ["hello"]), "x" * 5000,
    tuple(range(500)), [Message("user", [str(number)]) for number in range(40)],
)  # fmt: skip


def _checkpoint(number: int = 1, workflow: str = "w", **more: Any) -> WorkflowCheckpoint:
    state = more.pop("state", {"number": number})
    return WorkflowCheckpoint(workflow, "signature", f"checkpoint-{number}", state=state, **more)


@storage_check()
async def what_was_saved_is_loaded_as_it_was(opened: OpenStorage) -> None:
    request = WorkflowEvent.request_info("q", "asker", {"question": "?"}, str)
    checkpoint = _checkpoint(
        previous_checkpoint_id="before",
        messages={"a": [WorkflowMessage(Message("user", ["hi"]), "a", "b")], "c": []},
        state={f"value {at}": value for at, value in enumerate(VALUES)},
        pending_request_info_events={"q": request},
        iteration_count=3,
        metadata={"who": "me"},
    )
    async with opened() as storage:
        assert await storage.save(checkpoint) == checkpoint.checkpoint_id
    async with opened() as storage:
        loaded = await storage.load(checkpoint.checkpoint_id)
    assert loaded == checkpoint
    for at, value in enumerate(VALUES):
        found = loaded.state[f"value {at}"]
        assert type(found) is type(value), f"{value!r} came back as a {type(found).__name__}"
    keys = {type(key) for key in loaded.state[f"value {VALUES.index({1: 'a', '1': 'b'})}"]}
    assert keys == {int, str}, "the keys of a dict must keep their types"


@storage_check()
async def what_is_saved_and_what_is_loaded_are_copies(opened: OpenStorage) -> None:
    checkpoint = _checkpoint(state={"h": ["s1"]})
    async with opened() as storage:
        await storage.save(checkpoint)
        checkpoint.state["h"].append("after saving")
        first = await storage.load("checkpoint-1")
        assert first.state == {"h": ["s1"]}, "changing what was saved changed what is stored"
        first.state["h"].append("after loading")
        for again in (
            await storage.load("checkpoint-1"),
            await storage.get_latest(workflow_name="w"),
            *await storage.list_checkpoints(workflow_name="w"),
        ):
            assert again is not None
            assert again.state == {"h": ["s1"]}, "changing what was loaded changed what is stored"
            again.state["h"].append("again")


@storage_check()
async def checkpoints_are_listed_by_workflow_oldest_first(opened: OpenStorage) -> None:
    async with opened() as storage:
        for number in range(1, 6):
            before = f"checkpoint-{number - 1}" if number > 1 else None
            await storage.save(_checkpoint(number, previous_checkpoint_id=before))
        await storage.save(_checkpoint(9, "other"))
        expected = [f"checkpoint-{number}" for number in range(1, 6)]
        assert await storage.list_checkpoint_ids(workflow_name="w") == expected
        listed = await storage.list_checkpoints(workflow_name="w")
        assert [one.checkpoint_id for one in listed] == expected
        assert [one.state["number"] for one in listed] == [1, 2, 3, 4, 5]
        assert await storage.list_checkpoint_ids(workflow_name="nobody's") == []


@storage_check()
async def the_latest_checkpoint_is_the_last_one_of_its_workflow(opened: OpenStorage) -> None:
    async with opened() as storage:
        assert await storage.get_latest(workflow_name="w") is None
        for number in (1, 2):
            await storage.save(_checkpoint(number))
        await storage.save(_checkpoint(3, "other"))
        latest = await storage.get_latest(workflow_name="w")
    assert latest is not None
    assert latest.checkpoint_id == "checkpoint-2"


@storage_check()
async def a_checkpoint_that_isnt_there_is_an_error(opened: OpenStorage) -> None:
    async with opened() as storage:
        await storage.save(_checkpoint())
        for name in ("missing", "checkpoint", "checkpoint-1@7"):
            await _refused(storage, name)


@storage_check()
async def a_deleted_checkpoint_is_gone(opened: OpenStorage) -> None:
    async with opened() as storage:
        for number in (1, 2):
            await storage.save(_checkpoint(number))
        assert await storage.delete("checkpoint-1") is True
        assert await storage.delete("checkpoint-1") is False
        await _refused(storage, "checkpoint-1")
        assert await storage.list_checkpoint_ids(workflow_name="w") == ["checkpoint-2"]
        assert (await storage.load("checkpoint-2")).state == {"number": 2}


@storage_check()
async def a_checkpoint_that_is_saved_again_replaces_the_one_before(opened: OpenStorage) -> None:
    async with opened() as storage:
        for text in ("first", "second"):
            await storage.save(_checkpoint(state={"text": text}))
        assert (await storage.load("checkpoint-1")).state == {"text": "second"}
        assert await storage.list_checkpoint_ids(workflow_name="w") == ["checkpoint-1"]


@storage_check()
async def a_hundred_can_be_saved_at_once_under_one_id(opened: OpenStorage) -> None:
    async with opened() as storage, trio.open_nursery() as nursery:
        for number in range(100):
            nursery.start_soon(storage.save, _checkpoint(state={"number": number}))
    async with opened() as storage:
        assert (await storage.load("checkpoint-1")).state["number"] in range(100)
        assert await storage.list_checkpoint_ids(workflow_name="w") == ["checkpoint-1"]


@storage_check()
async def ids_can_lead_nowhere_else(opened: OpenStorage) -> None:
    tricks = ("../evil", "/etc/passwd", "a/b", "..", "", "nul\0", "..\\evil", "new\nline")
    async with opened() as storage:
        for name in tricks:
            await _refused(storage, name)
            checkpoint = WorkflowCheckpoint("w", "s", name)
            try:
                await storage.save(checkpoint)
            except WorkflowCheckpointException:
                continue
            assert await storage.load(name) == checkpoint


@storage_check()
async def what_cant_come_back_as_it_was_is_refused_when_it_is_saved(opened: OpenStorage) -> None:
    class Local:
        pass

    text = type("Text", (str,), {})
    async with opened() as storage:
        for number, value in enumerate((Local(), object(), text("x"), lambda: 0, float("nan"))):
            checkpoint = _checkpoint(number, state={"deep": [{"inside": value}]})
            try:
                await storage.save(checkpoint)
            except (WorkflowCheckpointException, ActorsError):
                ids = await storage.list_checkpoint_ids(workflow_name="w")
                assert checkpoint.checkpoint_id not in ids, "it was refused, but is stored"
            else:
                loaded = await storage.load(checkpoint.checkpoint_id)
                found = loaded.state["deep"][0]["inside"]
                assert type(found) is type(value), f"{value!r} came back as {found!r}"


@storage_check()
async def what_a_provider_left_in_a_message_isnt_stored(opened: OpenStorage) -> None:
    content = Content.from_text("hi")
    message = Message("assistant", [content], raw_representation=object())
    async with opened() as storage:
        await storage.save(_checkpoint(state={"message": message}))
        found = (await storage.load("checkpoint-1")).state["message"]
    assert found.raw_representation is None
    assert found.text == "hi"


@storage_check()
async def a_save_that_was_cancelled_leaves_the_storage_as_good_as_before(
    opened: OpenStorage,
) -> None:
    async with opened() as storage:
        await storage.save(_checkpoint(1))
        with trio.CancelScope() as scope:
            scope.cancel()
            await storage.save(_checkpoint(2))
        ids = await storage.list_checkpoint_ids(workflow_name="w")
        assert ids in (["checkpoint-1"], ["checkpoint-1", "checkpoint-2"])
        await storage.save(_checkpoint(3))
        for name in [*ids, "checkpoint-3"]:
            await storage.load(name)


async def _refused(storage: Any, checkpoint_id: str) -> None:
    await trio.lowlevel.checkpoint()
    try:
        await storage.load(checkpoint_id)
    except WorkflowCheckpointException:
        return
    raise AssertionError(
        f"load({checkpoint_id!r}) must raise a WorkflowCheckpointException: there is none"
    )
