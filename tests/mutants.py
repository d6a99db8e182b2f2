"""Breaks a module of ours in many small ways, and says which of them no test notices.

    python -m tests.mutants actors/_core/_supervision/_group.py tests/core/test_strategies.py …

Nothing is written: the broken module is made in memory, in a process of its own that runs the
tests. So it can be used while others work on the same files. It needs `os.fork`: each process
begins with all that is slow to import and isn't ours.

The first test that fails decides, so name those first that look at the module most closely.
"""

from __future__ import annotations

import argparse
import ast
import copy
import gc
import importlib
import importlib.abc
import importlib.util
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
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

# How a process ends that couldn't be broken as it should have been.
BUG: Final = 99
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


def in_process(act: Callable[[], bool], seconds: float, *, is_heard: bool = False) -> bool:
    """Do *act* in a process of its own; whether it gave True, in time."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            # A job in the background ignores it, and tests press Ctrl-C.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if not is_heard:
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, 1)
                os.dup2(nowhere, 2)
            status = 0 if act() else 1
        finally:
            os._exit(status)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) != BUG, "this script has a fault"
            return status == 0
        signal.sigtimedwait([], 0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def change(old: CodeType, new: CodeType) -> None:
    """Give all functions that were made of *old*, or of a part of it, their *new* code."""
    import trio._core._ki as ki

    protected = ki._CODE_KI_PROTECTION_STATUS_WMAP
    changed = dict(_differences(old, new))
    for function in [each for each in gc.get_objects() if isinstance(each, FunctionType)]:
        code = changed.get(function.__code__)
        if code is not None:
            with suppress(KeyError):  # whether Ctrl-C may interrupt it
                protected[code] = protected[function.__code__]
            function.__code__ = code


def _differences(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    if old != new:
        yield old, new
    for one, other in zip(_parts(old), _parts(new), strict=True):
        yield from _differences(one, other)


def _parts(code: CodeType) -> list[CodeType]:
    return [each for each in code.co_consts if isinstance(each, CodeType)]


def fits(old: CodeType, new: CodeType) -> bool:
    """Whether functions that were made of *old* can be given their *new* code."""
    parts, others = _parts(old), _parts(new)
    return (
        old.co_freevars == new.co_freevars
        and len(parts) == len(others)
        and all(map(fits, parts, others))
    )


def inside_functions(tree: ast.Module) -> set[int]:
    """Return the numbers of the nodes that are in the body of a function."""
    inside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inside.update(id(each) for part in node.body for each in ast.walk(part))
    return {number for number, node in enumerate(ast.walk(tree)) if id(node) in inside}


def run_pytest(tests: list[str], *plugins: object) -> bool:
    """Run *tests* here; whether they passed."""
    import pytest

    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not long"]
    # We have imported more than pytest likes.
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    # What hangs is one test mostly, which takes no time otherwise.
    options += ["-o", "faulthandler_timeout=40", "-o", "faulthandler_exit_on_timeout=true"]
    # Fixed examples: otherwise chance would decide who survives.
    return not pytest.main([*options, "--hypothesis-seed=0", *tests], plugins=list(plugins))


@attrs.define
class Hunt:
    """All mutants of one module against some tests.

    Most are made by changing functions after all has been imported and the tests are found, in
    a process that does no more than run them. Whatever else they break is broken at its import.
    """

    path: Path
    tests: list[str]
    seconds: float
    first: int = 0
    last: int = sys.maxsize
    tree: ast.Module = attrs.field(init=False)
    code: CodeType = attrs.field(init=False)
    survivors: list[Mutant] = attrs.field(init=False, factory=list)
    # Where pytest can't catch it.
    progress: int = attrs.field(init=False, factory=lambda: os.dup(2))

    def __attrs_post_init__(self) -> None:
        self.tree = ast.parse(self.path.read_text())
        self.code = self._compiled(self.tree)

    def _compiled(self, tree: ast.Module) -> CodeType:
        return compile(tree, str(self.path.absolute()), "exec")

    def mutants(self) -> list[Mutant]:
        """Return those on the lines that matter."""
        return [m for m in mutants_of(self.tree) if self.first <= m.line <= self.last]

    def run(self) -> bool:
        """Fill the survivors. False: the tests fail without any change."""
        quick = inside_functions(self.tree)
        codes = {m: self._compiled(broken(self.tree, m)) for m in self.mutants()}
        fast = [m for m in codes if m.number in quick and fits(self.code, codes[m])]
        slow = [m for m in codes if m not in fast]
        if not in_process(self._at_import(self.code), self.seconds, is_heard=True):
            return False
        for mutant in slow:
            self._try(mutant, self._at_import(codes[mutant]))
        ours, theirs = os.pipe()
        if not in_process(lambda: self._all_of(fast, theirs), math.inf):
            return False
        os.close(theirs)
        with os.fdopen(ours) as numbers:
            self.survivors += [fast[int(line)] for line in numbers]
        self.survivors.sort(key=lambda mutant: mutant.line)
        return True

    def _at_import(self, code: CodeType) -> Callable[[], bool]:
        def act() -> bool:
            name = ".".join(self.path.with_suffix("").parts)
            sys.meta_path.insert(0, Loader(name, str(self.path.absolute()), code))
            return run_pytest(self.tests)

        return act

    def _try(self, mutant: Mutant, act: Callable[[], bool]) -> bool:
        survives = in_process(act, self.seconds)
        os.write(self.progress, b"?" if survives else b".")
        if survives:
            self.survivors.append(mutant)
        return survives

    def _all_of(self, mutants: list[Mutant], pipe: int) -> bool:
        hunt = self

        class Instead:
            """Tries the mutants where pytest would run the tests it has found."""

            def pytest_runtestloop(self, session: Any) -> bool:
                for number, mutant in enumerate(mutants):
                    if hunt._try(mutant, lambda: hunt._changed(mutant, session)):  # noqa: B023  (done at once)
                        os.write(pipe, f"{number}\n".encode())
                return True

        name = ".".join(self.path.with_suffix("").parts)
        # All code objects are then those that we know.
        sys.meta_path.insert(0, Loader(name, str(self.path.absolute()), self.code))
        return run_pytest(self.tests, Instead())

    def _changed(self, mutant: Mutant, session: Any) -> bool:
        from _pytest.main import pytest_runtestloop

        try:
            change(self.code, self._compiled(broken(self.tree, mutant)))
        except BaseException:
            os._exit(BUG)
        try:
            pytest_runtestloop(session)
        except session.Failed:
            return False
        return not session.testsfailed


def _prepare() -> None:
    """Import for all processes what would cost each of them more than most tests do."""
    for name in SLOW:
        importlib.import_module(name)
    from hypothesis import Phase, settings

    # How small an example can be made doesn't matter here, and takes minutes.
    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("mutants", database=None, phases=phases)
    settings.load_profile("mutants")


def main(arguments: list[str] | None = None) -> int:
    """Break, run, and list the survivors."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("module", type=Path)
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--seconds", type=float, default=120.0, help="after which tests hang")
    parser.add_argument("--lines", default=f"0-{sys.maxsize}", help="only these, as FIRST-LAST")
    options = parser.parse_args(arguments)
    first, last = map(int, options.lines.split("-"))
    _prepare()
    hunt = Hunt(options.module, options.tests, options.seconds, first, last)
    if not hunt.run():
        sys.stderr.write("the tests fail without any change\n")
        return 2
    for mutant in hunt.survivors:
        before, after = (" ".join(t.split())[:90] for t in (mutant.before, mutant.after))
        sys.stdout.write(f"{options.module}:{mutant.line}: {before}  ->  {after}\n")
    sys.stdout.write(f"{len(hunt.mutants())} mutants, {len(hunt.survivors)} survived\n")
    return int(bool(hunt.survivors))


if __name__ == "__main__":
    sys.exit(main())
