# Endpoints refuse a request in which a tool call has no result right behind it, or a result no
# call. Histories come to be like that in many ways: they were trimmed, shared between agents,
# cut off by a cancellation, merged from two runs. Whoever made it so can't be asked any more, and
# a conversation that every endpoint refuses for ever is lost. So the last thing that happens to
# the messages before they are written for the wire is that they are put right:
#
# - a result moves right behind the message of its call;
# - a result without a call is left out, and so is a second result of one call;
# - a call without a result gets one that says that it isn't known;
# - of a call that stands twice, word for word, and has one result, one is left; any other call
#   that uses an id again gets a new id, together with its result.
#
# What is right already isn't touched: then the very same objects come back.
"""The last repair of a conversation before it is sent: each tool call with exactly one result."""

from __future__ import annotations

import logging
from collections import Counter, deque
from typing import TYPE_CHECKING, Final

import attrs

from protocols._content._item import Content
from protocols._message import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

UNKNOWN_RESULT: Final = "the result of this call is not known: it was interrupted or is lost"

_LOG: Final = logging.getLogger("actors.agents.openai")


def paired(messages: Sequence[Message]) -> Sequence[Message]:
    """Put right which results stand behind which calls; linear in the number of contents.

    Args:
        messages: a conversation, oldest first.

    Returns:
        The same messages if they are right; else new ones, and the log says what was changed.
    """
    messages = _without_told(messages)
    if is_paired(messages):
        return messages
    repair = _Repair(messages)
    found = repair.run()
    _LOG.warning("a conversation was put right before it was sent: %s", repair.summary())
    return found


def is_paired(messages: Iterable[Message]) -> bool:
    """Say whether each call has one result, right behind the message of its call."""
    open_ids: set[str] = set()
    seen: set[str] = set()
    for message in messages:
        calls = calls_of(message)
        results = [c.call_id or "" for c in message.contents if c.type == "function_result"]
        if open_ids and len(results) < len(message.contents):
            return False  # something stands between a call and its result
        for call in calls:
            call_id = call.call_id or ""
            if call_id in seen:
                return False
            seen.add(call_id)
            open_ids.add(call_id)
        for call_id in results:
            if call_id not in open_ids:
                return False
            open_ids.remove(call_id)
    return not open_ids


def calls_of(message: Message) -> list[Content]:
    """The calls of a message that an endpoint gets to see."""
    if str(message.role) != "assistant":
        return []
    return [c for c in message.contents if c.type == "function_call" and not c.informational_only]


def _without_told(messages: Sequence[Message]) -> Sequence[Message]:
    """Leave out results of calls that were only told of: those calls aren't sent either."""
    told = {
        c.call_id for m in messages for c in m.contents if c.type == "function_call"
        if c.informational_only
    }  # fmt: skip
    if not told:
        return messages

    def stays(content: Content) -> bool:
        return content.type != "function_result" or content.call_id not in told

    return [attrs.evolve(m, contents=[c for c in m.contents if stays(c)]) for m in messages]


class _Repair:
    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._results: dict[str, deque[Content]] = {}
        self._known: dict[str, Content] = {}  # calls by the id that they are sent with
        self._did: Counter[str] = Counter()
        for message in messages:
            for content in message.contents:
                if content.type == "function_result":
                    self._results.setdefault(content.call_id or "", deque()).append(content)

    def run(self) -> list[Message]:
        found: list[Message] = []
        for message in self._messages:
            kept, results = self._without_results(message)
            if kept.contents or not message.contents:
                found.append(kept)
            if results:
                found.append(Message("tool", results))
        self._did["results without a call left out"] = sum(map(len, self._results.values()))
        return found

    def summary(self) -> str:
        """What was done, in words."""
        done = [f"{count} {what}" for what, count in sorted(self._did.items()) if count]
        return ", ".join(done) or "results moved behind their calls"

    def _without_results(self, message: Message) -> tuple[Message, list[Content]]:
        """A message without results, with calls by their final ids; and these calls' results."""
        calls = {id(call) for call in calls_of(message)}
        contents: list[Content] = []
        results: list[Content] = []
        for content in message.contents:
            if content.type == "function_result":
                continue
            if id(content) not in calls:
                contents.append(content)
            elif (pair := self._pair(content)) is not None:
                contents.append(pair[0])
                results.append(pair[1])
        if len(contents) == len(message.contents) and all(
            a is b for a, b in zip(contents, message.contents, strict=True)
        ):
            return message, results
        return attrs.evolve(message, contents=contents), results

    def _pair(self, call: Content) -> tuple[Content, Content] | None:
        """The call and its result under a free id; None for one that stands there already."""
        call_id = call.call_id or ""
        waiting = self._results.get(call_id)
        result = waiting.popleft() if waiting else None
        earlier = self._known.get(call_id)
        if earlier is not None and result is None and _same(earlier, call):
            self._did["repeated calls left out"] += 1
            return None
        free = self._free(call_id)
        self._known[free] = call
        if free != call_id:
            self._did["calls given an id of their own"] += 1
            call = _renamed(call, free)
        if result is None:
            self._did["results that are not known added"] += 1
            result = Content.from_function_result(free, result=None, exception=UNKNOWN_RESULT)
        elif free != call_id:
            result = _renamed(result, free)
        return call, result

    def _free(self, call_id: str) -> str:
        wanted = free = call_id or "call"
        number = 1
        while free in self._known:
            number += 1
            free = f"{wanted}_{number}"
        return free


def _same(one: Content, other: Content) -> bool:
    return (one.name, one.arguments) == (other.name, other.arguments)


def _renamed(content: Content, call_id: str) -> Content:
    # By attrs, and not through __init__: a content's rarer fields stand in one mapping.
    return attrs.evolve(content, call_id=call_id)
