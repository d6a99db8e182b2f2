"""Single values that JSON and msgpack don't know, as text that reads back to the same value.

Each text is canonical: whatever is parsed must print to the very text it came from. So none
of the parsers' leniencies (blanks, underscores, other digits, short forms) gets in. (cattrs'
own hooks for these classes are lenient, and lose the fold of a moment.)
"""

from __future__ import annotations

import binascii
import math
from base64 import b64decode, b64encode
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from protocols._codec._hooks import Hooks, tagged
from protocols._codec._trouble import Trouble, kind_of, short

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

INT_RANGE: Final = range(-(2**63), 2**64)


def tag_of(cls: type) -> str:
    """Return the tag of one of these classes."""
    return cls.__name__.lower()


def _canonical(cls: type, to_text: Callable[[Any], str], parse: Callable[[str], Any]) -> Hooks:
    """Return the hooks of a class; *parse* may be lenient, as its result is printed again."""
    tag = tag_of(cls)

    def read(body: Any, _: Any = None) -> Any:
        if type(body) is not str:
            raise Trouble(f"{tag} is written as a string, not as {kind_of(body)}")
        try:
            value = parse(body)
            if to_text(value) == body:
                return value
        except (ValueError, ArithmeticError):
            pass
        raise Trouble(f"{short(body)} isn't a well-formed {tag}")

    return tagged(tag, Hooks(to_text, read))


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


def _parse_moment(cls: type[datetime | time], text: str) -> datetime | time:
    moment = cls.fromisoformat(text.removesuffix(_FOLD))
    return moment.replace(fold=1) if text.endswith(_FOLD) else moment


def _print_decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise Trouble(f"{value} is no finite number")
    return str(value)


def _read_bytes(body: Any, _: Any = None) -> bytes:
    # msgpack knows bytes; JSON has them in base64.
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


_MICROSECOND: Final = timedelta(microseconds=1)

SCALARS: Final[Mapping[type, Hooks]] = {
    bytes: tagged("bytes", Hooks(lambda value: value, _read_bytes)),
    int: _canonical(int, hex, _int_from_hex),
    datetime: _canonical(datetime, _print_moment, lambda text: _parse_moment(datetime, text)),
    date: _canonical(date, date.isoformat, date.fromisoformat),
    time: _canonical(time, _print_moment, lambda text: _parse_moment(time, text)),
    timedelta: _canonical(
        timedelta,
        lambda value: f"{value // _MICROSECOND}us",
        lambda text: timedelta(microseconds=int(text.removesuffix("us"))),
    ),
    UUID: _canonical(UUID, str, UUID),
    Decimal: _canonical(Decimal, _print_decimal, Decimal),
}
"""The hooks of the classes that are written with a tag; of int, those of 64 bits aren't."""


def write_int(value: int) -> Any:
    """Return the number, or a tagged text if it doesn't fit into 64 bits."""
    return value if value in INT_RANGE else SCALARS[int].write(value)


def read_int(tree: int) -> int:
    """Return the number if it could have been written so."""
    if tree not in INT_RANGE:
        raise Trouble("an integer of more than 64 bits is written as a tagged hexadecimal")
    return tree


def finite(value: float) -> float:
    """Return the number if it is finite."""
    if not math.isfinite(value):
        raise Trouble(f"{value} is no finite number")
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
