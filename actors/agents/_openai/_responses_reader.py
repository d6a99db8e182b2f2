# An answer of this API is a list of items, and a stream of it tells of each item three times: as
# it begins, in deltas, and whole at its end; the last event has all of them once more. Who
# implements the API leaves out one or the other. So a delta counts when it comes, and what is
# told whole counts only if nothing of it came before: at the item's own end, else at the
# response's end.
#
# A response says how it ended, which may be badly, under HTTP 200. A failed one is an error and
# never an empty answer.
"""Reading answers of the Responses API, streamed or whole; no I/O."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from actors.agents._openai._calls import CallSlots
from actors.agents._openai._errors import error_from_body, unreadable
from actors.agents._openai._parts import created_at, text_or_none, usage_from_wire, wire_id
from actors.agents._openai._responses_items import (
    annotation_of,
    call_of,
    contents_of,
    image_of,
    reasoning_of,
)
from actors.agents._openai._responses_request import CONTINUED
from protocols._content._item import Content
from protocols._message import Message
from protocols._model_errors import ModelServerError
from protocols._responses import ChatResponse, ChatResponseUpdate

Event = Mapping[str, Any]
_ENDS: Final = frozenset({"completed", "incomplete", "failed", "cancelled"})
_UNFINISHED: Final = frozenset({"queued", "in_progress"})


class ResponsesReader:
    """Turns one answer into updates or into a response.

    Args:
        endpoint: what to call the endpoint in an error.
        taken: the call ids that the request already spoke of.
        is_stored: whether the service keeps the conversation, so that its id is of use.
    """

    def __init__(
        self, *, endpoint: str, taken: Iterable[str] = (), is_stored: bool = True
    ) -> None:
        self._endpoint = endpoint
        self._calls = CallSlots(set(taken))
        self._is_stored = is_stored
        self._response: Event = {}
        self._items: dict[int, Event] = {}
        self._told: dict[int, set[str]] = {}  # per item, what deltas have told of it
        self._events = 0
        self._characters = 0
        self.finished = False

    @property
    def is_last(self) -> bool:
        """Whether the event was the last one; the API says so by itself."""
        return self.finished

    @property
    def received(self) -> str:
        """In words, what has come so far."""
        if not self._events:
            return "nothing"
        return f"{self._events} events with {self._characters} characters of text"

    # ------------------------------------------------------------------ a whole answer

    def response(
        self,
        wire: object,
        *,
        response_format: Any = None,
        raw: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> ChatResponse:
        """Read a whole answer.

        Raises:
            ModelError: it is an error, says that the model failed, or is no answer at all.
        """
        found = self._checked(wire, raw, headers)
        contents = [c for n, item in _numbered(found) for c in contents_of(item, n, self._calls)]
        return ChatResponse(
            messages=[Message("assistant", contents, raw_representation=found)],
            response_id=wire_id(found),
            conversation_id=self._conversation_id(found),
            model=text_or_none(found.get("model")),
            created_at=created_at(found.get("created_at")),
            finish_reason=_finish_reason(found, len(self._calls)),
            usage_details=usage_of(found.get("usage")) or None,
            # A whole answer that isn't finished is made in the background, said or not.
            continuation_token=_token({**found, "background": True}),
            raw_representation=found,
            response_format=response_format,
        )

    def read_whole(self, wire: object, raw: bytes) -> list[ChatResponseUpdate]:
        """Take a whole answer where a stream was asked for.

        Raises:
            ModelError: it is an error, or no answer at all.
        """
        return self._end_of({"response": self._checked(wire, raw, None)})

    def _checked(self, wire: object, raw: bytes, headers: Mapping[str, str] | None) -> Event:
        error = error_from_body(wire, endpoint=self._endpoint, raw=raw, headers=headers)
        if error is not None:
            raise error
        if not isinstance(wire, Mapping) or not isinstance(wire.get("output"), list):
            what = "no output" if isinstance(wire, Mapping) else "JSON of another shape"
            raise unreadable(what, raw or json.dumps(wire, default=str), endpoint=self._endpoint)
        self._fail_if_failed(wire)
        return wire

    # ------------------------------------------------------------------ a stream

    def read(self, chunk: object, raw: str = "") -> list[ChatResponseUpdate]:
        """Take one event and give the updates that it makes, mostly one or none.

        Raises:
            ModelError: it is an error, or says that the model failed.
        """
        if not isinstance(chunk, Mapping):
            raise unreadable("an event that is no object", raw, endpoint=self._endpoint)
        kind = str(chunk.get("type"))
        if kind == "error" or "error" in chunk:
            detail = chunk.get("error") or {k: chunk.get(k) for k in ("code", "message", "param")}
            self._raise({"error": detail}, raw)
        self._events += 1
        take = _TAKERS.get(kind)
        if take is None:
            return []
        return take(self, chunk)

    def end(self) -> list[ChatResponseUpdate]:
        """Say that the stream is complete; nothing is held back."""
        return []

    def _begun(self, event: Event) -> list[ChatResponseUpdate]:
        self._note(event)
        token = _token(self._response)
        # An update that says nothing would count as delivered, and forbid another try.
        return [self._update((), raw=event, continuation_token=token)] if token else []

    def _note(self, event: Event) -> None:
        response = event.get("response")
        if isinstance(response, Mapping):
            self._response = {**self._response, **response}

    def _item_begun(self, event: Event) -> list[ChatResponseUpdate]:
        index, item = self._place(event)
        self._items[index] = item
        if item.get("type") != "function_call":
            return []
        return self._updates(self._calls.take([call_of(item, index, "")]), event)

    def _item_ended(self, event: Event) -> list[ChatResponseUpdate]:
        index, item = self._place(event)
        return self._updates(self._rest_of(index, item), event)

    def _rest_of(self, index: int, item: Event) -> list[Content]:
        """What no delta has told of an item that is told whole now."""
        told = self._told.setdefault(index, set())
        if "all" in told:
            return []
        told.add("all")
        match item.get("type"):
            case "function_call" if "arguments" in told:
                return []
            case "message" if "text" in told:
                return []
            case "reasoning" if "text" in told:
                sealed = reasoning_of(item, None)
                return [sealed] if sealed.protected_data else []
        return contents_of(item, index, self._calls)

    def _text(self, event: Event) -> list[ChatResponseUpdate]:
        text = _str(event.get("delta"))
        self._characters += len(text)
        self._tell(event, "text")
        return self._updates([Content.from_text(text)] if text else [], event)

    def _annotation(self, event: Event) -> list[ChatResponseUpdate]:
        wire = event.get("annotation")
        if not isinstance(wire, Mapping):
            return []
        return self._updates([Content.from_text("", annotations=[annotation_of(wire)])], event)

    def _thought(self, event: Event) -> list[ChatResponseUpdate]:
        text = _str(event.get("delta"))
        self._tell(event, "text")
        found = Content.from_text_reasoning(id=text_or_none(event.get("item_id")), text=text)
        return self._updates([found] if text else [], event)

    def _whole_thought(self, event: Event) -> list[ChatResponseUpdate]:
        if "text" in self._told.get(_index(event), ()):
            return []
        return self._thought({**event, "delta": event.get("text")})

    def _arguments(self, event: Event) -> list[ChatResponseUpdate]:
        return self._call_part(event, _str(event.get("delta")))

    def _whole_arguments(self, event: Event) -> list[ChatResponseUpdate]:
        if "arguments" in self._told.get(_index(event), ()):
            return []
        return self._call_part(event, _str(event.get("arguments")))

    def _call_part(self, event: Event, arguments: str) -> list[ChatResponseUpdate]:
        index = self._tell(event, "arguments")
        item = self._items.get(index) or {"id": event.get("item_id"), "name": event.get("name")}
        return self._updates(self._calls.take([call_of(item, index, arguments)]), event)

    def _sketch(self, event: Event) -> list[ChatResponseUpdate]:
        data = _str(event.get("partial_image_b64"))
        place = event.get("partial_image_index")
        marks = {"partial_image_index": place, "is_partial_image": True}
        found = [image_of(_str(event.get("item_id")), data, **marks)] if data else []
        return self._updates(found, event)

    def _end_of(self, event: Event) -> list[ChatResponseUpdate]:
        self._note(event)
        self._fail_if_failed(self._response)
        rest = [c for n, item in _numbered(self._response) for c in self._rest_of(n, item)]
        self.finished = True
        usage = usage_of(self._response.get("usage"))
        contents = rest + ([Content.from_usage(usage)] if usage else [])
        reason = _finish_reason(self._response, len(self._calls))
        token = _token(self._response)
        return [self._update(contents, raw=event, finish_reason=reason, continuation_token=token)]

    # ------------------------------------------------------------------ helpers

    def _place(self, event: Event) -> tuple[int, Event]:
        item = event.get("item")
        return _index(event), item if isinstance(item, Mapping) else {}

    def _tell(self, event: Event, what: str) -> int:
        index = _index(event)
        self._told.setdefault(index, set()).add(what)
        return index

    def _updates(self, contents: list[Content], event: Event) -> list[ChatResponseUpdate]:
        return [self._update(contents, raw=event)] if contents else []

    def _update(self, contents: Iterable[Content], *, raw: Event, **fields: Any) -> Any:
        response_id = wire_id(self._response)
        return ChatResponseUpdate(
            contents=list(contents),
            role="assistant",
            response_id=response_id,
            message_id=response_id,
            conversation_id=self._conversation_id(self._response),
            model=text_or_none(self._response.get("model")),
            created_at=created_at(self._response.get("created_at")),
            raw_representation=raw,
            **fields,
        )

    def _conversation_id(self, response: Event) -> str | None:
        if not self._is_stored or response.get("store") is False:
            return None
        conversation = response.get("conversation")
        if isinstance(conversation, Mapping) and conversation.get("id"):
            return str(conversation["id"])
        return wire_id(response)

    def _fail_if_failed(self, response: Event) -> None:
        if response.get("status") == "failed":
            self._raise(response, json.dumps(response, default=str))

    def _raise(self, body: Event, raw: str) -> None:
        found = error_from_body(body, endpoint=self._endpoint, raw=raw)
        raise found or ModelServerError(
            f"{self._endpoint} failed while the model was answering, and doesn't say why",
            retryable=True,
        )


def usage_of(wire: object) -> dict[str, int]:
    """The counts of a usage object of this API, under the names of both."""
    if not isinstance(wire, Mapping):
        return {}
    return usage_from_wire(
        {
            "prompt_tokens": wire.get("input_tokens"),
            "completion_tokens": wire.get("output_tokens"),
            "total_tokens": wire.get("total_tokens"),
            "prompt_tokens_details": wire.get("input_tokens_details"),
            "completion_tokens_details": wire.get("output_tokens_details"),
        }
    )


def _finish_reason(response: Event, calls: int) -> str | None:
    status = response.get("status")
    if status == "incomplete":
        details = response.get("incomplete_details")
        why = details.get("reason") if isinstance(details, Mapping) else None
        return "content_filter" if why == "content_filter" else "length"
    if status not in {"completed", None}:
        return None
    return "tool_calls" if calls else "stop"


def _token(response: Event) -> dict[str, Any] | None:
    """What asks for the rest of a response that is made in the background."""
    if not response.get("background") or response.get("status") not in _UNFINISHED:
        return None
    return {CONTINUED: wire_id(response)}


def _numbered(response: Event) -> list[tuple[int, Event]]:
    output = response.get("output")
    items = output if isinstance(output, list) else []
    return [(n, item) for n, item in enumerate(items) if isinstance(item, Mapping)]


def _index(event: Event) -> int:
    index = event.get("output_index")
    return index if isinstance(index, int) else 0


def _str(value: object) -> str:
    return value if isinstance(value, str) else ""


_Taker = Callable[[ResponsesReader, Event], list[ChatResponseUpdate]]
_TAKERS: Final[dict[str, _Taker]] = {
    "response.created": ResponsesReader._begun,  # noqa: SLF001  (a table of that class's methods)
    "response.in_progress": ResponsesReader._begun,  # noqa: SLF001
    "response.queued": ResponsesReader._begun,  # noqa: SLF001
    "response.output_item.added": ResponsesReader._item_begun,  # noqa: SLF001
    "response.output_item.done": ResponsesReader._item_ended,  # noqa: SLF001
    "response.output_text.delta": ResponsesReader._text,  # noqa: SLF001
    "response.refusal.delta": ResponsesReader._text,  # noqa: SLF001
    "response.output_text.annotation.added": ResponsesReader._annotation,  # noqa: SLF001
    "response.reasoning_text.delta": ResponsesReader._thought,  # noqa: SLF001
    "response.reasoning_text.done": ResponsesReader._whole_thought,  # noqa: SLF001
    "response.reasoning_summary_text.delta": ResponsesReader._thought,  # noqa: SLF001
    "response.reasoning_summary_text.done": ResponsesReader._whole_thought,  # noqa: SLF001
    "response.function_call_arguments.delta": ResponsesReader._arguments,  # noqa: SLF001
    "response.function_call_arguments.done": ResponsesReader._whole_arguments,  # noqa: SLF001
    "response.image_generation_call.partial_image": ResponsesReader._sketch,  # noqa: SLF001
    **{f"response.{end}": ResponsesReader._end_of for end in _ENDS},  # noqa: SLF001
}
