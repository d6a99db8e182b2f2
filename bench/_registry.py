"""What is measured: figures, the rows that set them side by side, and what we aim for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, Literal

import attrs

Unit = Literal["us", "ms", "B"]
# A figure is kept in seconds, or in bytes.
FACTORS: Final[dict[Unit, float]] = {"us": 1e6, "ms": 1e3, "B": 1.0}


@attrs.frozen
class Figure:
    """One number, measured in a process of its own. Equal figures are measured once.

    Args:
        label: what it is the cost of, in the table.
        module: of its function.
        function: called there with a `Meter` and *args*; async for trio.
        args: sizes, which a smoke run makes small, and texts.
        peer: in whose virtual environment it is measured; None for our own.
    """

    label: str
    module: str
    function: str
    args: tuple[int | str, ...] = ()
    peer: str | None = None


@attrs.frozen
class Beside:
    """A figure that stands beside a row's subject, and how the two should compare.

    Args:
        figure: the other one.
        at_most: the goal for subject / other.
        at_least: the goal for other / subject: how many times faster (or smaller) we are.
    """

    figure: Figure
    at_most: float | None = None
    at_least: float | None = None

    @property
    def is_speedup(self) -> bool:
        """Whether the ratio is told as other / subject."""
        return self.at_least is not None or (self.at_most is None and self.figure.peer is not None)


@attrs.frozen
class Row:
    """One question with one size.

    Args:
        name: how it is chosen on the command line: the question's name, a dot, and its own.
        per: what the subject's figure is the cost of one of.
        subject: ours.
        beside: limits of the bare machine, and peers.
        unit: for the table.
        at_most: the goal for the subject itself, in *unit*.
    """

    name: str
    per: str
    subject: Figure
    beside: tuple[Beside, ...] = ()
    unit: Unit = "us"
    at_most: float | None = None

    @property
    def factor(self) -> float:
        """What a value is multiplied with, to be in the row's unit."""
        return FACTORS[self.unit]

    @property
    def figures(self) -> Iterator[Figure]:
        """All that has to be measured for it."""
        yield self.subject
        for beside in self.beside:
            yield beside.figure


def ours(label: str, function: Callable[..., Any], *args: int | str) -> Figure:
    """Make a figure of a function that runs in our own virtual environment."""
    return Figure(label, function.__module__, function.__name__, args)


def theirs(
    peer: str, label: str, function: str, *args: int | str, at_least: float | None = None
) -> Beside:
    """Set a figure of a peer's beside ours; *function* is in the peer's script."""
    figure = Figure(label, f"bench.peer_scripts.{peer}", function, args, peer)
    return Beside(figure, at_least=at_least)


def chosen(rows: tuple[Row, ...], names: list[str]) -> list[Row]:
    """Return the rows that *names* mean: rows or whole questions; all, without names.

    Raises:
        ValueError: a name means none.
    """
    for name in names:
        if not any(_means(name, row) for row in rows):
            known = ", ".join(dict.fromkeys(row.name.split(".")[0] for row in rows))
            raise ValueError(f"no row is called {name!r}; there are {known} (see --list)")
    return [row for row in rows if not names or any(_means(name, row) for name in names)]


def _means(name: str, row: Row) -> bool:
    return row.name == name or row.name.startswith(f"{name}.")
