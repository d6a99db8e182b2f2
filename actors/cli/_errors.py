"""Saying in a line what went wrong in a user's code, and where."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from actors.cli._shadow import package_root

if TYPE_CHECKING:
    from collections.abc import Iterator

_INSTALLED = ("site-packages", "dist-packages")


def describe(error: BaseException) -> str:
    """Return an error's type and message, and the line of the user's that it came from."""
    place = place_of(error)
    # A SyntaxError's text names the place already.
    said = (error.msg if isinstance(error, SyntaxError) else str(error)) or "it has no message"
    first = f"{type(error).__name__}: {said}{place and f' ({place})'}"
    if not isinstance(error, BaseExceptionGroup):
        return first
    return "\n".join([first, *(_indented(describe(each)) for each in error.exceptions)])


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def place_of(error: BaseException) -> str:
    """Return file and line of the innermost frame that is the user's own, or nothing."""
    if isinstance(error, SyntaxError) and error.filename:
        return _shown(error.filename, error.lineno)
    places = [_shown(name, line) for name, line in _frames(error) if _is_users(name)]
    return places[-1] if places else ""


def _frames(error: BaseException) -> Iterator[tuple[str, int]]:
    for frame, line in traceback.walk_tb(error.__traceback__):
        yield frame.f_code.co_filename, line


def _shown(filename: str, line: int | None) -> str:
    path = Path(filename)
    name = str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else filename
    return f"{name}, line {line}" if line else name


def _is_users(filename: str) -> bool:
    path = Path(filename)
    if filename.startswith("<") or any(part in _INSTALLED for part in path.parts):
        return False
    root = package_root()
    ours = any(path.is_relative_to(root / name) for name in ("actors", "protocols"))
    return not ours and not path.is_relative_to(Path(traceback.__file__).parent)
