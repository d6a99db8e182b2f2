# Endpoints are careless with the identity of tool calls: ids are missing, empty, the same for
# two calls of an answer, or used again in a later turn. We can't be, because a call and its
# result find each other by the id, in history, in approvals and in the next request.
#
# So a call's identity is its slot: its place in the answer. What the endpoint calls it is kept
# if it is usable and unique, also against the ids that the request already spoke of, and
# replaced if it isn't. The new id depends only on what the endpoint sent, so reading the same
# bytes twice gives the same ids.
"""Putting tool calls together from what endpoints send; no I/O, no chance."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from protocols._content._item import Content


@attrs.define(eq=False)
class _Slot:
    raw_id: str
    call_id: str
    name: str
    arguments: list[str] = attrs.field(factory=list)


class CallSlots:
    """The tool calls of one choice of one answer, in the order in which they came.

    Args:
        taken: call ids that are in use already; ids given here are added to it.
        prefix: what distinguishes this answer from others, for ids of our own making.
    """

    def __init__(self, taken: set[str], prefix: str = "") -> None:
        self._taken = taken
        self._prefix = prefix
        self._slots: list[_Slot] = []
        self._by_index: dict[int, _Slot] = {}
        self.done = False
        """Whether a finish reason has come; what is said again after that is a repetition."""

    def __len__(self) -> int:
        return len(self._slots)

    def take(self, calls: object) -> list[Content]:
        """Read a ``tool_calls`` array, whole or a delta, and give the contents that it adds."""
        if not isinstance(calls, Iterable) or isinstance(calls, str | bytes | Mapping):
            return []
        return [
            content
            for position, call in enumerate(calls)
            if isinstance(call, Mapping) and (content := self._take(call, position)) is not None
        ]

    def _take(self, call: Mapping[str, Any], position: int) -> Content | None:
        function = call.get("function")
        function = function if isinstance(function, Mapping) else {}
        name, arguments = _text(function.get("name")), _arguments(function.get("arguments"))
        slot = self._known(call, name)
        if slot is None:
            slot = self._open(call, name, position)
        elif self.done and arguments == "".join(slot.arguments):
            return None
        elif name and not slot.name:
            slot.name = name
        else:
            name = ""
        slot.arguments.append(arguments)
        item_id = _text(call.get("item_id")) or None
        return Content.from_function_call(slot.call_id, name, arguments=arguments, id=item_id)

    def _known(self, call: Mapping[str, Any], name: str) -> _Slot | None:
        """The slot that a delta continues, or None if it opens one."""
        raw_id, index = _text(call.get("id")), _index(call)
        if index is not None:
            slot = self._by_index.get(index)
            # Some endpoints number every call 0 and send each one whole, under its own id.
            return None if slot and name and raw_id not in {"", slot.raw_id} else slot
        if raw_id and not name:
            return next((s for s in reversed(self._slots) if s.raw_id == raw_id), None)
        return None if raw_id or name or not self._slots else self._slots[-1]

    def _open(self, call: Mapping[str, Any], name: str, position: int) -> _Slot:
        raw_id, index = _text(call.get("id")), _index(call)
        slot = _Slot(raw_id, self._unique(raw_id), name)
        self._slots.append(slot)
        self._by_index[position if index is None else index] = slot
        return slot

    def _unique(self, raw_id: str) -> str:
        wanted = raw_id or "_".join(filter(None, ("call", self._prefix, str(len(self._slots)))))
        call_id, number = wanted, 1
        while call_id in self._taken:
            number += 1
            call_id = f"{wanted}_{number}"
        self._taken.add(call_id)
        return call_id


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _index(call: Mapping[str, Any]) -> int | None:
    index = call.get("index")
    return index if isinstance(index, int) and not isinstance(index, bool) else None


def _arguments(value: object) -> str:
    # A few endpoints send the parsed object where the API has its text.
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)
