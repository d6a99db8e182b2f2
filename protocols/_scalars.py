"""Single values that JSON and msgpack don't know, as text that reads back to the same value.

Each text is canonical: whatever is parsed must print to the very text it came from. So none
of the parsers' leniencies (blanks, underscores, other digits, short forms) gets in.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

import attrs

from protocols._trouble import Trouble, kind_of, short

INT_RANGE: Final = range(-(2**63), 2**64)


@attrs.frozen
class ScalarKind:
    """How values of one class are written in text.

    Args:
        tag: the name of the kind in the data.
        cls: the class, exactly.
        to_text: print a value.
        parse: read a value; may be lenient, since the result is printed again and compared.
    """

    tag: str
    cls: type
    to_text: Callable[[Any], str]
    parse: Callable[[str], Any]

    def read(self, body: object) -> object:
        """Return the value that *body* means."""
        if type(body) is not str:
            raise Trouble(f"{self.tag} is written as a string, not as {kind_of(body)}")
        try:
            value = self.parse(body)
            if self.to_text(value) == body:
                return value
        except (ValueError, ArithmeticError):
            pass
        raise Trouble(f"{short(body)} isn't a well-formed {self.tag}")


def _int_from_hex(text: str) -> int:
    value = int(text, 16)
    if value in INT_RANGE:
        raise ValueError("it would be another form of a plain integer")
    return value


# isoformat() leaves out `fold`, the one bit that tells the second 2:30 of an October night
# from the first.
_FOLD: Final = ";fold=1"


def _print_moment(value: datetime | time) -> str:
    if not (value.tzinfo is None or type(value.tzinfo) is timezone):
        raise Trouble(
            f"a {type(value).__name__} with a {type(value.tzinfo).__name__} can't be encoded "
            "exactly; convert it with .astimezone(datetime.timezone.utc) first"
        )
    return value.isoformat() + (_FOLD if value.fold else "")


def _parse_datetime(text: str) -> datetime:
    moment = datetime.fromisoformat(text.removesuffix(_FOLD))
    return moment.replace(fold=1) if text.endswith(_FOLD) else moment


def _parse_time(text: str) -> time:
    moment = time.fromisoformat(text.removesuffix(_FOLD))
    return moment.replace(fold=1) if text.endswith(_FOLD) else moment


def _print_decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise Trouble(f"{value} is no finite number")
    return str(value)


_MICROSECOND: Final = timedelta(microseconds=1)

SCALAR_KINDS: Final = (
    ScalarKind("int", int, hex, _int_from_hex),
    ScalarKind("datetime", datetime, _print_moment, _parse_datetime),
    ScalarKind("date", date, date.isoformat, date.fromisoformat),
    ScalarKind("time", time, _print_moment, _parse_time),
    ScalarKind(
        "timedelta",
        timedelta,
        lambda value: f"{value // _MICROSECOND}us",
        lambda text: timedelta(microseconds=int(text.removesuffix("us"))),
    ),
    ScalarKind("uuid", UUID, str, UUID),
    ScalarKind("decimal", Decimal, _print_decimal, Decimal),
)


def read_bytes(body: object) -> bytes:
    """Return the bytes of *body*: themselves from msgpack, in base64 from JSON."""
    if type(body) is bytes:
        return body
    if type(body) is not str:
        raise Trouble(f"bytes are written in base64, not as {kind_of(body)}")
    try:
        value = b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        raise Trouble(f"{short(body)} isn't base64") from None
    if b64encode(value).decode() != body:
        raise Trouble(f"{short(body)} isn't base64 in its canonical form")
    return value


def text(value: str) -> str:
    """Return *value* if it can be written at all."""
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Trouble(
                f"the text {short(value)} contains half of a surrogate pair, which UTF-8 "
                "can't represent"
            ) from None
    return value
