# What is going on, as facts that can be kept, compared and printed. They are gathered in one
# step, without an await, so they all belong to one moment.
#
# Everything in here works from lists, not by recursion: a tree may be deeper than Python's stack.
# A message is a user's object, and what its `repr` does is its own affair: it may be huge, or
# raise, or contain what a terminal takes for commands. Nothing of that may get through.
"""Looking at a running system: `System.inspect`."""

from __future__ import annotations

import os
import re
import reprlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from actors._core._context import MESSAGE, NOTICE, STARTS
from actors._core._introspection._tree import draw
from actors._core._mailbox import Counters, Envelope
from actors._core._phases import (
    CLOSED,
    DOWN,
    ENDING,
    FAULT,
    RUNNING,
    STARTING,
    STOPPED,
    STOPPING,
)
from actors._core._supervision._decide import Restart, count_recent
from actors._core._turns._turn import stack_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from actors._core._cell import Cell
    from actors._core._context import ActorContext
    from actors._core._system import System
    from actors._core._turns._dispatch import Worker

LONGEST: Final = 80
# Lines in here are how somebody waits, not where.
_PLUMBING: Final = (
    str(Path(__file__).parents[1]) + os.sep,
    str(Path(trio.__file__).parent) + os.sep,
)
# An entry of a traceback; the source may be missing.
_ENTRY: Final = re.compile(
    r'\s*File "(?P<file>.*)", line (?P<number>\d+), in (?P<function>.*)(?:\n\s*(?P<source>.*))?'
)
_STATES: Final = {
    STARTING: "starting",
    RUNNING: "running",
    DOWN: "waiting to restart",
    STOPPING: "stopping",
    STOPPED: "stopped",
}

# Unlike `repr` it doesn't look at the whole of a large value, and survives a `repr` that raises.
_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = LONGEST


@attrs.frozen
class ActorFacts:
    """What one actor was doing when `System.inspect` was called.

    Attributes:
        name: the path of names from the system down to the actor.
        state: "starting", "running", "failed" (it crashed, and what it leaves is being cleared
            up), "waiting to restart", "stopping" (which may take as long as its turn, or, for a
            drain, as its queue), or "stopped" (only the root of a system that is over).
        incarnation: 1, and one more after each restart.
        error: the ``repr`` of what the incarnation failed with, or the one before it if this one
            isn't running yet.
        asked_by: who asked it to end, as in `ShutDown`; None if nobody has.
        queued: the number of messages in the mailbox.
        peak: the largest number there ever was in it.
        capacity: the number of messages that it takes.
        blocked: the number of senders that wait for room in it.
        turn: the turn in progress: "message", "notice" (of a watched actor's end), "start hook",
            "stop hook"; or None.
        message_type: the name of the type of the message, or notice, that the turn handles.
        message: its ``repr``, cut to 80 characters.
        age: for how many seconds the turn has been in progress. It is counted from its first
            wait; a turn that never waited is seen only by itself, and has the age 0.
        waits_at: the innermost line of the user's code that the turn waits in, with its file and
            number; None if it doesn't wait, because it is what called `inspect`.
        restarts: how many restarts within its supervisor's period count against its next one;
            those of its siblings among them, unless each has a budget of its own.
        restarts_left: how many more its supervisor allows now. 0 for what is never restarted.
        children: the actors below it, oldest first.
    """

    name: str
    state: str
    incarnation: int = 1
    error: str | None = None
    asked_by: str | None = None
    queued: int = 0
    peak: int = 0
    capacity: int = 1000
    blocked: int = 0
    turn: str | None = None
    message_type: str | None = None
    message: str | None = None
    age: float | None = None
    waits_at: str | None = None
    restarts: int = 0
    restarts_left: int = 0
    children: tuple[ActorFacts, ...] = attrs.field(default=(), repr=False)

    @property
    def is_idle(self) -> bool:
        """Whether it runs and has nothing to do."""
        return self.state == "running" and self.turn is None and not self.queued


@attrs.frozen
class SystemFacts:
    """What a whole system was doing when `System.inspect` was called. `str` draws the tree.

    Attributes:
        name: of the system.
        time: when that was, in seconds of trio's clock.
        root: the supervisor of what the system itself spawned, with all actors below it.
        dead_letters: how many messages have become dead letters so far.
    """

    name: str
    time: float
    root: ActorFacts
    dead_letters: int = 0

    def __iter__(self) -> Iterator[ActorFacts]:
        """Give out the facts of each actor, parents before their children, without the root."""
        rest = list(reversed(self.root.children))
        while rest:
            facts = rest.pop()
            yield facts
            rest += reversed(facts.children)

    def __str__(self) -> str:
        return self.render()

    def render(self, *, width: int = 100, most: int = 10) -> str:
        """Draw the tree as text: for each actor a line, and more for what it has to do.

        Args:
            width: no line has more characters.
            most: of the actors without children and without work that have the same parent, no
                more are shown; the others are counted.
        """
        return "\n".join(draw(self, width, most))


def look_at(system: System) -> SystemFacts:
    """Gather the facts of *system*."""
    now = trio.current_time()
    made: dict[Cell, ActorFacts] = {}
    for cell in system.root.subtree():  # children come before their parents
        children = () if cell.kin is None else tuple(cell.kin.children.values())
        made[cell] = _look(cell, now, tuple([made.pop(child) for child in children]))
    return SystemFacts(system.name, now, made[system.root], system.dead_letters.total)


def _look(cell: Cell, now: float, children: tuple[ActorFacts, ...]) -> ActorFacts:
    mailbox = cell.mailbox
    counters = Counters() if mailbox is None else mailbox.counters(0)
    turn = {} if cell.ctx is None else _look_at_turn(cell.ctx, now)
    restarts, left = _restarts(cell, now)
    return ActorFacts(
        name=cell.name,
        state=_state(cell),
        incarnation=cell.incarnation,
        error=None if cell.error is None else shorten(cell.error),
        asked_by=getattr(cell.reason, "by", None),
        queued=counters.queued,
        peak=counters.peak,
        capacity=cell.options.mailbox.capacity,
        blocked=0 if mailbox is None else len(mailbox.senders or ()),
        restarts=restarts,
        restarts_left=left,
        children=children,
        **turn,
    )


def _state(cell: Cell) -> str:
    """Name the phase; what is certain to come next counts as having come."""
    if cell.phase == ENDING:
        return "stopping" if cell.error is None else "failed"
    if cell.phase < ENDING and cell.pending & FAULT:
        return "failed"
    if cell.phase < ENDING and cell.pending & CLOSED:
        return "stopping"
    return _STATES[cell.phase]


def _restarts(cell: Cell, now: float) -> tuple[int, int]:
    """Return how many restarts count against the next one of *cell*, and how many are left."""
    parent = cell.parent
    if parent is None:
        return 0, 0
    supervision = parent.supervision
    payer = cell if supervision.budget == "child" else parent
    recent = () if payer.kin is None else _recent(payer, supervision.budget)
    counted = count_recent(supervision, recent, now)
    is_never = cell.options.restart is Restart.TEMPORARY
    return counted, 0 if is_never else max(0, supervision.max_restarts - counted)


def _recent(payer: Cell, budget: str) -> tuple[float, ...]:
    kin = payer.family()
    return kin.own_recent if budget == "child" else kin.recent


def _look_at_turn(ctx: ActorContext, now: float) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "age": age_of(ctx.worker, now),
        "waits_at": where_waits(ctx.worker),
    }
    if ctx.kind not in {MESSAGE, NOTICE}:
        return facts | {"turn": "start hook" if ctx.kind == STARTS else "stop hook"}
    message = ctx.item.message if isinstance(ctx.item, Envelope) else ctx.item
    return facts | {
        "turn": "message" if ctx.kind == MESSAGE else "notice",
        "message_type": type(message).__name__,
        "message": shorten(message),
    }


def age_of(worker: Worker, now: float) -> float:
    """Return for how many seconds the turn of *worker* has been in progress."""
    return 0.0 if worker.since is None else max(0.0, now - worker.since)


def where_waits(worker: Worker) -> str | None:
    """Return the innermost line that the turn of *worker* waits in, as ``file:number …``.

    The lines of trio and of ours that lead from there to the scheduler say nothing; they are
    shown only if there are no others.
    """
    coro = worker.coro
    if not getattr(coro, "cr_suspended", False):
        return None
    places = [found for entry in stack_of(coro) if (found := _ENTRY.match(entry))]
    theirs = [place for place in places if not place["file"].startswith(_PLUMBING)]
    if not places:
        return None
    file, number, function, source = (theirs or places)[-1].groups("")
    return f"{Path(file).name}:{number} {function}: {source}".removesuffix(": ")


def shorten(value: Any) -> str:
    """Return the ``repr`` of *value* as one printable line of at most 80 characters."""
    try:
        text = _short.repr(value)
    except Exception:  # noqa: BLE001  (reprlib goes by the names of types, which anybody may use)
        text = object.__repr__(value)
    line = " ".join(text.split())
    line = "".join(character if character.isprintable() else "?" for character in line)
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
