"""From the chunks of a streamed answer to updates; no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from actors.agents._openai._calls import CallSlots
from actors.agents._openai._errors import error_from_body, unreadable
from actors.agents._openai._parsing_hooks import OpenAIChatResponseContentsParser, parsed
from actors.agents._openai._parts import (
    EMPTY_RESPONSE,
    contents_from_wire,
    created_at,
    fail_on_error_choice,
    map_finish_reason,
    merge_reasoning_details,
    sealed_reasoning,
    text_or_none,
    usage_from_wire,
    wire_id,
)
from actors.agents._openai._response import response_from_wire
from protocols._content._item import Content
from protocols._responses import ChatResponse, ChatResponseUpdate


@attrs.define(eq=False)
class _Choice:
    """What has to be remembered of one choice between its chunks."""

    calls: CallSlots
    reasoning: list[dict[str, Any]] = attrs.field(factory=list)
    finished: bool = False


class ChunkReader:
    """Turns the chunks of one streamed answer into updates.

    Updates of the first choice come out at once; those of further choices (``n > 1``) after
    the first one's, because chunks of different choices are interleaved and an aggregate of
    them would mix their texts. Usage contents are increments: their sum is the last count that
    the endpoint gave, however often it counted.

    Args:
        endpoint: what to call the endpoint in an error.
        taken: the call ids that the request already spoke of.
        parser: has the last word on what a message or delta holds.
    """

    def __init__(
        self,
        *,
        endpoint: str,
        taken: Iterable[str] = (),
        parser: OpenAIChatResponseContentsParser | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._parser = parser
        self._taken = set(taken)
        self._choices: dict[int, _Choice] = {}
        self._later: dict[int, list[ChatResponseUpdate]] = {}
        self._usage: dict[str, int] = {}
        self._id: str | None = None
        self._model: str | None = None
        self._created_at: str | None = None
        self._characters = 0
        self._chunks = 0

    @property
    def finished(self) -> bool:
        """Whether every choice that began has said why it ended."""
        return bool(self._choices) and all(c.finished for c in self._choices.values())

    is_last = False
    """The API says ``[DONE]`` at the end."""

    @property
    def received(self) -> str:
        """In words, what has come so far."""
        if not self._chunks:
            return "nothing"
        calls = (
            f" and {n} tool calls"
            if (n := sum(len(c.calls) for c in self._choices.values()))
            else ""
        )
        return f"{self._chunks} chunks with {self._characters} characters of text{calls}"

    def read(self, chunk: object, raw: str = "") -> list[ChatResponseUpdate]:
        """Take one parsed chunk and give the updates that it makes, mostly one or none.

        Raises:
            ModelError: the chunk is an error, or says that the model's answer is one.
        """
        error = error_from_body(chunk, endpoint=self._endpoint, raw=raw)
        if error is not None:
            raise error
        if not isinstance(chunk, Mapping):
            raise unreadable("a chunk that is no object", raw, endpoint=self._endpoint)
        self._chunks += 1
        self._note(chunk)
        given = chunk.get("choices")
        choices = [c for c in given if isinstance(c, Mapping)] if isinstance(given, list) else []
        fail_on_error_choice(choices, endpoint=self._endpoint)
        updates = [u for c in choices if (u := self._choice(c, chunk)) is not None]
        usage = self._used(chunk.get("usage"))
        if usage is not None:
            updates.append(self._update([usage], raw=chunk))
        return updates

    def read_whole(self, wire: object, raw: bytes) -> list[ChatResponseUpdate]:
        """Take a whole answer where a stream was asked for.

        Raises:
            ModelError: it is an error, or no answer at all.
        """
        if not isinstance(wire, Mapping) or not isinstance(wire.get("choices"), list):
            raise unreadable("no choices", raw, endpoint=self._endpoint)
        return self.read(wire)

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
            ModelError: it is an error, or no answer at all.
        """
        return response_from_wire(
            wire,
            endpoint=self._endpoint,
            taken=self._taken,
            response_format=response_format,
            raw=raw,
            headers=headers,
            parser=self._parser,
        )

    def end(self) -> list[ChatResponseUpdate]:
        """Say that the stream is complete; give what was held back for the end."""
        updates = [u for _, held in sorted(self._later.items()) for u in held]
        for index, choice in sorted(self._choices.items()):
            if choice.reasoning:
                updates.append(self._update([sealed_reasoning(choice.reasoning)], index))
        if not self._choices:
            updates.append(self._update([], properties={EMPTY_RESPONSE: True}))
        return updates

    def _note(self, chunk: Mapping[str, Any]) -> None:
        # The first id stays: a few endpoints give every chunk another one, and an aggregate
        # would make each of them a message.
        self._id = self._id or wire_id(chunk)
        self._model = text_or_none(chunk.get("model")) or self._model
        self._created_at = self._created_at or created_at(chunk.get("created"))

    def _choice(
        self, wire: Mapping[str, Any], chunk: Mapping[str, Any]
    ) -> ChatResponseUpdate | None:
        index = wire["index"] if isinstance(wire.get("index"), int) else 0
        if index not in self._choices:
            self._choices[index] = _Choice(CallSlots(self._taken, self._id or ""))
        choice = self._choices[index]
        # An endpoint that ignores stream=true sends the whole message in place of a delta.
        delta = wire.get("delta") or wire.get("message")
        contents = self._contents(delta, choice) if isinstance(delta, Mapping) else []
        reason, properties = map_finish_reason(wire.get("finish_reason"))
        if reason is not None:
            repeated, choice.finished = choice.finished, True
            choice.calls.done = True
            reason = None if repeated or index else reason
        if not contents and reason is None and not properties:
            return None
        update = self._update(contents, index, reason, properties, chunk)
        if index == 0:
            return update
        self._later.setdefault(index, []).append(update)
        return None

    def _contents(self, delta: Mapping[str, Any], choice: _Choice) -> list[Content]:
        contents = contents_from_wire(delta, choice.calls)
        self._characters += sum(len(c.text or "") for c in contents if c.type == "text")
        merge_reasoning_details(choice.reasoning, delta.get("reasoning_details"))
        return parsed(self._parser, delta, contents)

    def _used(self, usage: object) -> Content | None:
        counts = usage_from_wire(usage)
        added = {k: n - self._usage.get(k, 0) for k, n in counts.items()}
        added = {k: n for k, n in added.items() if n or k not in self._usage}
        self._usage |= counts
        return Content.from_usage(added) if added else None

    def _update(
        self,
        contents: list[Content],
        index: int = 0,
        reason: str | None = None,
        properties: Mapping[str, Any] | None = None,
        raw: object = None,
    ) -> ChatResponseUpdate:
        return ChatResponseUpdate(
            contents=contents,
            role="assistant",
            response_id=self._id,
            message_id=self._id if not index else f"{self._id or 'choice'}#{index}",
            model=self._model,
            created_at=self._created_at,
            finish_reason=reason,
            additional_properties=dict(properties or {}),
            raw_representation=raw,
        )
