"""Sessions come back from a store as they were, and a broken file harms no other."""

from __future__ import annotations

import json
import logging
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from actors.agents._agent._agent import Agent
from actors.agents._sessions._file_history import FileHistoryProvider
from actors.agents._sessions._history import InMemoryHistoryProvider
from actors.agents._sessions._session import AgentSession
from actors.agents._sessions._store import (
    FileSessionStore,
    SessionStore,
    SQLiteSessionStore,
    file_stem,
)
from actors.testing import ScriptedChatClient
from protocols._content._item import Content
from protocols._errors import AgentException
from protocols._message import Message

Make = Callable[[Path], SessionStore]
KINDS: dict[str, Make] = {
    "memory": lambda _: SessionStore(),
    "json": lambda path: FileSessionStore(path / "s"),
    "msgpack": lambda path: FileSessionStore(path / "s", serialization_format="msgpack"),
    "sqlite": lambda path: SQLiteSessionStore(path / "s.db"),
}


@pytest.fixture(params=list(KINDS.values()), ids=list(KINDS))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> SessionStore:
    made: SessionStore = request.param(tmp_path)
    return made


def _files(folder: Path, pattern: str) -> list[Path]:
    return sorted(folder.glob(pattern))


def session(**state: Any) -> AgentSession:
    made = AgentSession(session_id="id", service_session_id="resp_1")
    made.state.update(state)
    return made


# ---------------------------------------------------------------------- every store


async def test_a_session_comes_back_as_it_was(store: SessionStore) -> None:
    call = Content.from_function_call("c", "look", arguments={"deep": [1, {"x": None}]})
    kept = session(in_memory={"messages": [Message("assistant", [call])]}, n={"x": 1.5})
    await store.set("id", kept)
    found = await store.get("id")
    assert found is not None
    assert (found.session_id, found.service_session_id) == ("id", "resp_1")
    assert found.state == kept.state
    assert found.to_dict() == kept.to_dict()


async def test_what_is_not_there_is_none(store: SessionStore) -> None:
    assert await store.get("nobody") is None
    await store.delete("nobody")


async def test_the_last_one_wins_and_what_is_deleted_is_gone(store: SessionStore) -> None:
    await store.set("id", session(n=1))
    await store.set("id", session(n=2))
    found = await store.get("id")
    assert found is not None
    assert found.state["n"] == 2
    await store.delete("id")
    assert await store.get("id") is None


async def test_nothing_is_shared_with_what_is_kept(store: SessionStore) -> None:
    kept = session(notes={"list": [1]})
    await store.set("id", kept)
    kept.state["notes"]["list"].append(2)
    one, other = await store.get("id"), await store.get("id")
    assert one is not None
    assert other is not None
    one.state["notes"]["list"].append(3)
    assert other.state["notes"]["list"] == [1]


@pytest.mark.parametrize("wrong", ["", "x" * 129, None, 7], ids=["empty", "long", "none", "int"])
async def test_what_is_no_id_is_refused(store: SessionStore, wrong: Any) -> None:
    for act in (store.get, store.delete):
        with pytest.raises(ValueError, match="the id of a session"):
            await act(wrong)
    with pytest.raises(ValueError, match="the id of a session"):
        await store.set(wrong, session())


@pytest.mark.parametrize("number", [math.inf, math.nan], ids=str)
async def test_only_finite_numbers_are_kept(store: SessionStore, number: float) -> None:
    await store.set("id", session(n=1))
    with pytest.raises(ValueError, match="JSON compliant"):
        await store.set("id", session(n=number))
    found = await store.get("id")
    assert found is not None
    assert found.state == {"n": 1}


async def test_a_subclass_is_refused_because_it_would_not_come_back(store: SessionStore) -> None:
    class Mine(AgentSession):
        pass

    with pytest.raises(TypeError, match="not a Mine"):
        await store.set("id", Mine())


async def test_ids_of_every_kind_are_kept_apart(store: SessionStore) -> None:
    ids = ["a", "A", "a/b", "a-b", "../up", "数学", "nul\x00", "x" * 128, ".", "con"]
    for number, each in enumerate(ids):
        await store.set(each, session(n=number))
    found = [await store.get(each) for each in ids]
    assert [one.state["n"] for one in found if one] == list(range(len(ids)))


async def test_many_at_once_do_not_harm_each_other(store: SessionStore) -> None:
    async def work(number: int) -> None:
        for round_ in range(3):
            await store.set(f"s{number % 3}", session(n=number, round=round_))
            assert await store.get(f"s{number % 3}") is not None

    async with trio.open_nursery() as nursery:
        for number in range(9):
            nursery.start_soon(work, number)


# ---------------------------------------------------------------------- files


@pytest.mark.parametrize("form", ["json", "msgpack"])
@pytest.mark.parametrize(
    "junk", [b"", b"{", b"[]", b"\xff\xfe", b'{"version":"9","session":{}}'], ids=str
)
async def test_a_malformed_file_is_put_aside_and_told_of(
    form: Any, junk: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = FileSessionStore(tmp_path, serialization_format=form)
    await store.set("id", session(n=1))
    await store.set("other", session(n=2))
    [path] = _files(tmp_path, "id-*")
    path.write_bytes(junk)
    with caplog.at_level(logging.ERROR):
        assert await store.get("id") is None
    aside = path.with_name(f"{path.name}.malformed")
    assert aside.read_bytes() == junk
    assert str(aside) in caplog.text
    assert await store.get("other") is not None
    await store.set("id", session(n=3))
    assert await store.get("id") is not None


async def test_no_id_leads_out_of_the_folder(tmp_path: Path) -> None:
    store = FileSessionStore(tmp_path / "in" / "here")
    await store.set("../../../etc/passwd", session())
    assert [p.parent for p in _files(tmp_path, "**/*.json")] == [tmp_path / "in" / "here"]
    assert len(file_stem("x" * 128)) < 100


async def test_a_file_is_readable_and_has_a_version(tmp_path: Path) -> None:
    await FileSessionStore(tmp_path).set("Bank 7", session(n=1))
    [path] = _files(tmp_path, "bank-7-*.json")
    assert json.loads(path.read_text()) == {"version": "1.0", "session": session(n=1).to_dict()}


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'json' or 'msgpack'"):
        FileSessionStore(tmp_path, serialization_format="yaml")  # type: ignore[arg-type]


async def test_another_process_sees_what_was_kept(tmp_path: Path) -> None:
    await SQLiteSessionStore(tmp_path / "s.db").set("id", session(n=41))
    program = (
        "import sys, trio\n"
        "from actors import SQLiteSessionStore\n"
        "print(trio.run(SQLiteSessionStore(sys.argv[1]).get, 'id').state['n'] + 1)"
    )
    done = await trio.run_process(
        [sys.executable, "-c", program, str(tmp_path / "s.db")], capture_stdout=True
    )
    assert done.stdout == b"42\n"


# ---------------------------------------------------------------------- history in files


@pytest.fixture(params=["json", "msgpack"])
def history(request: pytest.FixtureRequest, tmp_path: Path) -> FileHistoryProvider:
    return FileHistoryProvider(tmp_path, serialization_format=request.param)


async def test_an_agent_remembers_from_one_program_to_the_next(tmp_path: Path) -> None:
    clients = [ScriptedChatClient(f"answer {turn}") for turn in range(3)]
    for client, text in zip(clients, ["one", "two", "three"], strict=True):
        agent = Agent(client, context_providers=[FileHistoryProvider(tmp_path)])
        await agent.run(text, session=AgentSession(session_id="s"))
    assert clients[-1].seen[0].texts == ["one", "answer 0", "two", "answer 1", "three"]


async def test_messages_of_all_kinds_come_back(history: FileHistoryProvider) -> None:
    call = Content.from_function_call("c", "look", arguments='{"text": "a\\nb\\u2028"}')
    messages = [
        Message("user", ["line\nline\r\n数学"]),
        Message("assistant", [call], additional_properties={"k": [1]}),
        Message("tool", [Content.from_function_result("c", result="42")]),
    ]
    await history.save_messages("s", messages[:1])
    await history.save_messages("s", messages[1:])
    assert list(await history.get_messages("s")) == messages
    assert list(await history.get_messages("other")) == []


async def test_without_a_session_there_is_one_file_for_all(history: FileHistoryProvider) -> None:
    await history.save_messages(None, [Message("user", ["x"])])
    assert history.path_of(None).stem == "default"
    assert len(await history.get_messages(None)) == 1


async def test_a_torn_last_message_is_left_out_and_cut_off(
    history: FileHistoryProvider, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = Message("user", ["first"]), Message("user", ["second"])
    await history.save_messages("s", [first])
    path = history.path_of("s")
    whole = path.stat().st_size
    await history.save_messages("s", [second])
    data = path.read_bytes()
    for cut in range(whole, len(data)):
        path.write_bytes(data[:cut])
        fresh = FileHistoryProvider(
            history.storage_path, serialization_format=history.serialization_format
        )
        found = list(await fresh.get_messages("s"))
        assert found == [first] or (cut == len(data) - 1 and found == [first, second])
        await fresh.save_messages("s", [second])
        assert list(await fresh.get_messages("s")) == [*found, second]
    assert "torn" in caplog.text


async def test_a_broken_message_in_the_midst_is_an_error_that_names_it(tmp_path: Path) -> None:
    history = FileHistoryProvider(tmp_path)
    await history.save_messages("s", [Message("user", ["x"]), Message("user", ["y"])])
    path = history.path_of("s")
    path.write_bytes(b"{broken\n" + path.read_bytes())
    with pytest.raises(AgentException, match="message 1 of"):
        await history.get_messages("s")


async def test_users_may_write_lines_in_their_own_way(tmp_path: Path) -> None:
    history = FileHistoryProvider(
        tmp_path,
        dumps=lambda tree: json.dumps(tree)[::-1],
        loads=lambda line: json.loads(line[::-1]),
    )
    await history.save_messages("s", [Message("user", ["x"])])
    assert history.path_of("s").read_bytes().startswith(b"}")
    assert [m.text for m in await history.get_messages("s")] == ["x"]


async def test_what_compaction_left_out_can_be_skipped(tmp_path: Path) -> None:
    out = Message("user", ["old"], additional_properties={"_excluded": True})
    for skips, texts in ((False, ["old", "new"]), (True, ["new"])):
        history = FileHistoryProvider(tmp_path / str(skips), skip_excluded=skips)
        await history.save_messages("s", [out, Message("user", ["new"])])
        assert [m.text for m in await history.get_messages("s")] == texts


async def test_messages_of_two_runs_at_once_are_not_mixed(history: FileHistoryProvider) -> None:
    async def save(number: int) -> None:
        await history.save_messages("s", [Message("user", [f"{number}.{n}"]) for n in range(5)])

    async with trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(save, number)
    texts = [m.text for m in await history.get_messages("s")]
    assert sorted(texts) == sorted(f"{number}.{n}" for number in range(5) for n in range(5))
    firsts = [text.split(".")[0] for text in texts]
    assert firsts == [first for first in dict.fromkeys(firsts) for _ in range(5)]


def test_a_program_that_is_killed_while_it_writes_loses_no_whole_message(tmp_path: Path) -> None:
    program = (
        "import sys, trio\n"
        "from actors import FileHistoryProvider, Message\n"
        "async def main():\n"
        "    history = FileHistoryProvider(sys.argv[1])\n"
        "    for n in range(10000):\n"
        "        await history.save_messages('s', [Message('user', [str(n)])])\n"
        "        print(n, flush=True)\n"
        "trio.run(main)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        told = [int(writer.stdout.readline()) for _ in range(20)]
        writer.kill()
    found = trio.run(FileHistoryProvider(tmp_path).get_messages, "s")
    assert [int(m.text) for m in found][: len(told)] == told


# ---------------------------------------------------------------------- a failed turn


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_a_long_session_is_byte_for_byte_the_same_after_a_failed_turn(stream: bool) -> None:
    client = ScriptedChatClient(RuntimeError("down"))
    agent = Agent(client, context_providers=[InMemoryHistoryProvider()])
    kept = agent.create_session()
    kept.state["in_memory"] = {"messages": [Message("user", [f"m{n}"]) for n in range(1000)]}
    before = json.dumps(kept.to_dict())
    with pytest.raises(RuntimeError, match="down"):
        if stream:
            async for _ in agent.run("x", session=kept, stream=True):
                pass
        else:
            await agent.run("x", session=kept)
    assert json.dumps(kept.to_dict()) == before
