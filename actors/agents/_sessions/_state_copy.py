"""Copies of session state for one turn, and how a copy that changed comes home.

A turn works on a copy, so that a turn that fails leaves nothing behind. What can change is
copied; what can't, and that is where the bytes are (messages, logs of messages), is shared.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final
from weakref import WeakKeyDictionary

import attrs

from protocols._frozen import FrozenDict, FrozenList
from protocols._log import Log

_MISSING: Final = object()
_FROZEN_CLASSES: Final[WeakKeyDictionary[type[Any], bool]] = WeakKeyDictionary()
_SHARED: Final = (str, int, float, bytes, type(None), Log, FrozenList, FrozenDict, frozenset)


def copied(value: Any) -> Any:
    """Copy everything in a state that can change, and share the rest.

    Objects that we know nothing about are copied with ``copy.deepcopy``.
    """
    return _copied(value, {})


def _copied(value: Any, known: dict[int, Any]) -> Any:
    if isinstance(value, _SHARED) or _is_frozen(type(value)):
        return value
    if id(value) in known:
        return known[id(value)]
    if type(value) is dict:
        found: Any = known.setdefault(id(value), {})
        found.update((key, _copied(item, known)) for key, item in value.items())
        return found
    if type(value) is list:
        found = known.setdefault(id(value), [])
        found.extend(_copied(item, known) for item in value)
        return found
    return copy.deepcopy(value, known)


def _is_frozen(cls: type[Any]) -> bool:
    """Say whether values of a class can be shared: frozen attrs classes, and enums."""
    known = _FROZEN_CLASSES.get(cls)
    if known is None:
        known = (attrs.has(cls) and attrs.inspect(cls).is_frozen) or issubclass(cls, Enum)
        _FROZEN_CLASSES[cls] = known
    return known


def merged(current: Any, base: Any, changed: Any) -> Any:
    """Bring the changes from *base* to *changed* into *current*.

    Usually *current* is still what *base* was. Where another copy came home in between (two
    executors that share a session, in one round), mappings are merged key by key and logs keep
    what either has added; of anything else the last change wins.
    """
    if changed is base or _equal(changed, base):
        return current
    if base is _MISSING:  # both have begun it: as if it had been there, empty
        base = Log() if isinstance(changed, Log) else {}
    if isinstance(current, dict) and isinstance(base, Mapping) and isinstance(changed, Mapping):
        return _merged_mappings(current, base, changed)
    if isinstance(current, Log) and isinstance(base, Log) and isinstance(changed, Log):
        return _merged_logs(current, base, changed)
    return changed


def _merged_mappings(
    current: dict[Any, Any], base: Mapping[Any, Any], changed: Mapping[Any, Any]
) -> dict[Any, Any]:
    kept = {key: item for key, item in current.items() if key in changed or key not in base}
    for key, item in changed.items():
        kept[key] = merged(kept.get(key, _MISSING), base.get(key, _MISSING), item)
        if kept[key] is _MISSING:  # somebody else has removed what this copy left as it was
            del kept[key]
    return kept


def _merged_logs(current: Log[Any], base: Log[Any], changed: Log[Any]) -> Log[Any]:
    if current is base or not _begins_with(changed, base):
        return changed
    return current.extended(changed[len(base) :])


def _begins_with(log: Log[Any], start: Log[Any]) -> bool:
    return len(log) >= len(start) and all(a is b for a, b in zip(log, start, strict=False))


def _equal(left: Any, right: Any) -> bool:
    """Say whether two values are surely equal, without asking objects that we don't know."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, str | int | float | bytes):
        return bool(left == right)
    if type(left) is list:
        return len(left) == len(right) and all(map(_equal, left, right))
    if type(left) is dict:
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    return False
