"""How a workflow runs, as far as its builder says so."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import attrs
from attrs.validators import in_

from actors._core._supervision import Supervision

DEFAULT_MAX_ITERATIONS: Final = 100
DEFAULT_MAX_IN_FLIGHT: Final = 100_000

Schedule: TypeAlias = Literal["superstep", "flow"]
Durability: TypeAlias = Literal["sync", "async", "end"]
OnCheckpointError: TypeAlias = Literal["raise", "warn"]


@attrs.frozen(kw_only=True)
class Settings:
    """How a workflow runs.

    Args:
        name: of the workflow; checkpoints are found by it.
        description: for people, and for agents that use the workflow.
        max_iterations: rounds that a run may take.
        checkpoint_storage: where checkpoints go; None for nowhere.
        schedule: ``superstep`` in rounds, ``flow`` as messages arrive.
        supervision: which failed turns are tried again; None fails the run at the first.
        strict_types: whether sending or yielding an undeclared type is an error, not a warning.
        durability: what a checkpoint waits for; None leaves it to the storage.
        on_checkpoint_error: whether a failed save fails the run, or is a warning event.
        max_in_flight: messages that may wait at once in a run.
        max_attempts: how often a message may be in progress when the process dies, before it
            is given up.

    Raises:
        ValueError: a value is none of those that its option knows.
    """

    name: str
    description: str | None = None
    max_iterations: int = DEFAULT_MAX_ITERATIONS
    checkpoint_storage: Any = None
    schedule: Schedule = attrs.field(default="superstep", validator=in_(("superstep", "flow")))
    supervision: Supervision | None = None
    strict_types: bool = False
    durability: Durability | None = attrs.field(
        default=None, validator=in_((None, "sync", "async", "end"))
    )
    on_checkpoint_error: OnCheckpointError = attrs.field(
        default="raise", validator=in_(("raise", "warn"))
    )
    max_attempts: int = attrs.field(default=3, validator=attrs.validators.ge(1))
    max_in_flight: int = attrs.field(
        default=DEFAULT_MAX_IN_FLIGHT, validator=attrs.validators.ge(1)
    )
