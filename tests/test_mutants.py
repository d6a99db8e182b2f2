"""The script that breaks modules does break them."""

from __future__ import annotations

import ast
from typing import Any

from tests.mutants import broken, change, fits, inside_functions, mutants_of

SOURCE = '''
"""Says nothing."""
NAME = "x"

def double(number: "int") -> "int":
    """Nor does this."""
    if number < 1 and not number:
        raise ValueError("zero" + "!")
    note(number)
    return number * 2
'''


def test_code_is_broken_in_one_place_each_and_texts_are_not() -> None:
    tree = ast.parse(SOURCE)
    seen = {(mutant.before.partition("\n")[0], mutant.after) for mutant in mutants_of(tree)}
    assert ("number < 1", "number <= 1") in seen
    assert ("not number", "number") in seen
    assert ("number * 2", "number + 2") in seen
    assert ("return number * 2", "return") in seen
    assert ("note(number)", "nothing") in seen
    assert not any("zero" in before and "raise" not in after for before, after in seen)
    assert not any("Says" in before or "int" in before for before, _ in seen)
    for mutant in mutants_of(tree):
        assert ast.unparse(broken(tree, mutant)) != ast.unparse(tree), mutant
    assert ast.unparse(tree) == ast.unparse(ast.parse(SOURCE))


LIVING = """
def outer(by=1):
    def inner(number):
        return number + by
    return inner
"""


def test_functions_that_are_in_use_are_broken_in_place() -> None:
    tree = ast.parse(LIVING)
    code = compile(tree, "living", "exec")
    names: dict[str, Any] = {}
    exec(code, names)
    outer = names["outer"]
    inner = outer()
    assert inner(5) == 6
    [plus] = [m for m in mutants_of(tree) if m.after == "number - by"]
    assert plus.number in inside_functions(tree)
    new = compile(broken(tree, plus), "living", "exec")
    assert fits(code, new)
    change(code, new)
    assert inner(5) == 4
    assert outer(2)(5) == 3


def test_what_only_an_import_can_break_is_known() -> None:
    tree = ast.parse(LIVING)
    [default] = [m for m in mutants_of(tree) if m.before == "1"]
    assert default.number not in inside_functions(tree)
    [lost] = [m for m in mutants_of(tree) if m.before == "return number + by"]
    code = compile(tree, "living", "exec")
    assert not fits(code, compile(broken(tree, lost), "living", "exec"))  # `by` isn't needed
