# The journal of a turn: what it did to the world outside, so that a repetition of the turn does
# not do it again. An effect is an intent, written before it happens, and a result, written
# after. What was found when the turn is run again decides:
#
#   nothing               do it;
#   a result              use it, and don't do it;
#   a failure             do it: whoever raised says that nothing was done;
#   an intent alone       nobody knows. Idempotent work is done again, under the same key. The
#                         rest is for a person to say.
#
# Idempotent work needs no intent, since an intent alone changes nothing for it; that saves a
# write per model call. A turn that failed with an exception is tried again with its effects
# replayed and its models asked anew, because a model's answer may be what failed. After a crash
# or a cancellation everything is replayed.
"""Decides what of a turn's effects is done, replayed, or unknown."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Status: TypeAlias = Literal["intent", "done", "failed"]


@attrs.frozen
class JournalEntry:
    """One effect of a turn, as it is stored.

    Args:
        key: where in the turn it stands.
        kind: ``model``, ``tool`` or ``step``.
        name: of the model, tool or step.
        status: ``intent`` before it is done, ``done`` with a result, or ``failed``.
        digest: tells whether a repetition asks for the same; None: it isn't compared.
        result: what it came to.
    """

    key: str
    kind: str
    name: str
    status: Status
    digest: str | None = None
    result: Any = None


@attrs.frozen
class Replay:
    """Use what was recorded."""

    result: Any


@attrs.frozen
class Perform:
    """Do it; *write_intent* first, where an interruption would leave its outcome unknown."""

    write_intent: bool


@attrs.frozen
class Unknown:
    """Nobody knows whether it was done."""

    entry: JournalEntry


Decision: TypeAlias = Replay | Perform | Unknown


class Journal:
    """What one turn has done, over all attempts at it.

    Args:
        entries: what earlier attempts recorded, in order.
    """

    __slots__ = ("_at", "_counts", "_doubted", "_entries")

    def __init__(self, entries: Iterable[JournalEntry] = ()) -> None:
        self._entries = list(entries)
        self._at = {entry.key: n for n, entry in enumerate(self._entries)}
        self._counts: Counter[str] = Counter()
        # Intents of earlier attempts: those of the present one are still being done.
        self._doubted = {entry.key for entry in self._entries if entry.status == "intent"}

    def __iter__(self) -> Iterator[JournalEntry]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def next_key(self, key: str) -> str:
        """Tell occurrences of one key in one attempt apart: ``key`` is followed by ``key#2``."""
        self._counts[key] += 1
        nth = self._counts[key]
        return key if nth == 1 else f"{key}#{nth}"

    def decide(self, key: str, digest: str | None, *, idempotent: bool) -> Decision:
        """Say what to do about an effect that is about to happen.

        Args:
            key: as `next_key` gave it.
            digest: of what it is done with; None matches anything.
            idempotent: whether doing it again does no harm.
        """
        at = self._at.get(key)
        found = None if at is None else self._entries[at]
        if found is not None and key in self._doubted and not idempotent:
            return Unknown(found)
        if found is not None and found.status == "done" and _matches(found.digest, digest):
            return Replay(found.result)
        return Perform(write_intent=not idempotent)

    def record(self, entry: JournalEntry) -> int:
        """Keep *entry*, in place of an earlier one of its key; return its number."""
        self._doubted.discard(entry.key)
        at = self._at.setdefault(entry.key, len(self._entries))
        if at == len(self._entries):
            self._entries.append(entry)
        else:
            self._entries[at] = entry
        return at

    def begin_attempt(self, *, after_exception: bool) -> list[int]:
        """Begin anew; return the numbers of the entries that don't count any more.

        Args:
            after_exception: the attempt before raised, so that models are asked anew.
        """
        self._counts.clear()
        self._doubted = {entry.key for entry in self._entries if entry.status == "intent"}
        if not after_exception:
            return []
        dropped = [n for n, entry in enumerate(self._entries) if entry.kind == "model"]
        for n in dropped:
            # The place stays, so that the numbers of the others do; it says nothing any more.
            self._entries[n] = attrs.evolve(self._entries[n], status="failed", result=None)
        return dropped

    @property
    def doubted(self) -> list[JournalEntry]:
        """The effects of which nobody knows whether they happened."""
        return [entry for entry in self._entries if entry.key in self._doubted]

    def settle_doubt(self, key: str, *, happened: bool, result: Any = None) -> int:
        """Take somebody's word for what came of an effect; return its number.

        Raises:
            KeyError: nothing is unknown about it.
        """
        if key not in self._doubted:
            raise KeyError(key)
        entry = self._entries[self._at[key]]
        status: Status = "done" if happened else "failed"
        return self.record(attrs.evolve(entry, status=status, result=result))


def _matches(recorded: str | None, asked: str | None) -> bool:
    return recorded is None or asked is None or recorded == asked
