"""Which workflow a command line means, and what is said if there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import ECHO, Folder

PARTS = ECHO.replace("workflow = ", "def build():\n    return ")


def test_a_module_is_found_in_the_current_folder(folder: Folder) -> None:
    folder.write("pkg/parts.py", ECHO)
    assert folder.actors("run", "pkg.parts", "hi").code == 0
    assert folder.actors("run", "pkg.parts:workflow", "hi").code == 0


def test_modules_beside_the_file_can_be_imported(folder: Folder) -> None:
    folder.write("there/helpers_of_mine.py", ECHO)
    folder.write("there/uses.py", "from helpers_of_mine import workflow")
    assert folder.actors("run", "there/uses.py", "hi").code == 0


def test_a_file_may_have_the_name_of_an_installed_module(folder: Folder) -> None:
    """It is loaded under another name, and the module stays what it is for everybody else."""
    folder.write("trio.py", ECHO)
    folder.write("wave.py", ECHO)
    assert folder.actors("run", "trio.py", "hi").code == 0
    assert folder.actors("run", "wave.py", "hi").code == 0
    assert hasattr(sys.modules["trio"], "run")


@pytest.mark.parametrize(
    "source",
    [
        PARTS + "def workflow():\n    return build()\n",
        PARTS
        + "async def workflow():\n    await trio.lowlevel.checkpoint()\n    return build()\n",
        PARTS + "from contextlib import asynccontextmanager\n"
        "@asynccontextmanager\nasync def workflow():\n    yield build()\n",
        PARTS + "from actors import Workflow\ndef newsroom() -> Workflow:\n    return build()\n",
        PARTS + "from actors import Workflow\ndef newsroom() -> 'Workflow':\n    return build()\n",
        ECHO.replace("workflow =", "_again = only ="),
        ECHO + "other = WorkflowBuilder(start_executor=repeat).build()\n",
    ],
    ids=["function", "async", "context", "annotated", "string", "two names", "the name"],
)
def test_what_can_stand_for_the_workflow(folder: Folder, source: str) -> None:
    folder.write("made.py", source)
    result = folder.actors("run", "made.py", "hi")
    assert (result.code, result.out) == (0, "shout | hearing hi\nrepeat | HI! HI!\n")


def test_a_decorator_called_workflow_is_not_taken_for_one(folder: Folder) -> None:
    folder.write("decorators.py", "def workflow(function=None):\n    return function\n")
    folder.write(
        "uses.py", "from decorators import workflow\n" + ECHO.replace("workflow =", "w =")
    )
    assert folder.actors("run", "uses.py", "hi").code == 0


def test_a_name_may_lead_into_an_object(folder: Folder) -> None:
    folder.write("deep.py", ECHO + "class Shelf:\n    top = workflow\n")
    assert folder.actors("run", "deep.py:Shelf.top", "hi").code == 0


NAMED = [
    ("wrkflow", "flow.py has no 'wrkflow'; did you mean workflow?"),
    ("nothing", "flow.py has no 'nothing'; it has workflow"),
    ("shout", "flow.py:shout is a FunctionExecutor; it has to be a workflow, or a function"),
    ("1st", "what follows the colon is to be the name of a workflow, and '1st' is none"),
]


@pytest.mark.parametrize(("name", "said"), NAMED, ids=[name for name, _ in NAMED])
def test_a_wrong_name_is_bad_usage(folder: Folder, name: str, said: str) -> None:
    result = folder.actors("run", f"flow.py:{name}", "hi")
    assert result.code == 2
    assert said in result.err


SOURCES = [
    ("x = 1", "bad.py has no workflow; define `workflow = WorkflowBuilder(…).build()`"),
    (ECHO.replace(".build()", ""), "workflow is a WorkflowBuilder; call its build()"),
    (
        ECHO.replace("workflow =", "one =")
        + "two = WorkflowBuilder(start_executor=shout).build()",
        "bad.py has several workflows: one, two; say which one, for example bad.py:one",
    ),
    ("def workflow(): return 3", "bad.py:workflow returned int, not Workflow"),
    ("async def workflow(): yield 3", "put @asynccontextmanager above it"),
    ("import nosuchmodule", "can't be loaded: ModuleNotFoundError: No module named"),
    ("\nx = (", "bad.py can't be loaded: SyntaxError: '(' was never closed (bad.py, line 2)"),
    ("import sys\nsys.exit(0)", "bad.py ended Python while it was loaded (bad.py, line 2)"),
    ("from actors import WorkflowBilder", "did you mean WorkflowBuilder"),
    ("from actors import qqq", "actors has no 'qqq'; see its documentation"),
    ("from nosuch import x", "ModuleNotFoundError: No module named 'nosuch' (bad.py, line 1)"),
    (
        ECHO.replace("async def repeat", "async def shout"),
        "Two executors have the id 'shout'",
    ),
    ("raise KeyError", "bad.py can't be loaded: KeyError: it has no message (bad.py, line 1)"),
]


@pytest.mark.parametrize(("source", "said"), SOURCES, ids=[said[:40] for _, said in SOURCES])
def test_a_file_without_a_workflow_says_what_is_missing(
    folder: Folder, source: str, said: str
) -> None:
    if "Two executors" in said:
        source = source.replace("add_edge(shout, repeat)", "add_edge(first, shout)")
        source = source.replace(
            "@executor\nasync def shout(text: str, ctx: WorkflowContext[None",
            "first = shout\n@executor\nasync def shout(text: str, ctx: WorkflowContext[None",
        )
        source = source.replace("start_executor=shout", "start_executor=first")
    folder.write("bad.py", source)
    result = folder.actors("run", "bad.py", "hi")
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert "Traceback" not in result.err


def test_a_function_that_needs_arguments_is_named_with_them(folder: Folder) -> None:
    folder.write("f.py", "def build(client, options): ...\n")
    result = folder.actors("run", "f.py:build", "hi")
    assert "f.py:build needs client, options" in result.err
    assert result.code == 2


def test_a_builder_by_name_wants_to_be_built(folder: Folder) -> None:
    folder.write("f.py", ECHO.replace(".build()", ""))
    assert "f.py:workflow is a WorkflowBuilder" in folder.actors("run", "f.py:workflow", "x").err


def test_code_of_the_users_around_the_run_may_fail(folder: Folder) -> None:
    folder.write("f.py", "def workflow():\n    raise OSError('no disk')\n")
    result = folder.actors("run", "f.py", "hi", "--traceback")
    assert result.code == 1
    assert "Error: f.py:workflow failed: OSError: no disk (f.py, line 2)" in result.err
    assert "Traceback" in result.err


PLACES = [
    ("flwo.py", "there is no file flwo.py; did you mean flow.py?"),
    ("zzz.py", "there is no file zzz.py (the current folder is "),
    ("no/where.py", "there is no file no/where.py: there is no folder no"),
    (".", ". is a folder; name the Python file"),
    ("fow", "there is no module fow; did you mean flow?"),
    ("no.such.module", "there is no module no.such.module"),
    ("/x:/y.py", "there is no file /x:/y.py"),
]


@pytest.mark.parametrize(("target", "said"), PLACES, ids=[target for target, _ in PLACES])
def test_a_wrong_file_or_module_is_bad_usage(folder: Folder, target: str, said: str) -> None:
    result = folder.actors("run", target, "hi")
    assert result.code == 2
    assert said in result.err


def test_a_file_with_a_colon_in_its_name_is_that_file(folder: Folder) -> None:
    folder.write("odd:name.py", ECHO)
    assert folder.actors("run", "odd:name.py", "hi").code == 0


# ----------------------------------------------------------------- names that we have too


@pytest.mark.parametrize("theirs", ["actors/__init__.py", "protocols/own.py", "actors.py"])
def test_a_folder_with_our_name_is_told_so(folder: Folder, theirs: str) -> None:
    """Ours is what runs here; but under `python flow.py` theirs would be."""
    folder.write(theirs, "")
    result = folder.actors("run", "flow.py", "hi")
    assert result.code == 0
    path = folder.path / theirs
    named = path if path.parent == folder.path else path.parent
    assert f"warning: {named} has the same name as trio-actors' own package" in result.err
    assert f"my_{named.name}" in result.err


@pytest.mark.parametrize("target", ["uses.py", "actors.uses"])
def test_an_import_of_theirs_that_finds_ours_is_explained(folder: Folder, target: str) -> None:
    folder.write("actors/helpers.py", "")
    folder.write("actors/uses.py", ECHO)
    folder.write("uses.py", "from actors.helpers import x")
    result = folder.actors("run", target, "hi")
    assert result.code == 2
    assert (
        f"not your {folder.path / 'actors'}, which has the same name; rename yours" in result.err
    )


def test_our_own_folder_shadows_nothing(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    import actors

    assert actors.__file__ is not None
    monkeypatch.chdir(Path(actors.__file__).parent.parent)
    result = folder.actors("run", str(folder.path / "flow.py"), "hi")
    assert "warning" not in result.err
