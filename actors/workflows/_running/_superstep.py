# Rounds. The effects of a committed turn wait until every turn of the round has committed, and
# are applied in the order of the round's deliveries, not of the turns' completion: so timing
# doesn't change the result. An executor sees what it wrote itself earlier in the round; its
# siblings don't, they all read what was committed before the round.
"""The superstep schedule: what is applied when, and when a round is over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actors.workflows._running._limit import not_done
from actors.workflows._running._outside import bring_in
from protocols._events import WorkflowEvent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actors.workflows._running._conductor import Conductor
    from actors.workflows._running._context import TurnContext
    from actors.workflows._running._deliveries import Effects, News


class Superstep:
    """Rounds over the actors of one run, which it is given and doesn't keep: no cycles.

    Args:
        number: rounds that earlier runs of the same state have completed.
        max_iterations: rounds that this one may take.
    """

    def __init__(self, number: int, max_iterations: int) -> None:
        self.number = number
        # Waiting people don't use up max_iterations: it is counted from where this run began.
        self._max = max_iterations
        self._limit = number + max_iterations
        self._effects: dict[int, Effects] = {}
        self._own: dict[str, dict[str, Any]] = {}

    def read(self, conductor: Conductor, ctx: TurnContext, key: str, default: Any) -> Any:
        """Return what a turn sees: its executor's writes of the round, else the committed."""
        own = self._own.get(ctx.delivery.target)
        return own[key] if own and key in own else conductor.shared.get(key, default)

    def lets_in(self, conductor: Conductor) -> bool:
        """Whether a message from outside is let in now: not in the middle of a round."""
        return not conductor.outbox.open

    def begin_anew(self) -> None:
        """Allow as many rounds as at the beginning: somebody outside has gone on with the run."""
        self._limit = self.number + self._max

    def is_stale(self, ctx: TurnContext) -> bool:  # noqa: ARG002
        """What is committed doesn't change in a round."""
        return False

    def start(self, conductor: Conductor, news: News) -> None:
        """Begin a round; or fail the run, if it has had all that it may."""
        if self.number >= self._limit:
            # Not raised: the commit that brought us here is told of, and then the failure.
            conductor.fail(not_done(conductor, "supersteps"))
            return
        number, path = self.number + 1, conductor.path
        # By position, as below: once per hop.
        news.events.append(
            WorkflowEvent(
                "superstep_started", None, False, None, None, None, number, None, None, path
            )
        )

    @property
    def waiting(self) -> Mapping[int, Effects]:
        """The effects of the round's finished turns, which don't count yet, by delivery."""
        return self._effects

    def put_back(self, effects: Mapping[int, Effects], depth: int) -> None:  # noqa: ARG002
        """Go on in the middle of a round, of which some turns have finished."""
        self._effects.update(effects)
        for each in effects.values():
            if each.writes:
                self._own.setdefault(each.source, {}).update(each.writes)

    def committed(self, conductor: Conductor, seq: int, effects: Effects, news: News) -> None:
        """Keep the effects of a turn; at the last one of the round apply them all."""
        if conductor.outbox.open:
            self._effects[seq] = effects
            if effects.writes:
                self._own.setdefault(effects.source, {}).update(effects.writes)
            return
        if self._effects:
            self._effects[seq] = effects
            done, self._effects, self._own = self._effects, {}, {}
            for number in sorted(done):
                conductor.apply(done[number], news)
        else:
            conductor.apply(effects, news)  # the only turn of its round
        if not conductor.graph.is_simple:
            conductor.outbox.conclude(news)
        self.number = number = self.number + 1
        path = conductor.path
        news.events.append(
            WorkflowEvent(
                "superstep_completed", None, False, None, None, None, number, None, None, path
            )
        )
        if conductor.inputs:
            bring_in(conductor, news)
        if conductor.outbox.open and conductor.goes_on():
            self.start(conductor, news)
