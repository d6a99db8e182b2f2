"""What a model may be shown of a conversation; pure.

Services refuse a request in which a call has no result, a result no call, or something stands
between the two. Conversations have all of that in them: a call still waits for a person, a
result came three messages later, an id was used twice. So each call is put together with its
result, and a call without one is left out, until it has one.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final

import attrs

from actors.agents._loop._pending import is_ours
from protocols._content._item import Content
from protocols._message import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_CALL: Final = "function_call"
_RESULT: Final = "function_result"
_SILENT: Final = frozenset({"text_reasoning", "usage"})


def for_model(messages: list[Message]) -> list[Message]:
    """Give the messages with each call followed by its result, and without open calls.

    Results of calls that aren't there stay: the service may have the call. Without any calls or
    results it is the list that was given.
    """
    if not any(_matters(item) for message in messages for item in message.contents):
        return messages
    results, called = _results_by_call(messages)
    found: list[Message] = []
    for message in messages:
        if any(_matters(item) for item in message.contents):
            found.extend(_arranged(message, results, called))
        else:
            found.append(message)
    return found


def with_distinct_calls(messages: Sequence[Message]) -> Sequence[Message]:
    """Give an answer of a model in which no two calls have one id.

    Some services give several calls one id, or none: all but the first of these get an id of
    ours. The very same call once more is one that was told twice: it is left out.
    """
    calls = [item for message in messages for item in message.contents if _is_call(item)]
    if len({call.call_id for call in calls}) == len(calls):
        return messages
    seen: dict[str | None, list[Content]] = {}
    return [
        attrs.evolve(message, contents=[*_distinct(message.contents, seen)])
        for message in messages
    ]


def _distinct(
    items: Iterable[Content], seen: dict[str | None, list[Content]]
) -> Iterable[Content]:
    for item in items:
        if not _is_call(item):
            yield item
            continue
        before = seen.setdefault(item.call_id, [])
        if not any(one.name == item.name and one.arguments == item.arguments for one in before):
            before.append(item)
            yield item if len(before) == 1 else _renamed(item)


def _renamed(call: Content) -> Content:
    return attrs.evolve(call, call_id=f"call_{uuid.uuid4().hex}")


def _matters(item: Content) -> bool:
    return item.type in {_CALL, _RESULT} or is_ours(item)


def _is_call(item: Content) -> bool:
    return item.type == _CALL and not item.informational_only


def _results_by_call(
    messages: Iterable[Message],
) -> tuple[dict[int, Content], set[str | None]]:
    """Find the result of each call (by identity): the latest open call of its id gets it.

    Returns:
        The results, and the ids of all calls.
    """
    waiting: dict[str | None, list[Content]] = {}
    found: dict[int, Content] = {}
    for message in messages:
        for item in message.contents:
            if _is_call(item):
                waiting.setdefault(item.call_id, []).append(item)
            elif item.type == _RESULT and waiting.get(item.call_id):
                found[id(waiting[item.call_id].pop())] = item
    return found, set(waiting)


def _arranged(
    message: Message, results: dict[int, Content], called: set[str | None]
) -> Iterable[Message]:
    kept = [item for item in message.contents if _stays(item, results, called)]
    calls = [item for item in kept if id(item) in results]
    if len(kept) == len(message.contents):
        yield message
    elif any(item.type not in _SILENT for item in kept):
        yield attrs.evolve(message, contents=kept)
    if calls:
        yield Message("tool", [results[id(call)] for call in calls])


def _stays(item: Content, results: dict[int, Content], called: set[str | None]) -> bool:
    if _is_call(item):
        return id(item) in results
    # A result of a call that is here moves behind it; there is one for each call.
    return not is_ours(item) and not (item.type == _RESULT and item.call_id in called)


def calls_in(messages: Iterable[Message]) -> list[Content]:
    """Give the calls that somebody has to make: each id once, and none that has a result."""
    found: dict[str | None, Content] = {}
    for message in messages:
        for item in message.contents:
            if _is_call(item):
                found.setdefault(item.call_id, item)
            elif item.type == _RESULT:
                found.pop(item.call_id, None)
    return list(found.values())


def without_calls(messages: Sequence[Message], fallback: str) -> tuple[list[Message], bool]:
    """Leave calls out that nobody will make.

    Returns:
        The messages, with a text in place of the calls if nothing else is left to be read; and
        whether that was so.
    """
    kept = [_without_calls(message) for message in messages]
    if any(is_visible(item) for message in kept for item in message.contents):
        return [message for message in kept if message.contents], False
    if kept and kept[-1].role == "assistant":
        last = kept.pop()
        said = attrs.evolve(last, contents=[*last.contents, Content.from_text(fallback)])
    else:
        said = Message("assistant", [fallback])
    return [*(message for message in kept if message.contents), said], True


def _without_calls(message: Message) -> Message:
    kept = [item for item in message.contents if not is_local_call(item)]
    unchanged = len(kept) == len(message.contents)
    return message if unchanged else attrs.evolve(message, contents=kept)


def is_local_call(item: Content) -> bool:
    """Say whether an item is a call for us to make, or a request about one."""
    return _is_call(item) or is_ours(item)


def is_visible(item: Content) -> bool:
    """Say whether an item is something for the reader of an answer."""
    if item.type == "text":
        return bool(item.text and item.text.strip())
    return item.type not in _SILENT


def with_pauses(
    messages: Sequence[Message], declared: set[str | None], requests: Sequence[Content]
) -> list[Message]:
    """Mark calls that the caller has to make, and put requests at the end of the last message."""
    kept = [_flagged(message, declared) for message in messages] if declared else list(messages)
    if not requests:
        return kept
    if kept and kept[-1].role == "assistant":
        kept[-1] = attrs.evolve(kept[-1], contents=[*kept[-1].contents, *requests])
        return kept
    return [*kept, Message("assistant", list(requests))]


def _flagged(message: Message, declared: set[str | None]) -> Message:
    contents = [
        as_request(item) if item.type == _CALL and item.call_id in declared else item
        for item in message.contents
    ]
    return attrs.evolve(message, contents=contents)


def as_request(call: Content) -> Content:
    """Mark a call as one that the caller has to make."""
    data = call.to_dict() | {"user_input_request": True, "id": call.id or call.call_id}
    return Content.from_dict(data)


def declared_flag(call: Content) -> Content:
    """Give the part of a call that marks it so; added to the call, it makes ``as_request`` of it."""
    return Content.from_function_call(
        call.call_id or "",
        call.name or "",
        id=call.id or call.call_id,
        user_input_request=True,
    )
