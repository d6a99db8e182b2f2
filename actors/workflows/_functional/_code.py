# What makes the code of a workflow the same, as far as its replay is concerned: the text of its
# function, of the steps and child workflows that it names, and of the functions that those name
# in their turn, as long as they are the user's (in the same top-level package). The text is
# compared as Python understands it, so that comments and line breaks don't matter, and neither
# does the version of Python. Where there is no text, the compiled code has to do.
#
# Values that functions hold (a counter in a closure, a default that was computed) are not part
# of it: they change while the program runs.
"""A description of the code of a workflow, and what two of them differ in."""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import textwrap
import types
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SHORT: Final = 16


def code_of(function: Any) -> dict[str, str]:
    """Return a digest of the code of *function*, and of each one that it leads to, by name."""
    found: dict[str, str] = {}
    seen: set[types.CodeType] = set()
    todo = [_plain(function)]
    package = _package(todo[0])
    while todo:
        each = todo.pop()
        code = getattr(each, "__code__", None)
        if code is None or code in seen:
            continue
        seen.add(code)
        name, number = each.__qualname__.rpartition("<locals>.")[2], 2
        key = name
        while key in found:
            key, number = f"{name} ({number})", number + 1
        found[key] = _digest(each)
        todo += [other for other in _named_by(each) if _package(other) == package]
    return found


def differences(stored: Mapping[str, Any], present: Mapping[str, Any]) -> tuple[str, ...]:
    """Say which functions the *present* code has (``+``), has not (``-``), or has otherwise."""
    return tuple(_differences(stored, present))


def _differences(stored: Mapping[str, Any], present: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(stored.keys() | present.keys()):
        if name not in stored:
            yield f"+ {name}"
        elif name not in present:
            yield f"- {name}"
        elif stored[name] != present[name]:
            yield f"{name}: its code has changed"


def _plain(function: Any) -> Any:
    """Return the function behind a step, a workflow, a method, a partial."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, types.MethodType):
            function = function.__func__
        elif hasattr(function, "__run_as_step__"):
            function = function.function
        else:
            return inspect.unwrap(function) if callable(function) else function


def _package(function: Any) -> str:
    return str(getattr(function, "__module__", "") or "").partition(".")[0]


def _named_by(function: Any) -> Iterator[Any]:
    """Give the functions that *function* knows by a global name, or by one from outside of it."""
    names: dict[str, Any] = {}
    for code in _codes(function.__code__):
        names |= {name: function.__globals__.get(name) for name in code.co_names}
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:
        try:
            names[name] = cell.cell_contents
        except ValueError:  # it is defined later
            continue
    for _, value in sorted(names.items()):
        plain = _plain(value)
        if isinstance(plain, types.FunctionType):
            yield plain


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _digest(function: Any) -> str:
    try:
        text = ast.dump(ast.parse(textwrap.dedent(inspect.getsource(function))))
    except (OSError, TypeError, SyntaxError, ValueError):
        text = repr([(c.co_code, c.co_names, _constants(c)) for c in _codes(function.__code__)])
    return hashlib.sha256(text.encode()).hexdigest()[:_SHORT]


def _constants(code: types.CodeType) -> list[Any]:
    return [each for each in code.co_consts if not isinstance(each, types.CodeType)]
