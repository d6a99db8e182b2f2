# Two reasons of the same kind are equal whoever asked: programs decide by the kind, and who it was
# is for people to read.
"""Why an actor ended, and the notice that its watchers get."""

from __future__ import annotations

from typing import Any, TypeAlias

import attrs

from actors._core._ref import ActorRef


@attrs.frozen
class Finished:
    """It was drained, or stopped itself: its work was done.

    Attributes:
        by: who asked a drained actor to finish, as in `ShutDown`; "" if it stopped itself.
    """

    by: str = attrs.field(default="", eq=False)


@attrs.frozen
class ShutDown:
    """It was asked to stop, and it did.

    Attributes:
        by: who asked: the name of the actor in whose turn it was, or of the task ("task …"); or
            what did it: the end, cancellation or failure of the system's block, the end of the
            parent, the idle timeout.
    """

    by: str = attrs.field(default="", eq=False)


@attrs.frozen
class Crashed:
    """A turn of it failed with ``error``, and it was not started again."""

    error: BaseException


@attrs.frozen
class Killed:
    """It was killed, or did not stop within its budget.

    Attributes:
        by: who killed it, or asked it to stop, as in `ShutDown`.
        budget: the seconds it had for stopping, if it was killed because they were over.
    """

    by: str = attrs.field(default="", eq=False)
    budget: float | None = attrs.field(default=None, eq=False)


@attrs.frozen
class NotFound:
    """It had ended already when the watch began."""


ExitReason: TypeAlias = Finished | ShutDown | Crashed | Killed | NotFound


@attrs.frozen
class Terminated:
    """Told to watchers, once per watch: ``ref`` has ended for ``reason``."""

    ref: ActorRef[Any]
    reason: ExitReason
