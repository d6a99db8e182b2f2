"""The tests in docs/how-to/durable-workflows.md, which are collected here as if they were ours."""

from __future__ import annotations

from pathlib import Path

from tests.testing.test_guide import code_of

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "durable-workflows.md"

exec(compile(code_of(GUIDE.read_text()), str(GUIDE), "exec", dont_inherit=True), globals())


def test_the_guide_has_tests_and_they_are_found() -> None:
    assert sum(name.startswith("test_") for name in globals()) > 3
