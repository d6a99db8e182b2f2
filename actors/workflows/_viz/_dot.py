"""A drawing in DOT, the language of graphviz, and pictures that graphviz makes of it."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, Final

from actors.workflows._viz._drawing import clean
from protocols._errors import WorkflowException

if TYPE_CHECKING:
    from collections.abc import Iterator

    from actors.workflows._viz._drawing import Drawing, Link, Node, NodeKind

_INDENT: Final = "  "
# A backslash is doubled before anything else brings new ones. Graphviz reads entities of HTML.
_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "&": "&amp;", "\n": "\\n"})
_LOOKS: Final[dict[NodeKind, str]] = {
    "start": ', fillcolor="lightgreen"',
    "executor": "",
    "join": ", shape=ellipse",
    "run": ', shape=ellipse, style="dotted"',
}
# Laying out a graph of some thousand edges takes seconds; whatever takes longer hangs.
TIME_LIMIT: Final = 60.0


def to_dot(drawing: Drawing) -> str:
    """Return *drawing* as a directed graph from top to bottom."""
    head = [
        f"digraph {_quoted(drawing.label)} {{",
        f"{_INDENT}rankdir=TB;",
        f'{_INDENT}node [shape=box, style=filled, fillcolor="white"];',
    ]
    return "\n".join([*head, *(f"{_INDENT}{line}" for line in _lines(drawing)), "}"])


def _lines(drawing: Drawing) -> Iterator[str]:
    for node in drawing.nodes:
        yield _node(node)
    for inner in drawing.nested:
        # Graphviz draws a frame around those whose names begin with "cluster".
        yield f'subgraph "cluster_{inner.name}" {{'
        yield f"{_INDENT}label={_quoted(inner.label)};"
        for line in _lines(inner):
            yield f"{_INDENT}{line}"
        yield "}"
    for link in drawing.links:
        yield _link(link)


def _node(node: Node) -> str:
    suffix = "\n(Start)" if node.kind == "start" else ""
    label = _quoted(f"{node.label}{suffix}")
    return f'"{node.name}" [label={label}{_LOOKS[node.kind]}];'


def _link(link: Link) -> str:
    looks = ["style=dashed"] if link.is_conditional else []
    if link.label is not None:
        looks.append(f"label={_quoted(link.label)}")
    shown = f" [{', '.join(looks)}]" if looks else ""
    return f'"{link.source}" -> "{link.target}"{shown};'


def _quoted(text: str) -> str:
    return f'"{clean(text).translate(_ESCAPES)}"'


def render(dot: str, picture: str, *, time_limit: float = TIME_LIMIT) -> bytes:
    """Let graphviz make a picture. Blocks until it is there.

    Args:
        dot: what to show, in DOT.
        picture: the format: ``svg``, ``png`` or ``pdf``.
        time_limit: seconds.

    Raises:
        ImportError: graphviz isn't installed.
        WorkflowException: graphviz failed, or took too long.
    """
    executable = shutil.which("dot")
    if executable is None:
        raise ImportError(
            f"a workflow can't be drawn as {picture}: there is no `dot` on the PATH; install "
            "graphviz (https://graphviz.org/download), or take Mermaid or DOT, which need nothing",
            name="graphviz",
        )
    try:
        # Through pipes: what goes wrong half-way leaves no half a file behind.
        done = subprocess.run(  # noqa: S603 (no shell; the text goes through standard input)
            [executable, f"-T{picture}"],
            input=dot.encode("utf-8"),
            capture_output=True,
            timeout=time_limit,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise WorkflowException(
            f"graphviz drew for {time_limit:g} s without an end and was stopped; take Mermaid, or "
            "export DOT and draw it with another layout"
        ) from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip() or "it said nothing"
        raise WorkflowException(f"graphviz failed with exit code {done.returncode}: {said}")
    return done.stdout
