"""``actors checkpoints``: stored runs on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import attrs
import pytest
import trio

from actors import CheckpointFacts, Commit, Log, Message, SQLiteCheckpointStorage, open_storage
from actors.cli import main
from protocols import register_type

Cli: TypeAlias = Callable[..., tuple[int, str, str]]


@attrs.frozen
class Plan:
    goal: str


register_type(Plan, "test_cli.plan")


@pytest.fixture
def store(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/runs.db"

    async def write() -> None:
        async with open_storage(url) as storage:
            log = await storage.open_run("run", workflow_name="newsroom")
            for number in (1, 2, 3):
                changes = {
                    "shared/n": number,
                    "shared/plan": Plan("win"),
                    "executor/a": Log(Message("user", [f"m{at}"]) for at in range(30 * number)),
                    **({"request/q": "?"} if number == 3 else {}),
                }
                facts = CheckpointFacts(number, "IN_PROGRESS", "ü\x1b[31m" if number == 2 else "")
                log.append(Commit(changes, checkpoint=facts), lambda error: None)
            await log.flush()

    trio.run(write)
    return url


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], store: str) -> Cli:
    def run(*args: str, url: str = store) -> tuple[int, str, str]:
        code = main(["checkpoints", *args, "--store", url])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_list_shows_the_lineage_and_what_is_open(cli: Cli) -> None:
    code, out, _ = cli("list")
    assert code == 0
    head, *lines = out.splitlines()
    assert head.split()[:2] == ["CHECKPOINT", "GREW"]
    assert [line.split()[:6] for line in lines] == [
        ["run@1", "-", "newsroom", "1", "-", "IN_PROGRESS"],
        ["run@2", "run@1", "newsroom", "2", "-", "IN_PROGRESS"],
        ["run@3", "run@2", "newsroom", "3", "1", "IN_PROGRESS"],
    ]
    assert "\x1b" not in out
    told = json.loads(cli("list", "--json")[1])
    assert [one["checkpoint_id"] for one in told] == ["run@1", "run@2", "run@3"]
    assert "There are runs of: newsroom." in cli("list", "--workflow", "other")[1]


def test_show_needs_no_type_to_be_registered(cli: Cli) -> None:
    _, out, _ = cli("show", "run@2")
    assert "run@2: workflow 'newsroom', commit 2" in out
    assert '  shared/plan: {"$type": "test_cli.plan", "goal": "win"}' in out
    entry = json.loads(cli("show", "run@2", "--entry", "executor/a")[1])
    assert entry["$type"] == "log"
    assert len(entry["value"]) == 60
    assert entry["value"][59]["contents"][0]["text"] == "m59"
    assert json.loads(cli("show", "run@2", "--json")[1])["entries"]["shared/n"] == 2


def test_diff_shows_what_was_added_removed_and_changed(cli: Cli) -> None:
    _, out, _ = cli("diff", "run@1", "run@3")
    assert "~ shared/n: 1 -> 3" in out
    assert '+ request/q: "?"' in out
    assert out.count("+ executor/a.value[") == 60
    assert '- request/q: "?"' in cli("diff", "run@3", "run@1")[1]
    assert cli("diff", "run@1", "run@1")[1] == "No difference.\n"
    told = json.loads(cli("diff", "run@1", "run@2", "--json")[1])
    assert {"path": "shared/n", "old": 1, "new": 2} in told


def test_fork_begins_a_run_with_changes(cli: Cli, store: str) -> None:
    code, out, _ = cli(
        "fork",
        "run@3",
        "--run",
        "again",
        "--set",
        'shared/n={"deep": [1]}',
        "--remove",
        "request/q",
    )
    assert (code, out) == (0, "again@2\n")

    async def read() -> None:
        async with open_storage(store) as storage:
            values = (await storage.read_run("again")).values()
            assert values["shared/n"] == {"deep": [1]}
            assert values["shared/plan"] == Plan("win")
            assert "request/q" not in values
            assert (await storage.load("again@2")).previous_checkpoint_id == "again@1"

    trio.run(read)
    assert cli("fork", "run@1")[1].strip().endswith("@1")
    assert "again@1" in cli("list", "--run", "again")[1]


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (("--set", "n=4"), "shared/NAME"),
        (("--set", "quue/1=4"), "no entry 'quue/1'"),
        (("--remove", "shared/plam"), "did you mean shared/plan"),
    ],
)
def test_an_edit_that_would_change_nothing_is_refused_and_begins_no_run(
    cli: Cli, edit: tuple[str, str], said: str
) -> None:
    before = cli("list")[1]
    code, out, err = cli("fork", "run@3", *edit)
    assert (code, out) == (2, "")
    assert said in err
    assert cli("list")[1] == before


def test_an_edited_fork_is_as_far_as_what_it_grew_from(cli: Cli) -> None:
    cli("fork", "run@3", "--run", "again", "--set", "shared/new=1")
    (told,) = (e for e in json.loads(cli("list", "--json")[1]) if e["checkpoint_id"] == "again@2")
    assert (told["facts"]["iteration"], told["facts"]["label"]) == (3, "edited")


def test_prune_forgets_what_it_says(cli: Cli) -> None:
    _, out, _ = cli("prune", "--keep-last", "1", "--dry-run")
    assert out == (
        "would forget run@1\nwould forget run@2\n2 checkpoints of 1 runs would be forgotten.\n"
    )
    _, out, _ = cli("prune", "--keep-last", "1", "--keep-every", "2")
    assert "forgot run@1\n" in out
    assert [one["checkpoint_id"] for one in json.loads(cli("list", "--json")[1])] == [
        "run@2",
        "run@3",
    ]
    assert json.loads(cli("prune", "--keep-last", "1", "--json")[1])["checkpoints"] == ["run@2"]


@pytest.mark.parametrize(
    ("args", "advice"),
    [
        (["show", "run@9"], "may have been pruned"),
        (["show", "nobody@1"], "`actors checkpoints list` shows what there is"),
        (["show", "run@1", "--entry", "x"], "it has: executor/a, shared/n, shared/plan"),
        (["show", "../x"], "without slashes"),
        (["fork", "run@1", "--run", "run"], "give the new one an id of its own"),
        (["fork", "run@1", "--set", "x"], "--set takes ENTRY=JSON"),
        (["fork", "run@1", "--set", "x=y"], "a text in quotation marks"),
        (["prune"], "say what to keep"),
    ],
)
def test_errors_say_what_to_do(cli: Cli, args: list[str], advice: str) -> None:
    code, _, err = cli(*args)
    assert code in {1, 2}
    assert advice in err
    assert "Traceback" not in err


def test_a_store_that_isnt_there_isnt_made(cli: Cli, tmp_path: Path) -> None:
    for url in (f"sqlite:///{tmp_path}/typo.db", f"file:{tmp_path}/typo"):
        code, _, err = cli("list", url=url)
        assert code == 2
        assert "there is nothing at" in err
        assert not list(tmp_path.glob("typo*"))
    assert "did you mean 'sqlite'" in cli("list", url="sqlit:///x")[2]
    assert "empty in each new process" in cli("list", url="memory:")[2]


def test_a_store_in_which_nothing_is_says_so(cli: Cli, tmp_path: Path) -> None:
    async def make() -> None:
        async with SQLiteCheckpointStorage(tmp_path / "empty.db") as storage:
            await storage.list_runs()

    trio.run(make)
    out = cli("list", url=f"sqlite:///{tmp_path}/empty.db")[1]
    assert out == "No checkpoints. No run has been stored there yet.\n"


def test_a_signed_store_needs_its_key(cli: Cli, tmp_path: Path) -> None:
    key, url = tmp_path / "key", f"sqlite:///{tmp_path}/signed.db"
    key.write_text("secret\n")

    async def write() -> None:
        async with open_storage(url, key=b"secret") as storage:
            log = await storage.open_run("run", workflow_name="w")
            log.append(Commit({}, checkpoint=CheckpointFacts()), lambda error: None)
            await log.flush()

    trio.run(write)
    assert "give the storage the key" in cli("list", url=url)[2]
    assert "run@1" in cli("list", "--key-file", str(key), url=url)[1]
    assert "can't be read" in cli("list", "--key-file", str(tmp_path / "no"), url=url)[2]
