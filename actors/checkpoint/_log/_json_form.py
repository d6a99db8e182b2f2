"""A commit as JSON that people can read, and back.

The trees are those of the codec. What they have beside it (references to parts, long
sequences) is written with a ``$type`` of its own.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.msgpack import Ext, decode, encode

from actors.checkpoint._log._format import Sealer, facts_of, facts_tree
from actors.checkpoint._log._refs import (
    BLOCKS,
    ELSEWHERE,
    LOG,
    PART,
    content_of,
    long_ref,
    number_of,
    part_ref,
)
from actors.checkpoint._log._rows import Head, Row
from actors.checkpoint._log._seal import VERSION, check_version
from protocols._checkpoint_errors import CorruptCheckpointError
from protocols._codec._trouble import TAG

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMES: Final = {PART: "$part", ELSEWHERE: "$entry", LOG: "$log", BLOCKS: "$blocks"}
_CODES: Final = {name: code for code, name in _NAMES.items()}
_DIGEST: Final = "sha256"
_SIGNATURE: Final = "hmac_sha256"


def to_json(tree: Any) -> Any:
    """Return a stored tree in a form that JSON has."""
    kind = type(tree)
    if kind is dict:
        return {key: to_json(value) for key, value in tree.items()}
    if kind is list:
        return [to_json(item) for item in tree]
    if kind is Ext:
        is_part = tree.code in {PART, ELSEWHERE}
        content = number_of(tree) if is_part else to_json(content_of(tree))
        return {TAG: _NAMES[tree.code], "value": content}
    return tree


def from_json(tree: Any) -> Any:
    """Return the stored tree of what `to_json` made."""
    kind = type(tree)
    if kind is list:
        return [from_json(item) for item in tree]
    if kind is not dict:
        return tree
    code = _CODES.get(tree.get(TAG, ""))
    if code is None or tree.keys() != {TAG, "value"}:
        return {key: from_json(value) for key, value in tree.items()}
    content = tree["value"]
    if code in {PART, ELSEWHERE}:
        return part_ref(content, code)
    return long_ref(code, from_json(content))


def head_json(head: Head) -> dict[str, Any]:
    """Return a head as JSON."""
    found = msgspec.to_builtins({
        "sequence": head.sequence, "incarnation": head.incarnation, "base": head.base,
        "kind": head.kind, "last_part": head.last_part, "previous": head.previous,
        "open_requests": head.open_requests,
    })  # fmt: skip
    if head.checkpoint is not None:
        iteration, status, label, metadata = facts_tree(head.checkpoint)
        found["checkpoint"] = {
            "time": head.time, "iteration": iteration, "status": status, "label": label,
            "metadata": decode(metadata) if metadata else {},
        }  # fmt: skip
    return dict(found)


def head_of(tree: Mapping[str, Any]) -> Head:
    """Return the head of what `head_json` made."""
    about = tree.get("checkpoint")
    facts = None
    if about is not None:
        metadata = encode(about["metadata"]) if about["metadata"] else b""
        facts = facts_of([about["iteration"], about["status"], about["label"], metadata])
    return Head(
        tree["sequence"],
        tree["incarnation"],
        tree["base"],
        tree["kind"],
        tree["last_part"],
        facts,
        tree["previous"],
        tree["open_requests"],
        0 if about is None else about["time"],
    )


def row_json(row: Row) -> dict[str, Any]:
    """Return a commit as JSON."""
    return {
        "commit": head_json(row.head),
        "entries": {
            key: None if body is None else {"value": to_json(decode(body))}
            for key, body in row.entries.items()
        },
        "parts": {str(number): to_json(decode(body)) for number, body in row.parts},
    }


def row_of(tree: Mapping[str, Any]) -> Row:
    """Return the commit of what `row_json` made."""
    entries = {
        key: None if value is None else encode(from_json(value["value"]))
        for key, value in tree["entries"].items()
    }
    parts = tuple((int(number), encode(from_json(one))) for number, one in tree["parts"].items())
    return Row(head_of(tree["commit"]), entries, parts)


# ------------------------------------------------------------------ files


def spelled(content: Mapping[str, Any], sealer: Sealer) -> bytes:
    """Return a file with this content, its format and its digest."""
    whole = {"trio_actors_checkpoint": VERSION, **content}
    name, digest = _digest(whole, sealer)
    text = msgspec.json.encode({**whole, name: digest})
    return msgspec.json.format(text, indent=1) + b"\n"


def parsed(data: bytes, place: str, sealer: Sealer) -> dict[str, Any]:
    """Return the content of a file.

    Raises:
        CheckpointVersionError: another version of this library wrote it.
        CorruptCheckpointError: it isn't what was written.
    """
    try:
        whole = msgspec.json.decode(data)
        version = whole.pop("trio_actors_checkpoint")
        if type(version) is not int:
            raise TypeError("its format is no number")  # noqa: TRY301  (as those below)
    except (msgspec.DecodeError, KeyError, AttributeError, TypeError, RecursionError) as exc:
        raise CorruptCheckpointError(
            f"{place} is cut off, or no checkpoint of trio-actors ({exc!r}); restore it from a "
            "backup, or move it away: nothing older is taken in its place by itself"
        ) from exc
    check_version(version, place)
    found = {name: whole.pop(name) for name in (_DIGEST, _SIGNATURE) if name in whole}
    name, digest = _digest({"trio_actors_checkpoint": version, **whole}, sealer)
    if found.keys() != {name} or not hmac.compare_digest(
        str(found[name]).encode(), digest.encode()
    ):
        key = ", or was signed with another key or with none" if sealer.key else ""
        raise CorruptCheckpointError(
            f"{place} was changed after it was written{key}; restore it from a backup, or move "
            "it away: nothing older is taken in its place by itself"
        )
    return dict(whole)


def _digest(content: Mapping[str, Any], sealer: Sealer) -> tuple[str, str]:
    data = msgspec.json.encode(content)
    if sealer.key is None:
        return _DIGEST, hashlib.sha256(data).hexdigest()
    return _SIGNATURE, hmac.digest(sealer.key, data, "sha256").hex()
