"""Which checkpoints are kept, and what follows for the commits of a log. Pure decisions.

Whatever a policy says, kept are: the last checkpoint of a run, its last one with open requests,
and those that forks grew from. A checkpoint that is gone leaves no gap in the lineage: those
that grew from it name the one before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

import attrs

from actors.checkpoint._log._rows import Head
from actors.checkpoint._types import CheckpointInfo, Position

#: Kinds of commits that end a run: nobody goes on writing after them.
ENDS: Final = frozenset({"final", "cancel", "saved"})

_Chooses = Callable[[Sequence[CheckpointInfo]], "set[int]"]


@attrs.frozen
class Retention:
    """Which checkpoints of a run are kept; ``one | other`` keeps what either keeps.

    Args:
        name: how it is told to people.
        chooses: returns the sequences to keep, of checkpoints from the oldest to the newest.
    """

    name: str
    chooses: _Chooses = attrs.field(repr=False)

    def __or__(self, other: object) -> Retention:
        if not isinstance(other, Retention):
            return NotImplemented
        mine, theirs = self.chooses, other.chooses
        return Retention(f"{self.name} | {other.name}", lambda infos: mine(infos) | theirs(infos))


def keep_last(n: int) -> Retention:
    """Keep the last *n* checkpoints of each run."""
    _positive(n, "keep_last")
    return Retention(f"keep_last({n})", lambda infos: {one.sequence for one in infos[-n:]})


def keep_every(k: int) -> Retention:
    """Keep each *k*-th checkpoint of a run, by the number of supersteps it had done."""
    _positive(k, "keep_every")
    return Retention(
        f"keep_every({k})",
        lambda infos: {one.sequence for one in infos if one.facts.iteration % k == 0},
    )


def _positive(number: int, name: str) -> None:
    if type(number) is not int or number < 1:
        raise ValueError(f"{name} takes a whole number from 1 on, not {number!r}")


def kept_by(
    retention: Retention, infos: Sequence[CheckpointInfo], origins: Collection[str] = ()
) -> set[int]:
    """Return the sequences of the checkpoints of a run that are kept.

    Args:
        retention: the policy.
        infos: all of them, oldest first.
        origins: ids of checkpoints that forks grew from.
    """
    if not infos:
        return set()
    waiting = [one.sequence for one in infos if one.open_requests]
    origin = [one.sequence for one in infos if one.checkpoint_id in origins]
    return {*retention.chooses(infos), infos[-1].sequence, *waiting[-1:], *origin}


@attrs.frozen
class Plan:
    """What is done with the commits of a run.

    Args:
        whole: checkpoints that are written out whole, since what they built upon goes.
        heads: new heads of commits that stay, by sequence.
        dropped: commits that go.
    """

    whole: frozenset[int]
    heads: Mapping[int, Head]
    dropped: frozenset[int]


def plan(run_id: str, heads: Sequence[Head], keep: Collection[int]) -> Plan:
    """Decide what is done with the commits of a run.

    What the last commit builds upon stays as it is, because its writer goes on from there. A
    checkpoint among these that isn't kept stays as an ordinary commit.

    Args:
        run_id: the run.
        heads: of all its commits, oldest first.
        keep: the sequences of the checkpoints that stay.
    """
    live = heads[-1].base
    stay = [head for head in heads if head.sequence >= live or head.sequence in keep]
    dropped = {head.sequence for head in heads} - {head.sequence for head in stay}
    before = {
        Position(run_id, head.sequence).checkpoint_id: head.previous
        for head in heads
        if head.checkpoint is not None and head.sequence not in keep
    }
    whole = {head.sequence for head in stay if head.sequence < live and not head.is_whole}
    changed = {head.sequence: _after(head, head.sequence in keep, before, live) for head in stay}
    old = {head.sequence: head for head in heads}
    return Plan(
        frozenset(whole),
        {number: head for number, head in changed.items() if head != old[number]},
        frozenset(dropped),
    )


def _after(head: Head, is_kept: bool, before: Mapping[str, str | None], live: int) -> Head:
    previous = head.previous
    while previous is not None and previous in before:
        previous = before[previous]
    return attrs.evolve(
        head,
        base=head.base if head.sequence >= live else head.sequence,
        previous=previous,
        checkpoint=head.checkpoint if is_kept else None,
        time=head.time if is_kept else 0,
    )
