"""The reference of the semantics names tests that there are, for all it promises."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "semantics.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)))
RULES = [
    *(f"G{n}" for n in range(1, 8)),
    *(
        f"R{n}"
        for n in (*range(13), *range(20, 24), *range(30, 37), *range(38, 43), *range(49, 52), 60)
    ),
]


@cache
def known_tests(path: str) -> frozenset[str]:
    """The names of the test functions in a file."""
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    functions = (n for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(f.name for f in functions if f.name.startswith("test_"))


def section(rule: str) -> str:
    """The text under the heading of *rule*."""
    found = re.search(rf"^### {rule}\. .*?(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, f"the page has no part on {rule}"
    return found[0]


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_a_test_that_is_named_exists(path: str, name: str) -> None:
    assert name in known_tests(path)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_says_what_and_names_tests(rule: str) -> None:
    text = section(rule)
    prose = [line for line in text.splitlines()[1:] if line and not line.startswith("- `tests/")]
    assert prose
    assert re.search(r"`tests/[\w/]+\.py::\w+`", text)


def test_whatever_looks_like_a_test_is_spelled_so_that_it_is_checked() -> None:
    assert len(re.findall(r"::test_\w+", PAGE)) == len(
        re.findall(r"`tests/[\w/]+\.py::\w+`", PAGE)
    )
