"""Why an actor ended, and the notice that its watchers get."""

from __future__ import annotations

from typing import Any, TypeAlias

import attrs

from actors._core._ref import ActorRef


@attrs.frozen
class Finished:
    """It was drained, or stopped itself: its work was done."""


@attrs.frozen
class ShutDown:
    """Its owner asked it to stop, and it did."""


@attrs.frozen
class Crashed:
    """A turn of it failed with ``error``, and it was not started again."""

    error: BaseException


@attrs.frozen
class Killed:
    """It was killed, or did not stop within its budget."""


@attrs.frozen
class NotFound:
    """It had ended already when the watch began."""


ExitReason: TypeAlias = Finished | ShutDown | Crashed | Killed | NotFound


@attrs.frozen
class Terminated:
    """Told to watchers, once per watch: ``ref`` has ended for ``reason``."""

    ref: ActorRef[Any]
    reason: ExitReason
