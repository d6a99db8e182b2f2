"""The figures as a table for people, and as JSON."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from bench._judge import Line
from bench._peers import PINS

HEAD: Final = ("row", "figure", "median", "min - max", "ratio", "goal", "")


def conditions(rounds: int, clock: str, peers: Sequence[str]) -> dict[str, Any]:
    """Say what was measured with, where and when."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "load": load,
        "rounds": rounds,
        "clock": clock,
        "versions": {
            "python": platform.python_version(),
            "trio": importlib.metadata.version("trio"),
            "trio-actors": importlib.metadata.version("trio-actors"),
        },
        "peers": [pin for peer in peers for pin in PINS[peer]],
    }


def as_json(lines: Sequence[Line], about: dict[str, Any]) -> dict[str, Any]:
    """Give everything there is, raw: values in seconds or bytes."""
    return {"conditions": about, "figures": [_as_dict(line) for line in lines]}


def _as_dict(line: Line) -> dict[str, Any]:
    is_subject = line.figure == line.row.subject and line.ratio is None
    verdict = line.verdict
    return {
        "row": line.row.name,
        "role": "subject" if is_subject else "peer" if line.figure.peer else "limit",
        "figure": line.figure.label,
        "peer": line.figure.peer,
        "unit": "B" if line.row.unit == "B" else "s",
        "per": line.row.per,
        "values": list(line.values),
        "median": line.median,
        "ratio": line.ratio,
        "goal": verdict and verdict.goal,
        "verdict": verdict and str(verdict),
        "missing": line.missing,
    }


def print_table(lines: Sequence[Line], about: dict[str, Any]) -> None:
    """Print the table: by rich where somebody looks at it, else as Markdown."""
    cells = [_cells(line) for line in lines]
    if sys.stdout.isatty() and importlib.util.find_spec("rich"):
        _print_rich(cells)
    else:
        _print_plain(cells)
    versions = [f"{name} {version}" for name, version in about["versions"].items()]
    print(f"\n{about['rounds']} rounds, {about['clock']} time; {', '.join(versions)};")
    print(f"{about['machine']}, load {about['load']}; {about['date']}")
    print(f"peers: {', '.join(about['peers']) or 'none'}")
    print(
        "A plain ratio is ours to the other. 'missed by 2x': ours would have to be twice as good."
    )


def _cells(line: Line) -> tuple[str, ...]:
    is_subject = line.ratio is None and line.figure == line.row.subject
    name = f"{line.row.name} ({line.row.unit} per {line.row.per})" if is_subject else ""
    if line.median is None:
        return name, line.figure.label, f"missing: {line.missing}", "", "", "", ""
    factor = line.row.factor
    span = f"{_short(min(line.values) * factor)} - {_short(max(line.values) * factor)}"
    return (
        name,
        line.figure.label,
        _short(line.median * factor),
        span,
        _ratio(line),
        line.verdict.goal if line.verdict else "",
        str(line.verdict) if line.verdict else "",
    )


def _ratio(line: Line) -> str:
    if line.ratio is None:
        return ""
    if not line.is_speedup:
        return f"{_short(line.ratio)}x"
    better, worse = line.ratio, 1 / line.ratio
    return f"{_short(better)}x better" if better >= 1 else f"{_short(worse)}x worse"


def _short(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"


def _print_plain(cells: Sequence[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(HEAD, *cells, strict=True)]
    for line in (HEAD, tuple("-" * width for width in widths), *cells):
        padded = (text.ljust(width) for text, width in zip(line, widths, strict=True))
        print(f"| {' | '.join(padded)} |")


def _print_rich(cells: Sequence[tuple[str, ...]]) -> None:
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    table = Table(*HEAD, box=SIMPLE)
    for line in cells:
        style = {"met": "green", "": None}.get(line[-1], "yellow")
        table.add_row(*line, style=style)
    Console().print(table)
