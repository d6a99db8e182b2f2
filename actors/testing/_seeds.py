"""Tests under many seeds, each of which is another order of everything that happens."""

from __future__ import annotations

import functools
import inspect
import os
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import attrs

from actors._core._turns._explore import Explorer, exploring
from actors.testing._deterministic import run_seeded
from actors.testing._points import quick_collections

if TYPE_CHECKING:
    import random
    from collections.abc import Awaitable, Callable

REPLAY: Final = "ACTORS_SEED"
# From so many seeds on a full collection of garbage pays.
MANY: Final = 20


class TooFewOrdersError(AssertionError):
    """The seeds explored less than the test asked for."""


@attrs.frozen
class SeedReport:
    """What a test under seeds has explored.

    Attributes:
        seeds: how many runs there were.
        orders: in how many different orders the turns began and ended in them.
        turns: how many turns there were in all the runs together.
    """

    seeds: int
    orders: int
    turns: int

    @property
    def share(self) -> float:
        """How many of the runs had an order of their own: 1.0 if all."""
        return self.orders / self.seeds

    def __str__(self) -> str:
        return f"{self.seeds} seeds, {self.orders} orders ({self.share:.0%}), {self.turns} turns"


def seeds(
    count: int,
    *,
    first: int = 0,
    distinct: float = 0.0,
    within: float | None = 3600.0,
) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., None]]:
    """Run an async test *count* times, each time in the order that another seed has.

    The seed decides which ready actor of a system, or executor of a workflow, is next, when
    workers pause between turns, in which order trio runs its tasks, and the jitter of
    backoffs. Nobody has to be told: whatever the test opens follows it. Time is virtual, and
    jumps as soon as nothing happens.

    A failure says its seed. ``ACTORS_SEED=17 pytest …`` then runs that one only, in exactly
    the same order. How many orders were explored is printed at the end, and is in the
    ``report`` of the decorated test, a `SeedReport`.

    Args:
        count: how many seeds.
        first: the first of them.
        distinct: fail if fewer than this share of the seeds, 0 to 1, had an order of their own.
        within: virtual seconds that each run may take. None: real time, without a limit, for
            tests with threads or processes.

    Raises:
        TypeError: what is decorated isn't an async function.
        ValueError: *count* is less than 1, or *distinct* isn't from 0 to 1.
        TooFewOrdersError: out of the test, as *distinct* says.
    """
    if count < 1 or not 0 <= distinct <= 1:
        raise ValueError(f"no test has {count} seeds with a share of {distinct} distinct orders")

    def decorate(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
        if not inspect.iscoroutinefunction(test):
            raise TypeError(f"@seeds is for async tests; {test!r} isn't one")

        # A plain function: pytest-trio would start trio around it, and it starts trio itself.
        @functools.wraps(test)
        def under_seeds(*args: Any, **kwargs: Any) -> None:
            chosen, needed = range(first, first + count), distinct
            if REPLAY in os.environ:
                chosen, needed = _replayed(os.environ[REPLAY]), 0.0
            report = _run_all(partial(test, *args, **kwargs), chosen, within)
            under_seeds.report = report  # type: ignore[attr-defined]  # functions have no fields
            print(f"{test.__qualname__}: {report}")  # noqa: T201  (pytest shows it on demand)
            if report.share < needed:
                raise TooFewOrdersError(
                    f"{report}, but {needed:.0%} should be distinct; let more actors be ready at "
                    "the same time, or ask for less"
                )

        return under_seeds

    return decorate


def seeded_random() -> random.Random:
    """Return what a test under a seed draws its data from, so that a replay draws it again.

    Raises:
        RuntimeError: nobody has set a seed: we are neither under `seeds` nor in a sweep nor in
            the block of `explore`.
    """
    explorer = exploring.get()
    if explorer is None:
        raise RuntimeError("there is no seed here: use @seeds, a sweep, or `with explore(seed):`")
    return explorer.random


def _replayed(text: str) -> range:
    try:
        seed = int(text)
    except ValueError:
        raise ValueError(f"{REPLAY} must be the number of a seed, not {text!r}") from None
    return range(seed, seed + 1)


def _run_all(
    test: Callable[[], Awaitable[None]], chosen: range, within: float | None
) -> SeedReport:
    orders: set[int] = set()
    turns = 0
    # A test may well look for leaks each time.
    with quick_collections() if len(chosen) >= MANY else nullcontext():
        for seed in chosen:
            explorer = Explorer(seed)
            try:
                run_seeded(test, explorer, within=within)
            except BaseException as exc:
                exc.add_note(f"under seed {seed}; to run that one only, set {REPLAY}={seed}")
                raise
            orders.add(explorer.signature)
            turns += explorer.turns
    return SeedReport(len(chosen), len(orders), turns)
