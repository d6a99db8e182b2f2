# `import actors` finds ours in a program that the `actors` command runs, because ours is loaded
# already. The same file run with `python file.py` gets the user's folder of that name. Both
# surprise, so we speak up as soon as we see such a folder, not only when something has failed.
"""Folders and files of the user's that have the name of one of our packages."""

from __future__ import annotations

import re
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Final

import actors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_OURS: Final = ("actors", "protocols")
_NOT_THERE: Final = re.compile(r"cannot import name '(\w+)' from '(actors|protocols)'")


def package_root() -> Path:
    """Return the folder that our packages lie in."""
    assert actors.__file__ is not None
    return Path(actors.__file__).resolve().parent.parent


def find_shadows(folders: Iterable[Path]) -> Iterator[Path]:
    """Yield what is in *folders* under a name of ours and isn't ours."""
    root = package_root()
    for folder in dict.fromkeys(each.resolve() for each in folders):
        if folder == root:
            continue
        for name in _OURS:
            package, module = folder / name, folder / f"{name}.py"
            if package.is_dir() and any(package.glob("*.py")):
                yield package
            if module.is_file():
                yield module


def warn_of(shadow: Path) -> str:
    """Say what a name that is taken twice leads to."""
    return (
        f"{shadow} has the same name as trio-actors' own package {shadow.stem!r}. Under `actors "
        "run` that name means trio-actors' package; under `python` it means yours, and trio-actors "
        f"can't be imported. Rename yours, for example to my_{shadow.name}"
    )


def explain_import_error(error: BaseException, folders: Iterable[Path]) -> str | None:
    """Say why an import of one of our names failed, if we know."""
    if not isinstance(error, ImportError):
        return None
    package = (error.name or "").partition(".")[0]
    if package not in _OURS:
        return None
    for shadow in find_shadows(folders):
        if shadow.stem == package:
            return (
                f"{error}: {package!r} is trio-actors' own package here, not your {shadow}, which "
                f"has the same name; rename yours, for example to my_{shadow.name}"
            )
    return _with_close_names(error)


def _with_close_names(error: ImportError) -> str | None:
    found = _NOT_THERE.match(str(error))
    if found is None:
        return None
    public = getattr(sys.modules[found[2]], "__all__", ())
    near = did_you_mean(found[1], public)
    return f"{found[2]} has no {found[1]!r}{near or '; see its documentation for what it has'}"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return ``"; did you mean …?"`` with those of *names* that are like *name*, or nothing."""
    near = get_close_matches(name, list(names), n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(near)}?" if near else ""
