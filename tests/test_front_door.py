"""The public surface, pinned, and rules that hold for every file of the project.

A change of a pinned name is a change for users: add a news fragment.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import actors
import protocols

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parent.parent
FILES = sorted(
    path for package in (actors, protocols) for path in Path(package.__path__[0]).rglob("*.py")
)
SURFACE = ROOT / "tests" / "surface.txt"
LAZY = (
    "actors",
    "actors._core",
    "actors.agents",
    "actors.checkpoint",
    "actors.workflows",
    "protocols",
)


def imports_of(path: Path) -> set[str]:
    """The modules that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def test_the_surface_is_what_we_promised() -> None:
    """Names appear or vanish on purpose only; tests/surface.txt lists them."""
    assert sorted(actors.__all__) == SURFACE.read_text().split()


@pytest.mark.parametrize("name", LAZY)
def test_every_lazy_name_is_there_and_is_the_one_that_type_checkers_see(name: str) -> None:
    module = importlib.import_module(name)
    tree = ast.parse(Path(str(module.__file__)).read_text())
    seen = {
        (node.module, alias.asname)
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    assert {public for _, public in seen} == set(module.__all__)
    for where, public in seen:
        assert getattr(module, str(public)) is getattr(
            importlib.import_module(str(where)), str(public)
        )
    assert set(dir(module)) >= set(module.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        module.Nonsense  # noqa: B018


@pytest.mark.parametrize("package", [actors, protocols])
def test_modules_are_private_but_for_the_namespaces(package: ModuleType) -> None:
    public = {
        found.name
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if not any(part.startswith("_") for part in found.name.split("."))
    }

    assert public <= {
        "actors.agents",
        "actors.checkpoint",
        "actors.cli",
        "actors.exceptions",
        "actors.observability",
        "actors.openai",
        "actors.testing",
        "actors.workflows",
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_outgrows_a_reading(path: Path) -> None:
    """Past this size the next reader skims, and the one after that stops reading."""
    assert len(path.read_text().splitlines()) <= 500


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_core_reaches_below_trio(path: Path) -> None:
    """What the layers above need beyond public trio, our users would need as well.

    A plain checkpoint is what users write, too: trio has no other spelling of it. The test kit
    watches and steers the scheduler, which is what trio.lowlevel is for.
    """
    if not {"_core", "testing"} & set(path.parts):
        names = {
            ast.unparse(node)
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Attribute) and "trio.lowlevel." in ast.unparse(node)
        }
        assert names <= {"trio.lowlevel.checkpoint"}
        assert not {name for name in imports_of(path) if name.startswith("trio.lowlevel")}


def test_nothing_pickles_and_nothing_runs_on_asyncio() -> None:
    for path in FILES:
        assert not imports_of(path) & {"pickle", "asyncio", "marshal", "shelve", "dill"}, path


@pytest.mark.parametrize(
    ("module", "importers"),
    [("openai", {"_openai/_http.py"}), ("xllamacpp", {"_local/_server.py"})],
)
def test_a_foreign_library_stays_behind_one_file(module: str, importers: set[str]) -> None:
    found = {f"{path.parent.name}/{path.name}" for path in FILES if module in imports_of(path)}

    assert found <= importers


def test_importing_us_loads_nothing_heavy() -> None:
    """A command that only wants to print its help must not pay for a model client."""
    code = (
        "import sys, actors; from actors import Actor, Agent, OpenAIChatCompletionClient, "
        "WorkflowBuilder, open_system; "
        "print(*{'openai', 'pydantic', 'httpx2', 'click', 'rich', 'cattrs'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == []


def test_who_builds_a_workflow_loads_no_actor_system() -> None:
    """Nor what few workflows have: these imports are in the way of every command."""
    code = (
        "import sys; from actors import AgentExecutor, WorkflowBuilder; "
        "print(*{'actors._core._system', 'actors._core._supervision._decide', 'actors.workflows._graph._switch', "
        "'actors.workflows._workflow', 'protocols._aggregate'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == []
