"""The tests in docs/how-to/test-your-actors.md, which are collected here as if they were ours."""

from __future__ import annotations

from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "test-your-actors.md"


def code_of(text: str) -> str:
    """The Python in a guide, each line where it stands in the guide, so that errors name it."""
    is_code = False
    lines = []
    for line in text.splitlines():
        fence = line.startswith("```")
        if fence:
            is_code = line == "```python"
        lines.append(line if is_code and not fence else "")
    return "\n".join(lines)


exec(compile(code_of(GUIDE.read_text()), str(GUIDE), "exec", dont_inherit=True), globals())


def test_the_guide_has_tests_and_they_are_found() -> None:
    assert sum(name.startswith("test_") for name in globals()) > 12
