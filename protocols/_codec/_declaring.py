"""Makes the types that somebody declares known to the codec, with all that their fields hold.

Whoever builds a workflow has said which types its messages, requests and answers are of. So a
process that builds the same workflow can read what another has written, and nobody has to say
it twice. What is declared nowhere stays unknown: it is refused when it is to be written.
"""

from __future__ import annotations

import typing
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

from protocols._codec._declared import normalised
from protocols._codec._fields import fields_of
from protocols._codec._tags import default_registry, require_supported

if TYPE_CHECKING:
    from collections.abc import Iterable

    from protocols._codec._tags import TypeRegistry


def declare_types(hints: Iterable[Any], registry: TypeRegistry = default_registry) -> None:
    """Let values of these types be encoded, as far as the codec can write them exactly.

    That are attrs classes, dataclasses, pydantic models, msgspec structs, named tuples and
    enums, and those in their fields. Their tags are the ones that `register_type` would give.

    Args:
        hints: annotations: classes, unions, containers.
        registry: where they become known.
    """
    for hint in hints:
        _declare(hint, registry)


def register_checkpoint_type(cls: type) -> None:
    """Let values of *cls* be stored; the name that Microsoft Agent Framework has for it.

    Unlike `register_type` it gives no lasting tag, and no class of another name is in its way.

    Raises:
        TypeError: *cls* is no class that can be taken apart and put together again.
    """
    require_supported(cls)
    declare_types([cls])


def _declare(hint: Any, registry: TypeRegistry) -> None:
    hint = normalised(hint)
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        args = tuple({type(value) for value in args})
    for one in args:
        _declare(one, registry)
    cls = origin or hint
    if not isinstance(cls, type) or not registry.declare(cls) or issubclass(cls, Enum):
        return
    registration = registry.by_class(cls)
    assert registration is not None, "it has just been declared"
    declare_types((one.hint for one in fields_of(registration)), registry)
