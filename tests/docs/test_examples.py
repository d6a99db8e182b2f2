"""The documentation does what it says."""

from __future__ import annotations

import ast
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from actors import Workflow
from actors.testing import ScriptedChatClient, open_fake_openai, says

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
PAGES = [page for page in PAGES if page.parent.name != "changes"]

PRINTED = {
    "long_conversation": (
        "['I am Ada.']\n['I am Ada.', 'I see.', 'I like frogs.']\n"
        "['I like frogs.', 'I see.', 'Who am I?']\n"
    ),
    "first_actor": "5\n",
    "first_workflow": "['6 words: too long']\n",
    "stream_events": (
        "poet: The\npoet:  frog\npoet:  jumps\npoet:  in.\n-- end of round 1\n"
        "critic: Too\ncritic:  short.\n-- end of round 2\nIDLE\n"
    ),
    "inspect_system": (
        "post: running\n├─ courier  running\n│     mailbox 2 of 1000 (peak 3)\n"
        "│     0.1 s in Parcel(weight=2)\n│     waits at inspect_system.py:19 deliver: "
        "await trio.sleep(message.weight / 10)\n└─ substitute  running\n"
        "post/courier is behind by 2 messages\n"
    ),
    "first_function": (
        "fetching\nfetching\nasked: Frogs: the web on frogs, papers on frogs\npublishing\n"
        "FROGS: THE WEB ON FROGS, PAPERS ON FROGS\nReplay(hits=2, live=1)\n"
    ),
    "people_in_the_loop": (
        "? All about frogs.\n? All about toads.\nrefused: expected bool, got 'yes', a str\n"
        "? All about frogs.\n? All about toads. They croak.\n"
        "['All about frogs.', 'All about toads. They croak.']\n"
    ),
    "nested_workflows": (
        "counter/count 4\ncounter/count 3\ncounter/count 4\n"
        "tell 4 letters\ntell 3 letters\ntell 4 letters\n"
        "letters says ['3 letters', '4 letters']\n"
    ),
    "tools": (
        "call_0: 3\ncall_1: Error: Function failed.\ncall_0: ordered 5 x pear for Ada\n"
        "Three apples are here, five pears will be.\nSell the apples.\n"
    ),
    "middleware": (
        "clerk begins\nclerk has answered 'Done.'\nDelete x, the password is *****.\n"
        "would have deleted x\nclerk begins\nWe are closed.\n"
        "['model scripted', 'tool delete', 'model scripted']\n"
        "remote begins\nremote has answered 'Good morning.'\n['It is Monday.', 'Hello!']\n"
    ),
    "approvals": (
        "May I call pay({'amount': 30, 'to': 'Ada'})?\npaid 30 to Ada\nAda has her money.\n"
        "[Content(type='text', text='That is done.')]\n"
    ),
    "custom_client": "few trust all love \nbe to not or be to \n",
}
# These set what there is only one of in a process.
PRINTED_ALONE = {
    "traced_agent": "chat scripted chat\ninvoke_agent greeter invoke_agent\n",
}
NO = '{"approved": false, "advice": "Make it shorter."}'
YES = '{"approved": true, "advice": "Name the place."}'


def run(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    runpy.run_path(str(path), run_name="__main__")
    return capsys.readouterr().out


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_prints_what_we_say(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(EXAMPLES / f"{name}.py", capsys) == PRINTED[name]


@pytest.mark.parametrize("name", PRINTED_ALONE)
def test_an_example_that_sets_up_its_process_prints_what_we_say(name: str) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py"],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == PRINTED_ALONE[name], done.stderr


def test_every_example_is_tested() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {
        *PRINTED,
        *PRINTED_ALONE,
        "newsroom",
        "function_of_agents",
    }


# ----------------------------------------------------------------------------- agents in a function


async def test_two_poets_write_at_once_and_a_critic_compares() -> None:
    build = runpy.run_path(str(EXAMPLES / "function_of_agents.py"))["build"]
    client = ScriptedChatClient("Frogs sing.", "Frogs swing.", "The first.")
    result = await build(client).run("frogs")
    lines = result.text.splitlines()
    assert sorted(lines[:2]) == ["Frogs sing.", "Frogs swing."]
    assert lines[2] == "The first."
    assert result.replay.live == 3


@pytest.mark.model
def test_agents_in_a_function_run_on_a_real_model(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(EXAMPLES / "function_of_agents.py", capsys)
    assert len(re.findall(r"^write: \w", out, re.MULTILINE)) == 2
    assert re.search(r"^compare: \w", out, re.MULTILINE)
    assert out.endswith("steps that ran: 3\n")


# ----------------------------------------------------------------------------- the newsroom


@pytest.fixture
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("OPENAI_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def no_model(no_key: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ACTORS_MODEL", str(tmp_path / "gone.gguf"))


def newsroom(*replies: str) -> Workflow:
    build = runpy.run_path(str(EXAMPLES / "newsroom.py"))["build"]
    workflow: Workflow = build(ScriptedChatClient(*replies))
    return workflow


EDITIONS = [
    (["S", "H1", YES], "H1", True, 0),
    (["S", "H1", NO, "H2", YES], "H2", True, 1),
    (["S", "H1", NO, "H2", NO, "H3", YES], "H3", True, 2),
    (["S", "H1", NO, "H2", NO, "H3", NO], "H3", False, 2),
    (["S", "H1", NO[:20], "H2", YES], "H2", True, 1),
]


@pytest.mark.parametrize(
    ("replies", "headline", "approved", "revisions"),
    EDITIONS,
    ids=["yes", "no yes", "no no yes", "never", "cut off"],
)
async def test_the_editor_sends_a_headline_back_at_most_twice(
    replies: list[str], headline: str, approved: bool, revisions: int
) -> None:
    result = await newsroom(*replies).run("The news.")
    [edition] = result.get_outputs()
    assert (edition.headline, edition.summary) == (headline, "S")
    assert (edition.approved, edition.revisions) == (approved, revisions)
    assert result.undelivered == ()


async def test_the_newsroom_can_be_run_again_and_begins_anew() -> None:
    workflow = newsroom("S", "H1", NO, "H2", NO, "H3", NO, "S", "H4", NO, "H5", YES)
    await workflow.run("The news.")
    [edition] = (await workflow.run("The news.")).get_outputs()
    assert (edition.headline, edition.revisions) == ("H5", 1)


def test_without_a_model_the_newsroom_says_so(
    no_model: None, capsys: pytest.CaptureFixture[str]
) -> None:
    runpy.run_path(str(EXAMPLES / "newsroom.py"), run_name="__main__")
    out, err = capsys.readouterr()
    assert "There is no language model" in err
    assert "[echo, not a language model]" in out
    assert "the editor approved" in out
    assert re.search(r"headline writer +1 ", out)


async def test_with_a_key_the_newsroom_asks_that_endpoint(
    no_key: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main = runpy.run_path(str(EXAMPLES / "newsroom.py"))["main"]
    async with open_fake_openai([says("S"), says("H"), says(YES)]) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "secret")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_MODEL", "some-model")
        await main()
        assert [request.body["model"] for request in server.requests] == ["some-model"] * 3
        assert "response_format" in server.requests[-1].body
    out, err = capsys.readouterr()
    assert f"The agents ask some-model at {server.base_url}" in err
    assert "summariser: S\n" in out


def test_a_newsroom_whose_endpoint_is_gone_ends_with_one_line(
    no_key: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    clock = trio.testing.MockClock(autojump_threshold=0.05)
    real_run = trio.run
    # Its waits between tries are not ours.
    monkeypatch.setattr(trio, "run", lambda main: real_run(main, clock=clock))
    with pytest.raises(SystemExit, match=r"newsroom: .*127\.0\.0\.1:9"):
        runpy.run_path(str(EXAMPLES / "newsroom.py"), run_name="__main__")


@pytest.mark.model
def test_the_newsroom_runs_on_a_real_model(
    no_key: None, capsys: pytest.CaptureFixture[str]
) -> None:
    out = run(EXAMPLES / "newsroom.py", capsys)
    assert re.search(r"\n\nsummariser: \w", out)
    assert re.search(r"\n\neditor: \{ ?\"approved\"", out)
    assert re.search(r"Revisions: [012] of 2; the editor (approved|said no)", out)
    assert re.search(r"\neditor +[123] +\d+ +\d+ +\d+\.\d", out)


# ----------------------------------------------------------------------------- the pages


def blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def test_the_program_in_the_readme_runs_as_it_stands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [program] = blocks(ROOT / "README.md")
    path = tmp_path / "program.py"
    path.write_text(program, encoding="utf-8")
    out = run(path, capsys)
    assert out.startswith("poet '[echo, ")
    assert "\ncritic '[echo, " in out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_shows_as_python_is_python(page: Path) -> None:
    for block in blocks(page):
        compile(block, page.name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_name_that_a_page_imports_from_us_is_there(page: Path) -> None:
    import actors

    for names in re.findall(r"from actors import ([\w, ]+)", page.read_text(encoding="utf-8")):
        assert {name.strip() for name in names.split(",")} <= set(actors.__all__)
