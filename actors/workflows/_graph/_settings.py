"""How a workflow runs, as far as its builder says so."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import attrs

from actors._core._checks import at_least, one_of

if TYPE_CHECKING:
    # Whoever supervises has loaded it.
    from actors._core._supervision._decide import Supervision  # noqa: TC004

DEFAULT_MAX_ITERATIONS: Final = 100
DEFAULT_MAX_IN_FLIGHT: Final = 100_000
DEFAULT_MAX_ATTEMPTS: Final = 3

Schedule: TypeAlias = Literal["superstep", "flow"]
Durability: TypeAlias = Literal["sync", "async", "end"]
OnCheckpointError: TypeAlias = Literal["raise", "warn"]


def check_own(executor_id: str, supervision: Supervision) -> None:
    """Refuse a supervision that makes no sense for a single executor.

    Raises:
        ValueError: it restarts siblings, or limits how long the run may be idle.
    """
    _check_strategy(f"the supervision of {executor_id!r}", supervision)
    if supervision.idle_timeout is not None:
        raise ValueError(
            f"the supervision of {executor_id!r} can't have an idle_timeout, which is about a "
            "whole run: give it to the workflow's, or use turn_timeout"
        )


def _of_one(_: object, __: object, given: Supervision | None) -> None:
    if given is not None:
        _check_strategy("the supervision of a workflow", given)


def check_storage(given: object) -> None:
    """Refuse what is no storage, but the name of one, or its class.

    Raises:
        TypeError: it is.
    """
    if isinstance(given, str | PathLike | type):
        raise TypeError(
            f"a checkpoint_storage is an object, and {given!r} is none: open one with "
            "`async with open_storage(url) as storage`"
        )


def _a_storage(_: object, __: object, given: object) -> None:
    check_storage(given)


def _check_strategy(whose: str, supervision: Supervision) -> None:
    if not hasattr(supervision, "strategy"):
        raise TypeError(f"{whose} has to be a Supervision(...), not {supervision!r}")
    if supervision.strategy != "one_for_one":
        raise ValueError(
            f"{whose} can't have strategy={supervision.strategy!r}: what failed is tried again "
            "from before its turn, and siblings that went well stay as they are; use 'one_for_one'"
        )


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
        own_supervision: the same for single executors, by id, in place of *supervision*.
        on_error: who gets the messages that an executor can't handle, by its id.
        strict_types: whether sending or yielding an undeclared type is an error, not a warning.
        durability: what a checkpoint waits for; None leaves it to the storage.
        on_checkpoint_error: whether a failed save fails the run, or is a warning event.
        max_in_flight: messages that may wait at once in a run.
        max_attempts: how often a message may be in progress when the process dies, before it
            is given up.

    Raises:
        ValueError: a value is none of those that its option knows.
        TypeError: it is of another type.
    """

    name: str
    description: str | None = None
    max_iterations: int = attrs.field(default=DEFAULT_MAX_ITERATIONS, validator=at_least(0))
    checkpoint_storage: Any = attrs.field(default=None, validator=_a_storage)
    schedule: Schedule = attrs.field(default="superstep", validator=one_of("superstep", "flow"))
    supervision: Supervision | None = attrs.field(default=None, validator=_of_one)
    own_supervision: Mapping[str, Supervision] = MappingProxyType({})
    on_error: Mapping[str, str] = MappingProxyType({})
    strict_types: bool = False
    durability: Durability | None = attrs.field(
        default=None, validator=one_of("sync", "async", "end", None)
    )
    on_checkpoint_error: OnCheckpointError = attrs.field(
        default="raise", validator=one_of("raise", "warn")
    )
    max_attempts: int = attrs.field(default=DEFAULT_MAX_ATTEMPTS, validator=at_least(1))
    max_in_flight: int = attrs.field(default=DEFAULT_MAX_IN_FLIGHT, validator=at_least(1))

    def supervision_of(self, executor_id: str) -> Supervision | None:
        """Return which failed turns of an executor are tried again, and how long they may take."""
        return self.own_supervision.get(executor_id, self.supervision)

    @property
    def is_supervised(self) -> bool:
        """Whether a failed turn may be anything else than the end of the run."""
        return bool(self.supervision or self.own_supervision or self.on_error)

    @property
    def idle_timeout(self) -> float | None:
        """Seconds without any event after which a run is ended."""
        return None if self.supervision is None else self.supervision.idle_timeout
