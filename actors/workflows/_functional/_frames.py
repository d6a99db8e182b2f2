"""Where in the structure of a running function something happens, and what is kept back there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from actors._core._turns._strands import current_strand
from actors.workflows._functional._paths import quoted, spawned

if TYPE_CHECKING:
    from actors.workflows._functional._run import FunctionalRun
    from actors.workflows._functional._stepping import Callee

MISSING: Final = object()


class Space:
    """What belongs to one workflow in a run: the run's own, or a child that its body calls.

    Args:
        name: of the workflow.
        path: of its body.
        names: the workflows around it, for events, outermost first; None for the run's own.
        supervision: for its steps, unless they have their own.
    """

    __slots__ = ("name", "names", "path", "state", "supervision")

    def __init__(
        self, name: str, path: str, names: tuple[str, ...] | None, supervision: Any
    ) -> None:
        self.name = name
        self.path = path
        self.names = names
        self.supervision = supervision
        self.state: dict[str, Any] = {}

    def inner(self, workflow: Callee, path: str) -> Space:
        """Return the space of a workflow that this one calls."""
        names = (*(self.names or ()), workflow.name)
        return Space(workflow.name, path, names, workflow.supervision or self.supervision)


class StepTurn:
    """One attempt at a step: what it sets is kept back until it returns."""

    __slots__ = ("outer", "step", "writes")

    def __init__(self, step: str, outer: StepTurn | None) -> None:
        self.step = step
        self.outer = outer
        self.writes: dict[str, Any] | None = None

    def read(self, key: str) -> Any:
        """Return what this step, or one that it is inside of, has set; MISSING if nothing."""
        turn: StepTurn | None = self
        while turn is not None:
            if turn.writes is not None and key in turn.writes:
                return turn.writes[key]
            turn = turn.outer
        return MISSING


class Scope:
    """Where explicit keys and ids of questions have to be unique: a body, or a step's inside."""

    __slots__ = ("_questions", "keys", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.keys: set[str] = set()
        self._questions: dict[str, int] = {}

    def question(self, request_id: str) -> str:
        """Return the path of the next question of that name: they are numbered from 0."""
        count = self._questions[request_id] = self._questions.get(request_id, -1) + 1
        return f"{self.path}/?={quoted(request_id)}#{count}"


class Frame:
    """One line of execution: a body, the inside of a step, a branch, a spawned task.

    It is the current strand of its task. One is made per step, so what few of them need is made
    when it is first needed.

    Args:
        run: the run.
        path: where it is.
        space: of the workflow that it belongs to.
        turn: the step that it is inside of, if it is.
        scope: of the body or step that it is a branch of; None if it is a body or step itself.
    """

    __slots__ = ("_counts", "_scope", "path", "run", "space", "turn")

    def __init__(
        self,
        run: FunctionalRun,
        path: str,
        space: Space,
        turn: StepTurn | None,
        scope: Scope | None = None,
    ) -> None:
        self.run = run
        self.path = path
        self.space = space
        self.turn = turn
        self._scope = scope
        self._counts: dict[str, int] | None = None

    @property
    def scope(self) -> Scope:
        """Where explicit keys have to be unique."""
        if self._scope is None:
            self._scope = Scope(self.path)
        return self._scope

    def next(self, part: str) -> str:
        """Return the path of the next *part* here: they are numbered from 0."""
        counts = self._counts
        if counts is None:
            counts = self._counts = {}
        count = counts[part] = counts.get(part, -1) + 1
        return f"{self.path}/{part}#{count}"

    def spawned(self, name: str) -> Frame:
        """Return a frame for a task that was spawned from here."""
        path = self.next(spawned(name))
        return Frame(self.run, path, self.space, self.turn, self.scope)

    def set_state(self, key: str, value: Any) -> None:
        """Set a value for everybody in this workflow, once the turn has taken effect."""
        turn = self.turn
        if turn is None:
            self.space.state[key] = value
            if self.space.names is None:
                self.run.keeper.note_state(key, value)
        elif turn.writes is None:
            turn.writes = {key: value}
        else:
            turn.writes[key] = value

    def get_state(self, key: str, default: Any) -> Any:
        """Return what is committed, or set in this turn."""
        found = MISSING if self.turn is None else self.turn.read(key)
        return self.space.state.get(key, default) if found is MISSING else found

    def take_over(self, writes: dict[str, Any]) -> None:
        """Apply what a step that was called from here has set."""
        for key, value in writes.items():
            self.set_state(key, value)


def current_frame() -> Frame | None:
    """Return where in a running workflow the caller is; None outside."""
    strand = current_strand.get()
    return strand if isinstance(strand, Frame) and strand.run.is_running else None
