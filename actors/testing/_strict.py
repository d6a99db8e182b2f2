"""What a strict endpoint refuses about a request, for both of OpenAI's APIs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool"})
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


def problems(body: Mapping[str, Any]) -> list[str]:
    """Say what is wrong with the body of a request; nothing if a strict endpoint would take it.

    Args:
        body: of a Chat Completions request, with ``messages``, or of a Responses request, with
            ``input``.
    """
    if "input" in body:
        is_kept = "previous_response_id" in body or "conversation" in body
        return list(_item_problems(body["input"], is_kept))
    return list(_message_problems(body.get("messages") or ()))


class _Pairs:
    """Which calls wait for their results, and what was wrong about it."""

    def __init__(self) -> None:
        self.awaited: list[str] = []
        self._used: set[str] = set()

    def open(self, call_id: str, where: str) -> Iterator[str]:
        if call_id in self._used:
            yield f"{where}: the id {call_id!r} is used twice"
        self._used.add(call_id)
        self.awaited.append(call_id)

    def close(self, call_id: str, where: str) -> Iterator[str]:
        if call_id not in self.awaited:
            yield f"{where}: a result must follow its call, and none of {call_id!r} waits for one"
        else:
            self.awaited.remove(call_id)

    def none_awaited(self, where: str) -> Iterator[str]:
        if self.awaited:
            yield f"{where}: the calls {self.awaited} have no results"
            self.awaited = []


def _message_problems(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not messages:
        yield "messages is empty"
    pairs = _Pairs()
    for number, message in enumerate(messages):
        where = f"messages[{number}]"
        yield from _shape_problems(message, where)
        if message.get("role") == "tool":
            yield from pairs.close(str(message.get("tool_call_id")), where)
            continue
        yield from pairs.none_awaited(where)
        for call in message.get("tool_calls") or ():
            yield from pairs.open(call["id"], where)
            yield from _call_problems(call, where)
    yield from pairs.none_awaited("at the end")


def _shape_problems(message: Mapping[str, Any], where: str) -> Iterator[str]:
    if message.get("role") not in _ROLES:
        yield f"{where}: no such role as {message.get('role')!r}"
    if message.get("content") is None and not message.get("tool_calls"):
        yield f"{where}: it has neither content nor tool_calls"
    name = message.get("name")
    if name is not None and not _NAME.fullmatch(name):
        yield f"{where}: the name {name!r} has characters that no name may have"


def _call_problems(call: Mapping[str, Any], where: str) -> Iterator[str]:
    function = call.get("function") or {}
    if not call.get("id") or not function.get("name"):
        yield f"{where}: a call needs an id and a name"
    if not function.get("arguments"):
        yield f"{where}: the arguments of a call are a text that is not empty"


def _item_problems(items: Sequence[Mapping[str, Any]], is_kept: bool) -> Iterator[str]:
    if not items:
        yield "input is empty"
    pairs = _Pairs()
    for number, item in enumerate(items):
        where, call_id = f"input[{number}]", str(item.get("call_id"))
        if item["type"] == "function_call":
            yield from pairs.open(call_id, where)
            yield from _call_problems({"id": call_id, "function": item}, where)
            if not str(item.get("id", "fc_")).startswith("fc_"):
                yield f"{where}: the id of an item that calls begins with fc_"
        elif item["type"] == "function_call_output" and (call_id in pairs.awaited or not is_kept):
            yield from pairs.close(call_id, where)
    yield from pairs.none_awaited("at the end")
