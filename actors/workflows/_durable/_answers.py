"""What somebody says about effects whose outcome nobody knew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from protocols._tags import default_registry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actors.workflows._carry import Carry
    from actors.workflows._durable._journal import JournalEntry


@attrs.frozen
class Happened:
    """It was done, and this came of it.

    Args:
        result: what the interrupted call would have returned.
    """

    result: Any = None


@attrs.frozen
class Repeat:
    """It was not done, or doing it again is fine: do it again."""


default_registry.register(Happened, "outcome_happened")
default_registry.register(Repeat, "outcome_repeat")

# (the delivery whose turn it was, its number in the turn's journal, what stands there now)
Settled = tuple[int, int, "JournalEntry"]


def settle_doubts(
    carry: Carry, responses: Mapping[str, Any]
) -> tuple[dict[str, Any], tuple[Settled, ...]]:
    """Take those of *responses* that are about effects; return the rest, and what they settled.

    Raises:
        TypeError: one isn't `Happened` or `Repeat`.
    """
    assert carry.restored is not None, "doubts are there after loading only"
    targets = {each.seq: each.target for each in carry.restored.deliveries}
    doubts = {
        f"{targets[seq]}/{seq}/{entry.key}": (seq, entry.key)
        for seq, journal in carry.restored.journals.items()
        for entry in journal.doubted
        if seq in targets
    }
    rest: dict[str, Any] = {}
    settled: list[Settled] = []
    for name, answer in responses.items():
        # The first part names the run, which a fork has another one of.
        doubt = doubts.get(name.partition("/")[2])
        if doubt is None:
            rest[name] = answer
            continue
        if not isinstance(answer, Happened | Repeat):
            raise TypeError(
                f"{name!r} asks whether something was done: answer Happened(result) or Repeat(), "
                f"not {answer!r}"
            )
        settled.append(_settle(carry.restored.journals[doubt[0]], *doubt, answer))
    return rest, tuple(settled)


def _settle(journal: Any, seq: int, key: str, answer: Happened | Repeat) -> Settled:
    happened = isinstance(answer, Happened)
    result = answer.result if isinstance(answer, Happened) else None
    at = journal.settle_doubt(key, happened=happened, result=result)
    return seq, at, list(journal)[at]
