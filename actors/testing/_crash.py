"""Crashing a scenario everywhere, one turn at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import attrs

from actors._core._cell import Cell as ActorCell
from actors._core._turns._explore import Explorer
from actors.testing._leaks import leaks
from actors.testing._points import REPLAY, Scenario, quick_collections, replayed, run_point
from actors.workflows._functional._body import Body
from actors.workflows._functional._stepping import Call
from actors.workflows._running._cell import ExecutorCell

if TYPE_CHECKING:
    from collections.abc import Iterable

    from actors._core._turns._dispatch import Cell

Kind = Literal["start", "end", "kill"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
_NOTHING: Final = object()


class InjectedCrash(Exception):
    """What `crash_everywhere` raises inside of turns."""


class DifferentResultError(AssertionError):
    """A scenario that was crashed ended with another result than undisturbed."""


def crash_everywhere(
    scenario: Scenario,
    *,
    kinds: Iterable[Kind] = KINDS,
    only: Callable[[str], bool] | None = None,
    check: Callable[[], object] | None = None,
    same_result: bool = False,
    allowed: type[Exception] | tuple[type[Exception], ...] = (),
    seed: int = 0,
    within: float | None = 3600.0,
) -> int:
    """Run *scenario* again and again; in each run another turn crashes, until all have.

    There are three kinds of points, at each turn of an actor or executor, hooks included:

    - ``"start"``: the turn raises `InjectedCrash` before its handler does anything;
    - ``"end"``: it raises after its handler returned, just before it would take effect;
    - ``"kill"``: it takes effect, and then its actor is killed, or its workflow run cancelled.

    After each run nothing may be left behind (see `leaks`), and ``check()`` is called, which
    raises if something is not as it has to be. Once per kind the scenario runs undisturbed.
    Call this from a plain function: it starts trio itself, with virtual time. An error says at
    which point it was; ``ACTORS_POINT=end:17 pytest …`` then runs that one only.

    Args:
        scenario: an async function without parameters. It makes all it needs anew each time, and
            does the same each time.
        kinds: which kinds of points.
        only: takes the name of an actor, or the id of an executor, and says whether it may be
            crashed. None: all may.
        check: an invariant that holds however the scenario ended.
        same_result: whether what the scenario returns must equal what it returns undisturbed.
        allowed: the errors with which the scenario may end because of a crash, also in a group.
        seed: the order of everything.
        within: virtual seconds that each run may take. None: real time.

    Returns:
        How many points there were.

    Raises:
        DifferentResultError: as *same_result* says.
        LeakError: something was left behind.
        TooSlowError: the scenario hung.
        Exception: what the scenario or the check raised, unless *allowed*.
    """
    sweep = _Sweep(scenario, only, check, same_result, allowed, seed, within)
    one = replayed()
    with quick_collections():
        sweep.run_undisturbed()
        if one is not None:
            kind, _, at = one.partition(":")
            sweep.run(kind, int(at))
            return 1
        return sum(sweep.run_all(kind) for kind in kinds)


@attrs.define(eq=False)
class _Sweep:
    """The runs of one scenario."""

    scenario: Scenario
    only: Callable[[str], bool] | None
    check: Callable[[], object] | None
    same_result: bool
    allowed: type[Exception] | tuple[type[Exception], ...]
    seed: int
    within: float | None
    expected: Any = _NOTHING

    def run_undisturbed(self) -> None:
        """Learn what the scenario returns."""
        self.run("none", -1)

    def run_all(self, kind: str) -> int:
        """Crash each turn in this way; return how many there were."""
        at = 0
        while self.run(kind, at):
            at += 1
        return at

    def run(self, kind: str, at: int) -> bool:
        """Do one run. False: it ended before the point was reached."""
        crasher = _Crasher(self.seed, kind, at, self.only)

        async def main() -> None:
            async with leaks():
                result = await self._result(crasher)
            self._compare(result)
            if self.check is not None:
                self.check()

        run_point(main, crasher, crasher.describe, within=self.within)
        return crasher.has_crashed

    async def _result(self, crasher: _Crasher) -> Any:
        result = _NOTHING
        try:
            result = await self.scenario()
        except Exception as exc:
            if not (crasher.has_crashed and self._is_allowed(exc)):
                raise
        return result  # noqa: ASYNC910  (whether it waits is the scenario's affair)

    def _is_allowed(self, error: Exception) -> bool:
        """Whether *error* may come of a crash; a nursery's group, if all that is in it may."""
        if isinstance(error, ExceptionGroup):
            return error.split(self.allowed)[1] is None
        return isinstance(error, self.allowed)

    def _compare(self, result: Any) -> None:
        if self.expected is _NOTHING:
            self.expected = result
        elif self.same_result and result is not _NOTHING and result != self.expected:
            raise DifferentResultError(
                f"the scenario returned {result!r}; undisturbed it returns {self.expected!r}"
            )


class _Crasher(Explorer):
    """Counts the turns of one run, and crashes one."""

    def __init__(self, seed: int, kind: str, at: int, only: Callable[[str], bool] | None) -> None:
        super().__init__(seed)
        self._kind = kind
        self._at = at
        self._only = only
        self._count = 0
        self._who = ""
        self.has_crashed = False

    def describe(self) -> str:
        """Say what was done to the scenario, and where."""
        if not self.has_crashed:
            return "this was a run in which nothing was crashed"
        point = f"{self._kind}:{self._at}"
        return (
            f"crashed at point {point} of {self._who}; to run that one only, set {REPLAY}={point}"
        )

    def in_turn(self, cell: Cell) -> None:
        if self._is_the_one("start", cell):
            raise InjectedCrash(f"at the start of turn {self._at}, of {cell.name}")

    def after_turn(self, cell: Cell) -> None:
        if self._is_the_one("end", cell):
            raise InjectedCrash(f"at the end of turn {self._at}, of {cell.name}")

    def after_commit(self, cell: Cell) -> None:
        if self._is_the_one("kill", cell):
            _kill(cell)

    def _is_the_one(self, kind: str, cell: Cell) -> bool:
        if kind != self._kind or not (self._only is None or self._only(cell.name)):
            return False
        self._count += 1
        if self._count - 1 != self._at:
            return False
        self.has_crashed, self._who = True, cell.name
        return True


def _kill(cell: Cell) -> None:
    if isinstance(cell, ExecutorCell):
        cell.conductor.run.cancel()
    elif isinstance(cell, Body | Call):
        cell.run.cancel()
    else:
        assert isinstance(cell, ActorCell), "what has turns is an actor, executor, body or step"
        cell.kill()
