"""Checks of the URIs in content items."""

from __future__ import annotations

import logging
from typing import Final

from protocols._errors import ContentError

_LOG: Final = logging.getLogger(__name__)
_KNOWN_SCHEMES: Final = frozenset({"data", "file", "ftp", "gs", "http", "https", "s3"})


def checked_scheme(uri: str) -> str:
    """Give the scheme of a URI, in small letters.

    Raises:
        ContentError: that is no URI, or a data URI that isn't base64.
    """
    scheme, colon, rest = uri.partition(":")
    if not colon or not scheme:
        raise ContentError(f"{uri[:80]!r} is no URI: it needs a scheme, such as https:// or data:")
    scheme = scheme.lower()
    if scheme not in _KNOWN_SCHEMES:
        _LOG.info("URI with a scheme that we don't know: %.80s", uri)
    if scheme == "data":
        _check_data_uri(rest)
    return scheme


def _check_data_uri(rest: str) -> None:
    head, comma, _ = rest.partition(",")
    if not comma:
        raise ContentError("a data URI needs a comma between its media type and its data")
    # Parameters such as charset=utf-8 may precede the marker; an encoding stands last, bare.
    *_, last = head.split(";")
    if ";" in head and "=" not in last and last.lower() != "base64":
        raise ContentError(f"a data URI may be base64 or plain, not {last!r}")
