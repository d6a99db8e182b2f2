"""When turns take effect: the two schedules, as the conductor meets them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from actors.workflows._running._flow import Flow
from actors.workflows._running._superstep import Superstep

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actors.workflows._graph._settings import Settings
    from actors.workflows._running._conductor import Conductor
    from actors.workflows._running._context import TurnContext
    from actors.workflows._running._deliveries import Effects, News


class TurnSchedule(Protocol):
    """Decides when the effects of committed turns count."""

    number: int
    """Completed rounds, or turns; over all runs of the same state."""

    @property
    def waiting(self) -> Mapping[int, Effects]:
        """Effects of committed turns that don't count yet, by delivery."""

    def read(self, conductor: Conductor, ctx: TurnContext, key: str, default: Any) -> Any:
        """Return what a turn sees under *key*, its own writes left aside."""

    def is_stale(self, ctx: TurnContext) -> bool:
        """Whether a turn that has ended must be run again, since it saw what is no longer so."""

    def lets_in(self, conductor: Conductor) -> bool:
        """Whether a message from outside is let in now."""

    def begin_anew(self) -> None:
        """Allow as much as at the beginning: somebody outside has gone on with the run."""

    def start(self, conductor: Conductor, news: News) -> None:
        """Begin, or fail the run, if it has had all that it may."""

    def put_back(self, effects: Mapping[int, Effects], depth: int) -> None:
        """Go on where a stored run was; *depth* is that of the longest chain in progress."""

    def committed(self, conductor: Conductor, seq: int, effects: Effects, news: News) -> None:
        """Take the effects of a committed turn."""


def make_schedule(settings: Settings, number: int) -> TurnSchedule:
    """Make the schedule that the settings ask for.

    Args:
        settings: of the workflow.
        number: rounds, or turns, that earlier runs of the same state have completed.
    """
    kind = Flow if settings.schedule == "flow" else Superstep
    return kind(number, settings.max_iterations)
