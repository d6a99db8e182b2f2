"""Joining the updates of a stream into a response.

Linear in the number of updates: parts are collected where they belong, and joined once, when
the response is built. (Joining as they come would copy the text so far for every token.)
"""

from __future__ import annotations

import functools
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import attrs
from attrs import define, evolve, field

from protocols._content._item import Content
from protocols._content._merge import Parts, is_code, merge_code
from protocols._message import Message
from protocols._usage import UsageDetails, add_usage_details

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from protocols._responses import AgentResponseUpdate, ChatResponseUpdate

#: Whose message an update is a part of.
_WHOSE: Final = attrgetter("role", "author_name", "message_id")

#: Of each, the response has the last one that an update had.
_LAST_WINS: Final = (
    "response_id",
    "created_at",
    "conversation_id",
    "model",
    "agent_id",
    "finish_reason",
)


@define(eq=False)
class Aggregate:
    """What the updates so far amount to; they may be asked for at any time, and again."""

    _drafts: list[_Draft] = field(factory=list, init=False)
    _current: _Draft | None = field(default=None, init=False)
    _last_of: dict[str, _Draft] = field(factory=dict, init=False)
    # Who has said what came last, and its fields that are the response's. Updates come by the
    # thousand and mostly differ in their text only: what is as before isn't looked at again.
    _whose: tuple[Any, ...] | None = field(default=None, init=False)
    _given: tuple[Any, ...] | None = field(default=None, init=False)
    _last: dict[str, Any] = field(factory=dict, init=False)
    _properties: dict[str, Any] = field(factory=dict, init=False)
    _raws: list[Any] = field(factory=list, init=False)
    _token: Any = field(default=None, init=False)
    _usage: UsageDetails | None = field(default=None, init=False)

    def add(self, update: ChatResponseUpdate | AgentResponseUpdate) -> None:
        """Take the next update."""
        draft = self._draft_for(update)
        for content in update.contents:
            if content.type == "text" and draft.text is not None:
                draft.text.append(content)
            elif content.type == "usage":
                self._usage = add_usage_details(self._usage, content.usage_details)
            else:
                draft.add(content)
        kind: Any = type(update)
        names, get = _shared_fields(kind)
        given = get(update)
        if given != self._given:
            self._given = given
            found = zip(names, given, strict=True)
            self._last.update({name: value for name, value in found if value is not None})
        if update.additional_properties:
            self._properties.update(update.additional_properties)
        self._raws.append(update.raw_representation)
        self._token = update.continuation_token

    def fields(self, known: Collection[str], **more: Any) -> dict[str, Any]:
        """Return the fields of the response; ``known`` are those that its class has."""
        return {
            **more,
            **{name: value for name, value in self._last.items() if name in known},
            "messages": [draft.build() for draft in self._drafts],
            "usage_details": self._usage,
            "continuation_token": self._token,
            "additional_properties": self._properties,
            "raw_representation": list(self._raws) or None,
        }

    def _draft_for(self, update: ChatResponseUpdate | AgentResponseUpdate) -> _Draft:
        draft, whose = self._current, _WHOSE(update)
        if draft is not None and whose == self._whose:
            return draft
        # (An empty role is no role, and yet another one than any.)
        self._whose = None if update.role == "" else whose
        if draft is None or draft.is_left_by(update):
            draft = self._current = self._going_on(update) or self._new_draft()
        draft.role = update.role or draft.role
        draft.author_name = update.author_name or draft.author_name
        draft.message_id = update.message_id or draft.message_id
        if draft.author_name:
            self._last_of[draft.author_name] = draft
        else:  # whatever this is, what anybody says now is said after it
            self._last_of.clear()
        return draft

    def _going_on(self, update: ChatResponseUpdate | AgentResponseUpdate) -> _Draft | None:
        # Authors who speak at the same time are heard in turn. An id alone says little: there are
        # servers that call every message the same.
        if not update.message_id or not update.author_name:
            return None
        draft = self._last_of.get(update.author_name)
        is_same = draft is not None and draft.message_id == update.message_id
        return draft if draft is not None and is_same and not draft.is_left_by(update) else None

    def _new_draft(self) -> _Draft:
        self._drafts.append(_Draft())
        return self._drafts[-1]


@define(eq=False)
class _Draft:
    """A message that is still coming in."""

    role: str | None = None
    author_name: str | None = None
    message_id: str | None = None
    items: list[Parts] = field(factory=list)
    calls: dict[str, Parts] = field(factory=dict)
    code: dict[tuple[str, str | None], Parts] = field(factory=dict)
    current_call: Parts | None = None
    # The parts of the last item, if that is a text, which any further text goes on with.
    text: list[Content] | None = None

    def is_left_by(self, update: ChatResponseUpdate | AgentResponseUpdate) -> bool:
        """Say whether the update belongs to another message than this."""
        return (
            _differ(self.message_id, update.message_id)
            or (update.role is not None and update.role != (self.role or "assistant"))
            or _differ(self.author_name, update.author_name)
        )

    def add(self, content: Content) -> None:
        """Put a part where it belongs."""
        self.text = None
        if content.type == "function_call":
            self._add_call(content)
        else:
            self.current_call = None
            place = self._place_for(content)
            place.append(content)
            if content.type == "text":
                self.text = place.contents

    def _add_call(self, part: Content) -> None:
        # Parts of parallel calls may alternate, so the id decides. A part without an id goes
        # on with the call that was spoken of last.
        call = self.calls.get(part.call_id) if part.call_id else self.current_call
        if call is None or call.refusal(part) is not None:
            call = self._new_item()
        call.append(evolve(part, arguments=None) if _repeats(call, part) else part)
        self.current_call = call
        if part.call_id:
            self.calls[part.call_id] = call

    def _place_for(self, content: Content) -> Parts:
        if is_code(content):
            key = (content.type, content.call_id)
            if key not in self.code:
                self.code[key] = self._new_item()
            return self.code[key]
        last = self.items[-1] if self.items else None
        joins = (
            last is not None
            and content.type in {"text", "text_reasoning"}
            and last.contents[0].type == content.type
            and last.refusal(content) is None
        )
        return last if joins and last is not None else self._new_item()

    def _new_item(self) -> Parts:
        self.items.append(Parts())
        return self.items[-1]

    def build(self) -> Message:
        """Make the message of what has come so far."""
        return Message(
            self.role or "assistant",
            [_built(parts) for parts in self.items],
            author_name=self.author_name,
            message_id=self.message_id,
        )


@functools.cache
def _shared_fields(
    kind: type[Any],
) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """Return the fields of an update that are the response's, and what reads them all at once."""
    names = tuple(name for name in _LAST_WINS if hasattr(kind, name))
    # Of a class of another make nobody knows which of them its objects have.
    is_known = attrs.has(kind) and all(each.name in dir(kind) for each in attrs.fields(kind))
    if not is_known or len(names) < 2:  # noqa: PLR2004 (of one alone, it gives no tuple)
        return _LAST_WINS, lambda one: tuple(getattr(one, name, None) for name in _LAST_WINS)
    return names, attrgetter(*names)


def _repeats(call: Parts, part: Content) -> bool:
    """Say whether this is no further part, but the whole call shown to a person."""
    if not part.user_input_request or call.arguments_kind != "text":
        return False
    return part.arguments == call.merged().arguments


def _built(parts: Parts) -> Content:
    return merge_code(parts.contents) if is_code(parts.contents[0]) else parts.merged()


def _differ(known: str | None, given: str | None) -> bool:
    return bool(known) and bool(given) and known != given
