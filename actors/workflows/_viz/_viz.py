"""``WorkflowViz``: pictures of a workflow, as text and as files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from actors.workflows._viz._dot import render, to_dot
from actors.workflows._viz._drawing import draw
from actors.workflows._viz._mermaid import to_mermaid

if TYPE_CHECKING:
    from actors.workflows._workflow import Workflow

PictureFormat: TypeAlias = Literal["svg", "png", "pdf", "dot"]
_FORMATS: Final = get_args(PictureFormat)


class WorkflowViz:
    """Draws a workflow: who may send to whom, and what decides it.

    A dashed arrow is one that not every message takes; the name of the function that decides is
    written at it. Nested workflows have a frame.

    Args:
        workflow: what is drawn.
    """

    def __init__(self, workflow: Workflow) -> None:
        self._workflow = workflow

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._workflow.name}>"

    def to_mermaid(self, include_internal_executors: bool = False) -> str:
        """Return the workflow in Mermaid.

        Args:
            include_internal_executors: whether to show the run itself, which sends the input.
        """
        return to_mermaid(
            draw(self._workflow, include_internal_executors=include_internal_executors)
        )

    def to_digraph(self, include_internal_executors: bool = False) -> str:
        """Return the workflow in DOT.

        Args:
            include_internal_executors: whether to show the run itself, which sends the input.
        """
        return to_dot(draw(self._workflow, include_internal_executors=include_internal_executors))

    def to_picture(
        self,
        format: PictureFormat = "svg",  # noqa: A002 (the keyword of ``export``)
        *,
        include_internal_executors: bool = False,
    ) -> bytes:
        """Return the contents of a picture file. Blocks while graphviz works.

        Args:
            format: DOT needs no graphviz.
            include_internal_executors: whether to show the run itself.

        Raises:
            ValueError: there is no such format.
            ImportError: graphviz isn't installed.
            WorkflowException: graphviz failed, or took longer than a minute.
        """
        if format not in _FORMATS:
            raise ValueError(
                f"a workflow can't be drawn as {format!r}; the formats are {', '.join(_FORMATS)}"
            )
        dot = self.to_digraph(include_internal_executors)
        return f"{dot}\n".encode() if format == "dot" else render(dot, format)

    def export(
        self,
        format: PictureFormat = "svg",  # noqa: A002 (MAF's keyword)
        filename: str | os.PathLike[str] | None = None,
        include_internal_executors: bool = False,
    ) -> str:
        """Write a picture into a file, and return the path of it. Blocks while graphviz works.

        In an async function, call it with ``trio.to_thread.run_sync``.

        Args:
            format: DOT needs no graphviz.
            filename: gets the format as its suffix if it has none. If it isn't given: a new
                file in the folder for temporary ones, which is yours to delete.
            include_internal_executors: whether to show the run itself.

        Raises:
            ValueError: there is no such format, or the file's suffix says another.
            ImportError: graphviz isn't installed.
            WorkflowException: graphviz failed, or took longer than a minute.
        """
        path = None if filename is None else _with_suffix(Path(filename), format)
        picture = self.to_picture(format, include_internal_executors=include_internal_executors)
        path = path or _temporary(format)
        path.write_bytes(picture)
        return str(path)

    def save_svg(
        self,
        filename: str | os.PathLike[str],
        include_internal_executors: bool = False,
    ) -> str:
        """Write an SVG file, and return the path of it; ``export`` says what may be raised."""
        return self.export("svg", filename, include_internal_executors)

    def save_png(
        self,
        filename: str | os.PathLike[str],
        include_internal_executors: bool = False,
    ) -> str:
        """Write a PNG file, and return the path of it; ``export`` says what may be raised."""
        return self.export("png", filename, include_internal_executors)

    def save_pdf(
        self,
        filename: str | os.PathLike[str],
        include_internal_executors: bool = False,
    ) -> str:
        """Write a PDF file, and return the path of it; ``export`` says what may be raised."""
        return self.export("pdf", filename, include_internal_executors)


def _with_suffix(path: Path, picture: str) -> Path:
    if not path.suffix:
        return path.with_name(f"{path.name}.{picture}")
    if path.suffix.lower() != f".{picture}":
        raise ValueError(
            f"{path} doesn't look like a file for {picture}; let its name end in .{picture}, or "
            f"ask for another format than {picture!r}"
        )
    return path


def _temporary(picture: str) -> Path:
    handle, name = tempfile.mkstemp(suffix=f".{picture}", prefix="workflow-")
    os.close(handle)
    return Path(name)
