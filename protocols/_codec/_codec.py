"""Values to bytes and back, exactly and for anything that may come in.

The classes of messages know nothing of this module: tags, strictness and encodings are facts
of the edge. Two encodings spell the same trees: JSON for the wire and for people, msgpack for
stores.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar, final, overload

from protocols._codec import _registry
from protocols._codec._text import Encoding, parse, refuse_deep, spell
from protocols._codec._trouble import Trouble, too_deep

if TYPE_CHECKING:
    from protocols._codec._converter import TreeConverter
    from protocols._codec._tags import TypeRegistry

T = TypeVar("T")


@final
class Codec:
    """Encodes and decodes the values that may travel: see `encode` and `decode`.

    Args:
        registry: the classes that it knows beside the built-in ones.
    """

    def __init__(self, registry: TypeRegistry) -> None:
        self._registry = registry

    @cached_property
    def _forms(self) -> TreeConverter:
        # Importing the vocabulary doesn't load cattrs: only who encodes pays for it.
        from protocols._codec._converter import TreeConverter

        return TreeConverter(self._registry)

    def encode(self, value: object, *, encoding: Encoding = "json") -> bytes:
        """Return the bytes of *value*; see the function `encode`."""
        try:
            tree = self._forms.any.write(value)
            refuse_deep(tree)
            return spell(tree, encoding)
        except Trouble as trouble:
            raise trouble.as_error() from trouble.__cause__
        except RecursionError:
            raise too_deep().as_error() from None

    @overload
    def decode(self, data: bytes, *, encoding: Encoding = "json") -> Any: ...
    @overload
    def decode(self, data: bytes, expect: type[T], *, encoding: Encoding = "json") -> T: ...
    def decode(self, data: bytes, expect: Any = Any, *, encoding: Encoding = "json") -> Any:
        """Return the value that *data* means; see the function `decode`."""
        try:
            return self._forms.hooks_of(expect).read(parse(data, encoding))
        except Trouble as trouble:
            raise trouble.as_error() from trouble.__cause__
        except RecursionError:
            raise too_deep().as_error() from None


default_codec: Final = Codec(_registry.default_registry)


def encode(value: object, *, encoding: Encoding = "json") -> bytes:
    """Return *value* as bytes that `decode` turns into an equal value of the same type.

    Args:
        value: None, bool, int, float, str, bytes, list, tuple, set, frozenset, dict, datetime,
            date, time, timedelta, UUID, Decimal, a type, one of this project's values, or a
            value of a class that was given to `register_type`, all of them nested at will.
            What is derived (fields with ``init=False``, private attributes of pydantic
            models) or a provider's (``raw_representation``) is not written.
        encoding: ``"json"`` or ``"msgpack"``.

    Returns:
        Bytes, alike for equal sets whatever their order.

    Raises:
        UnregisteredTypeError: something in it is of a type that has no tag.
        CodecError: something in it can't be written: a number that isn't finite, half of a
            surrogate pair, a field that isn't of its declared type, more than 200 levels.
    """
    return default_codec.encode(value, encoding=encoding)


@overload
def decode(data: bytes, *, encoding: Encoding = "json") -> Any: ...
@overload
def decode(data: bytes, expect: type[T], *, encoding: Encoding = "json") -> T: ...
def decode(data: bytes, expect: Any = Any, *, encoding: Encoding = "json") -> Any:
    """Return the value that *data* means. Nothing is imported or executed because of it.

    Args:
        data: bytes of `encode`, or whatever a peer sent instead.
        expect: the type that the value must have, if one is wanted.
        encoding: ``"json"`` or ``"msgpack"``.

    Raises:
        UnknownTagError: it names a type that isn't registered here.
        CodecError: anything else is wrong with it.
    """
    return default_codec.decode(data, expect, encoding=encoding)
