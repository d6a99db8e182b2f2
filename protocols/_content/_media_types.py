"""Telling the media type of data by its first bytes."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64Error
from typing import Final

_SIGNATURES: Final[tuple[tuple[int, bytes, str], ...]] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (0, b"BM", "image/bmp"),
    (0, b"II*\x00", "image/tiff"),
    (0, b"MM\x00*", "image/tiff"),
    (0, b"<svg", "image/svg+xml"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"\xff\xf3", "audio/mpeg"),
    (0, b"\xff\xf2", "audio/mpeg"),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
)
#: RIFF is a container: what it holds stands eight bytes in.
_IN_RIFF: Final = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}


def detect_media_type_from_base64(
    *,
    data_bytes: bytes | None = None,
    data_str: str | None = None,
    data_uri: str | None = None,
) -> str | None:
    """Return the media type of data, or None if its first bytes are those of no type we know.

    Args:
        data_bytes: the data itself.
        data_str: the data in base64.
        data_uri: the data as a base64 ``data:`` URI; what it says of its type is not looked at.

    Raises:
        ValueError: not exactly one of the three is given, or that is no base64.
    """
    if [data_bytes, data_str, data_uri].count(None) != 2:  # noqa: PLR2004  # of three
        raise ValueError("give exactly one of data_bytes, data_str and data_uri")
    if data_uri is not None:
        _, marker, data_str = data_uri.partition(";base64,")
        if not marker:
            raise ValueError(f"{data_uri[:40]!r} is no base64 data URI")
    return _media_type(_decoded(data_str) if data_str is not None else data_bytes or b"")


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (NotBase64Error, ValueError) as exc:
        raise ValueError(f"{text[:40]!r} is no base64: {exc}") from exc


def _media_type(data: bytes) -> str | None:
    if data[:4] == b"RIFF":
        return _IN_RIFF.get(data[8:12])
    for offset, signature, media_type in _SIGNATURES:
        if data[offset : offset + len(signature)] == signature:
            return media_type
    return None
