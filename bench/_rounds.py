"""Measures figures over and over, each time in a fresh process, in an order that always differs."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Literal

import attrs

from bench._peers import PeerMissingError, python_of
from bench._registry import Figure

ROOT: Final = Path(__file__).parent.parent
PROCESS_SECONDS: Final = 300
Clock = Literal["cpu", "wall"]


class FigureError(Exception):
    """A process that should have measured ended without its figures."""


@attrs.frozen
class Measured:
    """What all rounds gave.

    Args:
        values: of each figure, one a round, in seconds or bytes per unit.
        missing: why a figure has no value, or not one of each round.
    """

    values: dict[Figure, list[float]] = attrs.field(factory=dict)
    missing: dict[Figure, str] = attrs.field(factory=dict)

    @property
    def has_failed(self) -> bool:
        """Whether a figure of ours is missing. Peers may be."""
        return any(figure.peer is None for figure in self.missing)

    def add(self, figures: Sequence[Figure], python: str, clock: Clock, *, smoke: bool) -> None:
        """Measure *figures* once, in one new process."""
        try:
            found = _measure(figures, python, clock, smoke=smoke)
        except FigureError as exc:
            self.missing.update((figure, str(exc)) for figure in figures)
            return
        for figure, value in zip(figures, found, strict=True):
            self.values.setdefault(figure, []).append(value)


def measure_rounds(figures: Iterable[Figure], rounds: int, clock: Clock) -> Measured:
    """Measure each figure *rounds* times. The order is shuffled in each round."""
    measured = Measured()
    todo = list(dict.fromkeys(figures))
    interpreters = _interpreters(todo, measured)
    for number in range(1, rounds + 1):
        random.shuffle(todo)
        for at, figure in enumerate(todo, 1):
            if figure not in measured.missing:
                _progress(f"round {number}/{rounds}, {at}/{len(todo)}: {figure.label}")
                measured.add([figure], interpreters[figure.peer], clock, smoke=False)
    _progress("")
    return measured


def measure_smoke(figures: Iterable[Figure]) -> Measured:
    """Measure each figure once, tiny, in one process per module: it only has to work."""
    measured, groups = Measured(), dict[tuple[str, str | None], list[Figure]]()
    todo = list(dict.fromkeys(figures))
    interpreters = _interpreters(todo, measured)
    for figure in todo:
        if figure not in measured.missing:
            groups.setdefault((figure.module, figure.peer), []).append(figure)
    for (_, peer), group in groups.items():
        measured.add(group, interpreters[peer], "cpu", smoke=True)
    return measured


def _interpreters(figures: Iterable[Figure], measured: Measured) -> dict[str | None, str]:
    """Find, or install, what the figures run in; note what can't be."""
    found: dict[str | None, str] = {}
    failed: dict[str | None, str] = {}
    for figure in figures:
        try:
            if figure.peer not in found and figure.peer not in failed:
                found[figure.peer] = python_of(figure.peer)
        except PeerMissingError as exc:
            failed[figure.peer] = str(exc)
        if figure.peer in failed:
            measured.missing[figure] = failed[figure.peer]
    return found


def _measure(figures: Sequence[Figure], python: str, clock: Clock, *, smoke: bool) -> list[float]:
    job = {
        "figures": [{"module": f.module, "function": f.function, "args": f.args} for f in figures],
        "clock": clock,
        "smoke": smoke,
    }
    command = [python, "-W", "ignore", "-m", "bench._child", json.dumps(job)]
    try:
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, cwd=ROOT, timeout=PROCESS_SECONDS
        )
    except subprocess.TimeoutExpired as exc:
        raise FigureError(f"not done in {PROCESS_SECONDS} s") from exc
    # A peer may print, too.
    found = [json.loads(s)["value"] for s in done.stdout.splitlines() if s.startswith('{"value"')]
    if done.returncode or len(found) != len(figures):
        output = done.stderr.strip().splitlines()
        raise FigureError(output[-1] if output else f"ended with {done.returncode}")
    return found


def _progress(text: str) -> None:
    """Say what goes on, to a person who waits."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
