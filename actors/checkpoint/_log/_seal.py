"""Records: bytes that can't be cut off, changed, or put into another place without notice."""

from __future__ import annotations

import hashlib
import hmac
import zlib
from typing import Final

from protocols._checkpoint_errors import CheckpointVersionError, CorruptCheckpointError

#: The version of the format that is written.
VERSION: Final = 1
#: The oldest one that is read.
OLDEST: Final = 1
#: The largest record that is read, unpacked, in bytes.
MAX_SIZE: Final = 1 << 30

_DIGEST: Final = 16
_HEADER: Final = 2 + _DIGEST
_PACKED: Final = 1
_KEYED: Final = 2
# Shorter ones don't become shorter.
_WORTH_PACKING: Final = 200


def seal(payload: bytes, place: str, key: bytes | None = None) -> bytes:
    """Return the record of a payload.

    Args:
        payload: what is stored.
        place: what it is and where it belongs; it must be the same for `unseal`.
        key: for a signature, which only who knows the key can make.
    """
    flags = 0 if key is None else _KEYED
    if len(payload) >= _WORTH_PACKING:
        packed = zlib.compress(payload, 1)
        if len(packed) < len(payload):
            flags, payload = flags | _PACKED, packed
    start = bytes((VERSION, flags))
    return start + _digest(start, payload, place, key) + payload


def unseal(record: bytes, place: str, key: bytes | None = None) -> tuple[int, bytes]:
    """Return the version and the payload of a record.

    Raises:
        CheckpointVersionError: another version of this library wrote it.
        CorruptCheckpointError: it isn't what was written there, or with another key.
    """
    if type(record) is not bytes or len(record) < _HEADER:
        raise CorruptCheckpointError(f"{place} is cut off; {_ADVICE}")
    version, flags = record[0], record[1]
    check_version(version, place)
    if bool(flags & _KEYED) != (key is not None):
        raise CorruptCheckpointError(_wrong_key(place, is_signed=bool(flags & _KEYED)))
    payload = record[_HEADER:]
    found = _digest(record[:2], payload, place, key)
    if not hmac.compare_digest(found, record[2:_HEADER]):
        reason = "was changed after it was written"
        if key is not None:
            reason += ", or was signed with another key"
        raise CorruptCheckpointError(f"{place} {reason}; {_ADVICE}")
    return version, _unpacked(payload, place) if flags & _PACKED else payload


_ADVICE: Final = (
    "restore the storage from a backup, or go on from an older checkpoint by its id: nothing "
    "older is taken by itself"
)


def check_version(version: int, place: str) -> None:
    """Refuse what another version of the format wrote.

    Raises:
        CheckpointVersionError: this library can't read it.
    """
    if version > VERSION:
        raise CheckpointVersionError(
            f"{place} has the format {version}, and this version of trio-actors reads formats "
            f"up to {VERSION}: use a newer version of it"
        )
    if version < OLDEST:
        raise CheckpointVersionError(
            f"{place} has the format {version}, which was never written by trio-actors"
        )


def _digest(start: bytes, payload: bytes, place: str, key: bytes | None) -> bytes:
    named = place.encode()
    content = b"".join((start, len(named).to_bytes(4, "big"), named, payload))
    if key is None:
        return hashlib.sha256(content).digest()[:_DIGEST]
    return hmac.digest(key, content, "sha256")[:_DIGEST]


def _unpacked(payload: bytes, place: str) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(payload, MAX_SIZE)
    except zlib.error as exc:
        raise CorruptCheckpointError(f"{place} can't be unpacked: {exc}") from exc
    if unpacker.unconsumed_tail or not unpacker.eof:
        raise CorruptCheckpointError(f"{place} is larger than {MAX_SIZE} bytes, or cut off")
    return content


def _wrong_key(place: str, *, is_signed: bool) -> str:
    if is_signed:
        return f"{place} is signed; give the storage the key that it was signed with"
    return (
        f"{place} isn't signed, although the storage has a key: it was written without one, or "
        "somebody has put it there"
    )
