# Rounds. The effects of a committed turn wait until every turn of the round has committed, and
# are applied in the order of the round's deliveries, not of the turns' completion: so timing
# doesn't change the result. An executor sees what it wrote itself earlier in the round; its
# siblings don't, they all read what was committed before the round.
"""The superstep schedule: what is applied when, and when a round is over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocols._errors import WorkflowConvergenceException
from protocols._events import WorkflowEvent, WorkflowEventSource

if TYPE_CHECKING:
    from actors.workflow._deliveries import Effects, News
    from actors.workflow._run import Run

FRAMEWORK: Final = WorkflowEventSource.FRAMEWORK


class Superstep:
    """Rounds over the actors of one run.

    Args:
        number: rounds that earlier runs of the same state have completed.
    """

    def __init__(self, run: Run, number: int) -> None:
        self._run = run
        self.number = number
        # Waiting people don't use up max_iterations: it is counted from where this run began.
        self._limit = number + run.settings.max_iterations
        self._effects: dict[int, Effects] = {}
        self._own: dict[str, dict[str, Any]] = {}

    def read(self, reader: str, key: str, default: Any) -> Any:
        """Return what *reader* sees under *key*: its own writes of the round, else the committed."""
        own = self._own.get(reader)
        return own[key] if own and key in own else self._run.shared.get(key, default)

    def start(self, news: News) -> None:
        """Begin a round, if it may."""
        if self.number >= self._limit:
            raise WorkflowConvergenceException(
                f"workflow {self._run.settings.name!r} was not done after "
                f"{self._run.settings.max_iterations} supersteps; is there a loop without an "
                "end? Otherwise allow more with WorkflowBuilder(max_iterations=…)"
            )
        news.events.append(self._event("superstep_started", self.number + 1))

    def committed(self, seq: int, effects: Effects, news: News) -> None:
        """Keep the effects of a turn; at the last one of the round apply them all."""
        run = self._run
        self._effects[seq] = effects
        if effects.writes:
            self._own.setdefault(effects.source, {}).update(effects.writes)
        if run.open:
            return
        done, self._effects, self._own = self._effects, {}, {}
        for number in sorted(done):
            run.apply(done[number], news)
        self.number += 1
        news.events.append(self._event("superstep_completed", self.number))
        if run.open:
            self.start(news)

    def _event(self, kind: str, number: int) -> WorkflowEvent:
        return WorkflowEvent(kind, None, FRAMEWORK, None, None, None, number)
