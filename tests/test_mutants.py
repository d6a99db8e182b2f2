"""The script that breaks modules does break them."""

from __future__ import annotations

import ast

from tests.mutants import broken, mutants_of

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
