"""What the figures say: medians, ratios of medians, and whether a goal is met."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

import attrs

from bench._registry import Beside, Figure, Row
from bench._rounds import Measured


@attrs.frozen
class Verdict:
    """How a number compares with its goal.

    Args:
        goal: in words.
        factor: how many times better ours would have to be; 1 or less if the goal is met.
    """

    goal: str
    factor: float

    def __str__(self) -> str:
        return f"missed by {self.factor:.2f}x" if self.factor > 1 else "met"


@attrs.frozen
class Line:
    """One figure of a row: its subject (without a ratio), or one that stands beside it.

    Args:
        row: the row.
        figure: the figure.
        values: one a round, in seconds or bytes; none if it is missing.
        ratio: of the medians, as `Beside` has it.
        verdict: if there is a goal.
        missing: why there are no values.
    """

    row: Row
    figure: Figure
    values: tuple[float, ...]
    ratio: float | None = None
    is_speedup: bool = False
    verdict: Verdict | None = None
    missing: str | None = None

    @property
    def median(self) -> float | None:
        """The median of all rounds."""
        return statistics.median(self.values) if self.values else None


def judge(rows: Sequence[Row], measured: Measured) -> Iterator[Line]:
    """Give the lines of the table."""
    for row in rows:
        subject = _line(row, row.subject, measured)
        if row.at_most is not None and subject.median is not None:
            found = subject.median * row.factor
            verdict = Verdict(f"<= {row.at_most:g} {row.unit}", found / row.at_most)
            subject = attrs.evolve(subject, verdict=verdict)
        yield subject
        for beside in row.beside:
            yield _compared(subject, beside, _line(row, beside.figure, measured))


def _line(row: Row, figure: Figure, measured: Measured) -> Line:
    values = tuple(measured.values.get(figure, ()))
    return Line(row, figure, values, missing=measured.missing.get(figure))


def _compared(subject: Line, beside: Beside, line: Line) -> Line:
    speedup = beside.is_speedup
    above, below = (line, subject) if speedup else (subject, line)
    # A tiny run may measure nothing at all.
    if not above.median or not below.median:
        return line
    ratio = above.median / below.median
    return attrs.evolve(line, ratio=ratio, is_speedup=speedup, verdict=_verdict(beside, ratio))


def _verdict(beside: Beside, ratio: float) -> Verdict | None:
    if beside.at_most is not None:
        return Verdict(f"<= {beside.at_most:g}x", ratio / beside.at_most)
    if beside.at_least is not None:
        return Verdict(f">= {beside.at_least:g}x better", beside.at_least / ratio)
    return None
