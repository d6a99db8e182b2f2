"""Undoing the compression of a body that comes in pieces; no I/O."""

from __future__ import annotations

import zlib
from typing import Final

ACCEPTED: Final = "gzip, deflate"
"""What to send as ``Accept-Encoding``."""
_PLAIN: Final = frozenset({"", "identity"})
_ZLIB: Final = frozenset({"gzip", "x-gzip", "deflate"})
_EITHER_FORMAT: Final = 47  # zlib's number for "gzip or zlib, look at the first bytes"


class Inflater:
    """Turns the pieces of a body as it was sent into the pieces that it means.

    Args:
        encoding: the ``Content-Encoding``.

    Raises:
        ValueError: the encoding is none that we asked for.
    """

    def __init__(self, encoding: str) -> None:
        name = encoding.strip().lower()
        if name not in _PLAIN | _ZLIB:
            raise ValueError(f"a body in the encoding {name!r}, which wasn't asked for")
        self._zlib = zlib.decompressobj(_EITHER_FORMAT) if name in _ZLIB else None

    def feed(self, data: bytes) -> bytes:
        """The next bytes of the body, in their meaning; may be none yet.

        Raises:
            ValueError: they aren't compressed the way the header says.
        """
        if self._zlib is None:
            return data
        try:
            return self._zlib.decompress(data)
        except zlib.error as error:
            raise ValueError(f"bytes that don't decompress ({error})") from error
