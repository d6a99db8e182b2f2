"""What a run of a functional workflow begins with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from actors.workflows._functional._keeping import Keeper
from actors.workflows._functional._waiting import Paused


@attrs.frozen
class Kept:
    """Where a run is kept, and from where in there it is to go on."""

    storage: Any
    checkpoint_id: str | None = None
    allow_changes: bool = False


@attrs.frozen
class Beginning:
    """What a run begins with.

    Args:
        message: what the function gets.
        make_keeper: gives what is known already; may raise.
        key: the run among those that wait, if it is one of these that goes on.
        paused: that run.
        told: hears of a run that ended well: what it waits with for people, or None.
    """

    message: Any
    make_keeper: Callable[[], Keeper]
    key: int | None = None
    paused: Paused | None = None
    told: Callable[[Paused | None], object] | None = None
