"""A drawing in Mermaid, as pages in Markdown show it.

A label is escaped far beyond its quotes: Mermaid looks for directives and colours all over the
text before it parses any of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from actors.workflows._viz._drawing import JOIN_LABEL, clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from actors.workflows._viz._drawing import Drawing, Link, Node

_INDENT: Final = "    "
_UNSAFE: Final = re.compile(r"[^\w .,()/+=?!'\n-]")
# "direction TB" makes a statement of the line, even inside a string.
_STATEMENT: Final = re.compile(r"d(?=irection\s)")


def to_mermaid(drawing: Drawing) -> str:
    """Return *drawing* as a flowchart."""
    return "\n".join(["flowchart TD", *(f"{_INDENT}{line}" for line in _lines(drawing))])


def _lines(drawing: Drawing) -> Iterator[str]:
    for node in drawing.nodes:
        yield _node(node)
    for inner in drawing.nested:
        yield f'subgraph {inner.name}["{escaped(inner.label)}"]'
        for line in _lines(inner):
            yield f"{_INDENT}{line}"
        yield "end"
    for link in drawing.links:
        yield _link(link)


def _node(node: Node) -> str:
    if node.kind == "join":
        return f"{node.name}(({JOIN_LABEL}))"
    if node.kind == "run":
        return f'{node.name}(["{escaped(node.label)}"])'
    suffix = " (Start)" if node.kind == "start" else ""
    return f'{node.name}["{escaped(node.label)}{suffix}"]'


def _link(link: Link) -> str:
    arrow = "-.->" if link.is_conditional else "-->"
    label = "" if link.label is None else f'|"{escaped(link.label)}"|'
    return f"{link.source} {arrow}{label} {link.target}"


def escaped(text: str) -> str:
    """Return *text* as it is written between the quotes of a label."""
    numbered = _UNSAFE.sub(_entity, clean(text))
    return _STATEMENT.sub(_entity, numbered).replace("\n", "<br/>")


def _entity(match: re.Match[str]) -> str:
    return f"#{ord(match[0])};"
