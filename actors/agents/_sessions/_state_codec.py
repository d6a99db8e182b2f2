"""How the state of a session becomes plain data, and comes back.

Values of registered types are written as what their encoder makes of them, marked with one
reserved key. A user's own mapping can't be mistaken for one of them: where it happens to have
that key, it is wrapped. Tuples come back as lists and keys as strings, as JSON has it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence, Set as AbstractSet
from typing import Any, Final, TypeVar, cast

import attrs

from protocols._message import Message

StateT = TypeVar("StateT")

ENVELOPE_KEY: Final = "$type"
"""Marks a mapping as the encoded form of a registered type, whose id is its value."""

_WRAPPED: Final = "$mapping"
_VALUE: Final = "$value"


@attrs.frozen
class _Registered:
    cls: type[Any]
    type_id: str
    encoder: Callable[[Any], Mapping[str, Any]]
    decoder: Callable[[Mapping[str, Any]], Any]
    explicit: bool  # whether the caller gave the two, rather than leaving them to us


_BY_ID: dict[str, _Registered] = {}
_BY_TYPE: dict[type[Any], _Registered] = {}


def register_state_type(
    cls: type[StateT],
    *,
    type_id: str | None = None,
    encoder: Callable[[StateT], Mapping[str, Any]] | None = None,
    decoder: Callable[[Mapping[str, Any]], StateT] | None = None,
) -> None:
    """Let values of a type survive ``AgentSession.to_dict`` and ``from_dict``.

    The registry is one for the whole process. Doing the same again changes nothing.

    Args:
        cls: the type.
        type_id: its name in the data; by default what the class's ``_get_type_identifier()`` or
            ``TYPE`` says, else the class name in lower case.
        encoder: makes a mapping of a value; by default ``to_dict`` or pydantic's way.
        decoder: makes a value of that mapping; by default ``from_dict`` or pydantic's way.

    Raises:
        ValueError: only one of encoder and decoder was given, none is known for this type, or
            the id or the type is registered already as something else.
    """
    if (encoder is None) != (decoder is None):
        raise ValueError(f"{cls.__name__} needs both an encoder and a decoder, or neither")
    name = type_id or _default_id(cls)
    explicit = encoder is not None and decoder is not None
    known_encoder, known_decoder = (encoder, decoder) if explicit else _default_codec(cls)
    entry = _Registered(
        cls, name, cast("Any", known_encoder), cast("Any", known_decoder), explicit
    )
    _check_conflict(entry)
    _BY_ID[name] = _BY_TYPE[cls] = entry


def _check_conflict(entry: _Registered) -> None:
    for known in (_BY_ID.get(entry.type_id), _BY_TYPE.get(entry.cls)):
        if known is None or _same(known, entry):
            continue
        raise ValueError(
            f"state type {entry.type_id!r} ({entry.cls.__qualname__}) is registered already, as "
            f"{known.type_id!r} ({known.cls.__qualname__}): give one of the two its own type_id"
        )


def _same(known: _Registered, entry: _Registered) -> bool:
    if (known.cls, known.type_id, known.explicit) != (entry.cls, entry.type_id, entry.explicit):
        return False
    return not entry.explicit or (known.encoder, known.decoder) == (entry.encoder, entry.decoder)


def _default_id(cls: type[Any]) -> str:
    identify = getattr(cls, "_get_type_identifier", None)
    if callable(identify):
        return str(identify())
    return str(getattr(cls, "TYPE", cls.__name__.lower()))


def _default_codec(cls: type[Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    if callable(getattr(cls, "to_dict", None)) and callable(getattr(cls, "from_dict", None)):
        return lambda value: value.to_dict(), cls.from_dict
    if _is_pydantic(cls):
        return lambda value: value.model_dump(mode="json"), cls.model_validate
    raise ValueError(
        f"{cls.__name__} has no to_dict() and from_dict() and is no pydantic model: give "
        "register_state_type an encoder and a decoder for it"
    )


def _is_pydantic(cls: type[Any]) -> bool:
    return hasattr(cls, "model_dump") and hasattr(cls, "model_validate")


# ------------------------------------------------------------------------- encoding


def encode_state(value: Any) -> Any:
    """Make plain data of a value; what can't be is left as it is, with a ``RuntimeWarning``."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    entry = _BY_TYPE.get(type(value))
    if entry is not None:
        return _enveloped(entry, value)
    if isinstance(value, Mapping):
        encoded = {str(key): encode_state(item) for key, item in value.items()}
        return _wrapped(encoded) if ENVELOPE_KEY in encoded else encoded
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return [encode_state(item) for item in value]
    return _encode_foreign(value)


def _encode_foreign(value: Any) -> Any:
    cls = type(value)
    if _is_pydantic(cls):
        warnings.warn(
            f"{cls.__name__} was registered as a state type by its first use; another process "
            "can't restore it: call register_state_type at import",
            DeprecationWarning,
            stacklevel=2,
        )
        register_state_type(cls)
        return encode_state(value)
    if callable(getattr(value, "to_dict", None)):
        return encode_state(value.to_dict())
    if isinstance(value, AbstractSet):
        return [encode_state(item) for item in value]
    warnings.warn(
        f"a {cls.__name__} in the state of a session is no plain data and was left as it is; "
        "register_state_type makes it so",
        RuntimeWarning,
        stacklevel=2,
    )
    return value


def _enveloped(entry: _Registered, value: Any) -> dict[str, Any]:
    encoded = entry.encoder(value)
    if not isinstance(encoded, Mapping):
        raise TypeError(f"the encoder of {entry.type_id!r} made no mapping of a value")
    plain = {str(key): item for key, item in encoded.items()}
    return {**plain, ENVELOPE_KEY: entry.type_id}


def _wrapped(encoded: dict[str, Any]) -> dict[str, Any]:
    return {ENVELOPE_KEY: _WRAPPED, _VALUE: encoded}


# ------------------------------------------------------------------------- decoding


def decode_state(data: Any) -> Any:
    """Undo ``encode_state``; the containers that come back are new and mutable.

    Raises:
        ValueError: a value is of a type that isn't registered here, or its decoder failed.
    """
    if isinstance(data, Mapping):
        return _decode_mapping(data)
    if isinstance(data, list | tuple):
        return [decode_state(item) for item in data]
    return data


def _decode_mapping(data: Mapping[str, Any]) -> Any:
    if ENVELOPE_KEY not in data:
        return {key: decode_state(item) for key, item in data.items()}
    type_id = data[ENVELOPE_KEY]
    if type_id == _WRAPPED:
        return {key: decode_state(item) for key, item in data[_VALUE].items()}
    entry = _BY_ID.get(type_id)
    if entry is None:
        raise ValueError(
            f"the state of a session holds a {type_id!r}, which isn't registered here: call "
            "register_state_type for it before from_dict"
        )
    try:
        return entry.decoder({key: item for key, item in data.items() if key != ENVELOPE_KEY})
    except Exception as error:
        raise ValueError(f"a {type_id!r} in the state of a session can't be read") from error


register_state_type(Message, type_id="message")
