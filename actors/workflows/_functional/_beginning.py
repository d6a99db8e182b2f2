"""What a run of a functional workflow begins with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from actors.workflows._functional._keeping import Keeper
from actors.workflows._functional._waiting import Paused
from actors.workflows._graph._settings import check_storage
from actors.workflows._running._requests import check_mapping

if TYPE_CHECKING:
    from actors.workflows._functional._signature import Definition


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


def check_beginning(
    definition: Definition,
    message: Any,
    responses: Mapping[str, Any] | None,
    checkpoint_id: str | None,
    storage: Any,
) -> None:
    """Check that what `run` is given is one beginning, and one that is possible.

    Raises:
        ValueError: it isn't.
        TypeError: the storage is none, or the responses are no mapping.
    """
    check_storage(storage)
    if responses is not None:
        check_mapping(responses)
    who = f"workflow {definition.name!r}"
    goes_on = responses is not None or checkpoint_id is not None
    if message is not None and goes_on:
        raise ValueError(
            f"{who}: give run() either a message, which begins anew, or responses or a "
            "checkpoint_id, which go on with an earlier run"
        )
    if message is not None and not definition.takes_message:
        raise ValueError(
            f"{who} takes no message: its function has no parameter beside the context"
        )
    if message is None and not goes_on and definition.needs_message:
        raise ValueError(
            f"{who}: give run() a message, the responses that it waits for, or a checkpoint_id"
        )
    if checkpoint_id is not None and storage is None:
        raise ValueError(
            f"{who} has no storage to find checkpoint {checkpoint_id!r} in: give "
            "checkpoint_storage to run() or to @workflow"
        )
