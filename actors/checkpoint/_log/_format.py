"""The payloads of records: heads, entries, what is known of a run. See checkpoint-format.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, TypeVar

import attrs
import msgspec
from msgspec.msgpack import decode as unpack, encode as pack

from actors.checkpoint._log._rows import Head, Row
from actors.checkpoint._log._seal import VERSION, seal, unseal
from actors.checkpoint._types import CheckpointFacts, RunInfo
from protocols._checkpoint_errors import CorruptCheckpointError
from protocols._codec._codec import default_codec
from protocols._errors import CodecError, UnknownTagError
from protocols._frozen import FrozenDict

T = TypeVar("T")

#: Turns what a version had into what the next one has.
Upgrade: TypeAlias = Callable[[Any], Any]
#: By kind of record, and by the version that is turned into the next one. There is one so far.
UPGRADES: Final[Mapping[str, Mapping[int, Upgrade]]] = {}


@attrs.frozen
class Sealer:
    """Makes records of one storage, and reads them.

    Args:
        key: for signatures.
        upgrades: of older formats.
    """

    key: bytes | None = attrs.field(default=None, repr=False)

    @key.validator
    def _check_key(self, attribute: object, key: bytes | None) -> None:  # noqa: ARG002  (attrs gives it)
        if key is not None and not key:
            raise ValueError("the key of a storage is empty, and would sign nothing")

    upgrades: Mapping[str, Mapping[int, Upgrade]] = attrs.field(default=UPGRADES, repr=False)

    def head(self, run_id: str, head: Head) -> bytes:
        """Return the record of a head."""
        return self._seal(_head_tree(run_id, head), _place("head", run_id, head.sequence))

    def body(self, run_id: str, row: Row) -> bytes:
        """Return the record of the entries of a commit."""
        return self._seal(row.entries, _place("commit", run_id, row.head.sequence))

    def part(self, run_id: str, number: int, body: bytes) -> bytes:
        """Return the record of a part."""
        return seal(body, _place("part", run_id, number), self.key)

    def about(self, info: RunInfo) -> bytes:
        """Return the record of what is known of a run from the beginning."""
        tree = [info.workflow_name, info.signature, info.forked_from, info.created]
        return self._seal(tree, _place("run", info.run_id, 0))

    def value(self, kind: str, name: str, value: Any) -> bytes:
        """Return the record of any value."""
        return seal(default_codec.encode(value, encoding="msgpack"), f"{kind} {name!r}", self.key)

    def read_value(self, kind: str, name: str, record: bytes) -> Any:
        """Return the value of a record."""
        place = f"{kind} {name!r}"
        _, body = unseal(record, place, self.key)
        try:
            return default_codec.decode(body, encoding="msgpack")
        except UnknownTagError:
            raise
        except CodecError as exc:
            raise CorruptCheckpointError(f"{place} is malformed: {exc}") from exc

    def read_head(self, run_id: str, sequence: int, record: bytes) -> Head:
        """Return a head."""
        place = _place("head", run_id, sequence)
        return _read(
            lambda tree: _head_of(run_id, sequence, tree), self._unseal(record, place), place
        )

    def read_row(self, run_id: str, sequence: int, head: bytes, body: bytes) -> Row:
        """Return a commit without its parts."""
        place = _place("commit", run_id, sequence)
        entries = _read(_checked_entries, self._unseal(body, place), place)
        return Row(self.read_head(run_id, sequence, head), entries)

    def read_part(self, run_id: str, number: int, record: bytes) -> bytes:
        """Return the bytes of a part."""
        return unseal(record, _place("part", run_id, number), self.key)[1]

    def read_about(self, run_id: str, record: bytes) -> RunInfo:
        """Return what is known of a run from the beginning."""
        place = _place("run", run_id, 0)

        def made(tree: Any) -> RunInfo:
            workflow, signature, forked_from, created = tree
            return RunInfo(run_id, workflow, signature, forked_from=forked_from, created=created)

        return _read(made, self._unseal(record, place), place)

    def _seal(self, tree: Any, place: str) -> bytes:
        return seal(pack(tree), place, self.key)

    def _unseal(self, record: bytes, place: str) -> Any:
        version, payload = unseal(record, place, self.key)
        tree = _read(unpack, payload, place)
        upgrades = self.upgrades.get(place.split(" ", 1)[0], {})
        for older in range(version, VERSION):
            if older in upgrades:
                tree = _read(upgrades[older], tree, place)
        return tree


def _place(kind: str, run_id: str, number: int) -> str:
    return f"{kind} {number} of the run {run_id!r}"


def _read(make: Callable[[Any], T], tree: Any, place: str) -> T:
    try:
        return make(tree)
    except (msgspec.DecodeError, CodecError, ValueError, TypeError, RecursionError) as exc:
        raise CorruptCheckpointError(f"{place} is malformed: {exc}") from exc


def _head_tree(run_id: str, head: Head) -> list[Any]:
    # Most often the checkpoint before is of the same run, whose name needn't be said again.
    own = f"{run_id}@"
    previous: Any = head.previous
    if head.previous is not None and head.previous.startswith(own):
        digits = head.previous.removeprefix(own)
        previous = int(digits) if digits.isdigit() and str(int(digits)) == digits else previous
    tree = [head.incarnation, head.base, head.kind, head.last_part, head.open_requests, previous]
    return tree if head.checkpoint is None else [*tree, head.time, *facts_tree(head.checkpoint)]


def facts_tree(facts: CheckpointFacts) -> list[Any]:
    """Return what is said of a checkpoint."""
    metadata = b""
    if facts.metadata:
        metadata = default_codec.encode(dict(facts.metadata), encoding="msgpack")
    return [facts.iteration, facts.status, facts.label, metadata]


def _head_of(run_id: str, sequence: int, tree: Any) -> Head:
    incarnation, base, kind, last_part, requests, previous, *rest = tree
    if type(previous) is int:
        previous = f"{run_id}@{previous}"
    head = Head(sequence, incarnation, base, kind, last_part, None, previous, requests)
    if not rest:
        return head
    time, *facts = rest
    return attrs.evolve(head, checkpoint=facts_of(facts), time=time)


def facts_of(tree: Any) -> CheckpointFacts:
    """Return what `facts_tree` was given."""
    iteration, status, label, metadata = tree
    about = default_codec.decode(metadata, dict, encoding="msgpack") if metadata else {}
    return CheckpointFacts(iteration, status, label, FrozenDict(about))


def _checked_entries(tree: Any) -> Mapping[str, bytes | None]:
    if type(tree) is not dict or not all(
        type(key) is str and (body is None or type(body) is bytes) for key, body in tree.items()
    ):
        raise ValueError("these are no entries")
    return tree
