"""Breaks a module of ours in many small ways, and says which of them no test notices.

    python -m tests.mutants actors/_core/_group.py tests/core/test_strategies.py …

Nothing is written: the broken module is made in memory, in a process of its own that runs the
tests. So it can be used while others work on the same files. It needs `os.fork`: each process
begins with all that is slow to import and isn't ours.

The first test that fails decides, so name those first that look at the module most closely.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import importlib.abc
import importlib.util
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

import attrs

SWAPS: Final[dict[type[ast.AST], type[ast.AST]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}

SLOW: Final = ("pytest", "hypothesis.stateful", "hypothesis.strategies", "trio.testing", "cattrs")


@attrs.frozen
class Mutant:
    """One way to break a module: the number of a node in the order of `ast.walk`, and how."""

    number: int
    line: int
    before: str
    after: str
    breaks: Callable[[Any], ast.AST | None]


# ------------------------------------------------------------------ what to break


def mutants_of(tree: ast.Module) -> Iterator[Mutant]:
    """Give out the ways to break *tree* that could matter: code, and no annotations or texts."""
    skipped = set(_irrelevant(tree))
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in skipped:
            continue
        for breaks in _ways(node):
            broken = breaks(copy.deepcopy(node))
            after = "nothing" if broken is None else ast.unparse(broken)
            yield Mutant(number, getattr(node, "lineno", 0), ast.unparse(node), after, breaks)


def _irrelevant(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        roots: list[ast.AST | None] = [node] if _is_for_people(node) else []
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            arguments = [each for each in ast.walk(node.args) if isinstance(each, ast.arg)]
            roots += [node.returns, *(each.annotation for each in arguments)]
        elif isinstance(node, ast.AnnAssign):
            roots.append(node.annotation)
        for root in roots:
            yield from () if root is None else map(id, ast.walk(root))


def _is_for_people(node: ast.AST) -> bool:
    """What errors, docstrings and members of enums say, what only type checkers read, and slots."""
    if isinstance(node, (ast.Raise, ast.Assert, ast.JoinedStr)):
        return True
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if not isinstance(node, ast.Assign):
        return False
    is_named = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return is_named or ast.unparse(node.targets[0]) in {"T", "__slots__"}


Breaks = Callable[[Any], ast.AST | None]


def _ways(node: ast.AST) -> Iterator[Breaks]:  # noqa: C901  (a table)
    match node:
        case ast.Compare():
            yield _swap_comparison
        case ast.BoolOp() | ast.BinOp() | ast.AugAssign() if type(node.op) in SWAPS:
            yield _swap_operator
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield lambda n: n.operand
        case ast.Constant(value=bool() | int() | float() | str()):
            yield _change_constant
        case ast.If() | ast.IfExp() | ast.While():
            yield _negate_test
        case ast.Return(value=ast.AST()):
            yield _return_none
        case ast.Expr(value=ast.Call() | ast.Await()):
            yield lambda _: None
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript() | ast.Tuple()]):
            yield lambda _: None
        case _:
            pass


def _swap_comparison(node: ast.Compare) -> ast.AST:
    node.ops[0] = SWAPS[type(node.ops[0])]()  # type: ignore[call-overload]
    return node


def _swap_operator(node: Any) -> ast.AST:
    node.op = SWAPS[type(node.op)]()
    return node  # type: ignore[no-any-return]


def _change_constant(node: ast.Constant) -> ast.AST:
    value: Any = node.value
    if isinstance(value, bool):
        node.value = not value
    else:
        node.value = value + "!" if isinstance(value, str) else value + 1
    return node


def _negate_test(node: Any) -> ast.AST:
    node.test = ast.UnaryOp(ast.Not(), node.test)
    return node  # type: ignore[no-any-return]


def _return_none(node: ast.Return) -> ast.AST:
    node.value = None
    return node


class _Break(ast.NodeTransformer):
    def __init__(self, target: ast.AST, mutant: Mutant) -> None:
        self.target, self.mutant = target, mutant

    def visit(self, node: ast.AST) -> ast.AST:
        if node is not self.target:
            return self.generic_visit(node)
        broken = self.mutant.breaks(node)
        return ast.copy_location(ast.Pass(), node) if broken is None else broken


def broken(tree: ast.Module, mutant: Mutant) -> ast.Module:
    """Return a copy of *tree* with *mutant* in it."""
    tree = copy.deepcopy(tree)
    target = next(node for number, node in enumerate(ast.walk(tree)) if number == mutant.number)
    _Break(target, mutant).visit(tree)
    return ast.fix_missing_locations(tree)


# ------------------------------------------------------------------ running the tests


class Loader(importlib.abc.Loader, importlib.abc.MetaPathFinder):
    """Imports *code* as the module *name*."""

    def __init__(self, name: str, path: str, code: CodeType) -> None:
        self.name, self.path, self.code = name, path, code

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(self.code, module.__dict__)


def _prepare() -> None:
    """Import for all processes what would cost each of them more than most tests do."""
    for name in SLOW:
        importlib.import_module(name)
    from hypothesis import Phase, settings

    # How small an example can be made doesn't matter here, and takes minutes.
    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("mutants", database=None, phases=phases)
    settings.load_profile("mutants")


def notices(
    path: Path, code: CodeType, tests: list[str], seconds: float, *, is_heard: bool = False
) -> str | None:
    """Run *tests* in a process where *path* is *code*: how it was noticed, or None."""
    child = os.fork()
    if child == 0:
        _run_tests(path, code, tests, is_heard)  # never returns
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return None if status == 0 else "failed"
        signal.sigtimedwait([], 0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hung"


def _run_tests(path: Path, code: CodeType, tests: list[str], is_heard: bool) -> None:
    import pytest

    status = 1
    try:
        if not is_heard:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
        # A job in the background ignores it, and tests press Ctrl-C.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        name = ".".join(path.with_suffix("").parts)
        sys.meta_path.insert(0, Loader(name, str(path.absolute()), code))
        options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not long"]
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # see `_prepare`
        # Fixed examples: otherwise chance would decide who survives.
        status = int(pytest.main([*options, "--hypothesis-seed=0", *tests]))
    finally:
        os._exit(status)


def main(arguments: list[str] | None = None) -> int:
    """Break, run, and list the survivors."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("module", type=Path)
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--seconds", type=float, default=120.0, help="after which tests hang")
    parser.add_argument("--lines", help="only these, as FIRST-LAST")
    options = parser.parse_args(arguments)
    _prepare()
    tree = ast.parse(options.module.read_text())

    def compiled(part: ast.Module) -> CodeType:
        return compile(part, str(options.module.absolute()), "exec")

    def how(part: ast.Module, **say: bool) -> str | None:
        return notices(options.module, compiled(part), options.tests, options.seconds, **say)

    began = time.monotonic()
    if how(tree, is_heard=True) is not None:
        sys.stderr.write("the tests fail without any change\n")
        return 2
    # Most that hang do so in a test that takes no time at all.
    options.seconds = min(options.seconds, 10 + 3 * (time.monotonic() - began))
    first, last = map(int, options.lines.split("-")) if options.lines else (0, sys.maxsize)
    mutants = [m for m in mutants_of(tree) if first <= m.line <= last]
    survivors = 0
    for number, mutant in enumerate(mutants, 1):
        sys.stderr.write(f"\r{number} of {len(mutants)} ")
        if how(broken(tree, mutant)) is None:
            survivors += 1
            before, after = (" ".join(t.split())[:90] for t in (mutant.before, mutant.after))
            sys.stdout.write(f"{options.module}:{mutant.line}: {before}  ->  {after}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(mutants)} mutants, {survivors} survived\n")
    return int(bool(survivors))


if __name__ == "__main__":
    sys.exit(main())
