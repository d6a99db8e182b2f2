"""The command line: ``python -m bench [NAME…]``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

import attrs

from bench._judge import judge
from bench._questions import ROWS
from bench._registry import Row, chosen
from bench._report import as_json, conditions, print_table
from bench._rounds import Clock, measure_rounds, measure_smoke


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and report. Returns 1 if a figure of ours couldn't be measured."""
    parser = _parser()
    options = parser.parse_args(argv)
    try:
        rows = chosen(ROWS, options.names)
    except ValueError as exc:
        parser.error(str(exc))
    if options.list:
        print("\n".join(f"{row.name:32}{row.subject.label}" for row in rows))
        return 0
    if options.no_peers or options.smoke:
        rows = [_without_peers(row) for row in rows]
    figures = [figure for row in rows for figure in row.figures]
    clock: Clock = "wall" if options.wall else "cpu"
    if options.smoke:
        measured = measure_smoke(figures)
    else:
        measured = measure_rounds(figures, options.rounds, clock)
    lines = list(judge(rows, measured))
    peers = sorted({figure.peer for figure in measured.values if figure.peer})
    about = conditions(1 if options.smoke else options.rounds, clock, peers)
    if options.json:
        print(json.dumps(as_json(lines, about), indent=1))
    else:
        print_table(lines, about)
    return int(measured.has_failed)


def _without_peers(row: Row) -> Row:
    return attrs.evolve(row, beside=tuple(b for b in row.beside if b.figure.peer is None))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure trio-actors beside bare trio and beside other libraries.",
    )
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="a row or a question; all without one")
    add("--list", action="store_true", help="name the rows and do nothing")
    add("--json", action="store_true", help="print the raw figures")
    add("--rounds", type=_positive, default=5, metavar="N", help="how often (%(default)s)")
    add("--wall", action="store_true", help="the wall clock instead of CPU time")
    add("--no-peers", action="store_true", help="bare trio only; installs nothing")
    add("--smoke", action="store_true", help="one tiny round without peers: does it work?")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("there must be a round at least")
    return number


if __name__ == "__main__":
    sys.exit(main())
