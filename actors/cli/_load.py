# The user's folder goes to the end of sys.path: a file there that is called trio.py, rich.py or
# protocols.py must not replace what we are made of. The price is that a module of theirs loses
# against an installed one of the same name.
"""Loading the file or module that ``actors run`` was given."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from actors.cli._errors import describe, place_of
from actors.cli._outcome import CommandError
from actors.cli._shadow import did_you_mean, explain_import_error

if TYPE_CHECKING:
    from types import ModuleType

_DOTTED: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


@attrs.frozen
class Target:
    """What was asked for: a file or module, and perhaps a name in it.

    Args:
        where: the file or module, as it was given.
        name: the name in it.
        path: the file; None for a module.
    """

    where: str
    name: str | None
    path: Path | None

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where the user's own modules may be."""
        return (Path.cwd(),) if self.path is None else (self.path.parent, Path.cwd())


def parse_target(text: str) -> Target:
    """Take ``FILE_OR_MODULE[:NAME]`` apart.

    Raises:
        CommandError: it is neither a file nor the name of a module.
    """
    where, name = _split(text)
    path = Path(where)
    if path.is_file():
        return Target(where, name, path.resolve())
    if path.suffix != ".py" and not path.is_dir() and _DOTTED.fullmatch(where):
        return Target(where, name, None)
    if path.is_dir():
        raise CommandError(
            f"{where} is a folder; name the Python file in it that has the workflow"
        )
    raise CommandError(f"there is no file {where}{_like(path)}")


def _split(text: str) -> tuple[str, str | None]:
    where, colon, name = text.rpartition(":")
    # A colon may belong to the path: of a drive, or of an odd file name.
    if not colon or Path(text).is_file() or name.startswith(("/", "\\")):
        return text, None
    if not _DOTTED.fullmatch(name):
        raise CommandError(
            f"{text}: what follows the colon is to be the name of a workflow, and {name!r} is none"
        )
    return where, name


def _like(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f": there is no folder {folder}"
    names = [each.name for each in folder.iterdir() if each.suffix == ".py"]
    return did_you_mean(path.name, names) or f" (the current folder is {Path.cwd()})"


def load(target: Target) -> ModuleType:
    """Run the user's file, or import the module, and return it.

    Raises:
        CommandError: there is none, or it can't be loaded; says in which line, if known.
    """
    for folder in target.folders:
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
    try:
        if target.path is not None:
            return _load_file(target.path)
        return importlib.import_module(target.where)
    # SystemExit too: a script that calls sys.exit() must not end us with its own exit code.
    except (Exception, SystemExit) as error:
        raise CommandError(_explain(error, target)) from error


def _load_file(path: Path) -> ModuleType:
    name = _module_name(path)
    loader = importlib.machinery.SourceFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    # Annotations are looked up there, by codecs and by us.
    sys.modules[name] = module
    loader.exec_module(module)
    return module


def _module_name(path: Path) -> str:
    stem = path.stem
    is_free = stem.isidentifier() and stem not in sys.modules
    if is_free and (found := importlib.util.find_spec(stem)) is not None:
        # An installed module, perhaps, that others want to import.
        is_free = found.origin == str(path)
    return stem if is_free else f"_run_by_actors_{stem}"


def _explain(error: BaseException, target: Target) -> str:
    if isinstance(error, ModuleNotFoundError) and _is_part(error.name or "", target):
        known = explain_import_error(error, target.folders)
        return known or f"there is no module {target.where}{_modules_like(target.where)}"
    if isinstance(error, SystemExit):
        place = place_of(error)
        return (
            f"{target.where} ended Python while it was loaded{place and f' ({place})'}; put what "
            'is only for running it as a script under `if __name__ == "__main__":`'
        )
    known = explain_import_error(error, target.folders)
    place = place_of(error)
    reason = f"{known}{place and f' ({place})'}" if known else describe(error)
    return f"{target.where} can't be loaded: {reason}"


def _is_part(missing: str, target: Target) -> bool:
    """Say whether the module that is missing is the target, or a package that it would be in."""
    return target.path is None and f"{target.where}.".startswith(f"{missing}.")


def _modules_like(name: str) -> str:
    here = [each.stem for each in Path.cwd().glob("*.py")]
    near = did_you_mean(name, here)
    return near or f" (the current folder is {Path.cwd()})"
