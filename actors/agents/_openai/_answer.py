# An endpoint that was asked for a stream answers with one of these, all under HTTP 200:
# an event stream; a JSON document, which is an error or the whole answer of an endpoint that
# ignores ``stream``; an HTML page of something in between; nothing. The content type is no
# guide: gateways get it wrong both ways. The first byte that isn't blank is one, since no line
# of an event stream begins with "{", "[" or "<".
#
# An answer is complete when the endpoint says so: by ``[DONE]``, or by a finish reason for every
# choice. Anything that happens to the connection after that costs at most the usage. Anything
# that ends it before is an error, also where the stream ends in good order, since half an answer
# that looks like a whole one is worse than none.
"""Reading the body of an answer, in pieces or whole; no I/O."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Protocol

from actors.agents._openai._errors import cut_off, error_from_body, unreadable
from actors.agents._openai._sse import EventTooLargeError, ServerSentEvent, SSEParser
from protocols._model_errors import ModelError, ModelResponseError, ModelServerError
from protocols._responses import ChatResponse, ChatResponseUpdate

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_DOCUMENT_BYTES: Final = 64 * 1024 * 1024
_HEAD_BYTES: Final = 2048


class AnswerReader(Protocol):
    """Reads the answers of one API: a stream's events one by one, or a whole document."""

    @property
    def finished(self) -> bool:
        """Whether the model has said that its answer is complete."""
        ...

    @property
    def is_last(self) -> bool:
        """Whether nothing of use follows, although the stream may not have ended."""
        ...

    @property
    def received(self) -> str:
        """In words, what has come so far."""
        ...

    def read(self, chunk: object, raw: str = "") -> list[ChatResponseUpdate]:
        """Take one parsed event and give the updates that it makes.

        Raises:
            ModelError: it is an error.
        """
        ...

    def read_whole(self, wire: object, raw: bytes) -> list[ChatResponseUpdate]:
        """Take a whole answer where a stream was asked for.

        Raises:
            ModelError: it is an error, or no answer at all.
        """
        ...

    def end(self) -> list[ChatResponseUpdate]:
        """Say that the stream is complete; give what was held back for the end."""
        ...

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
        ...


class StreamedAnswer:
    """Turns the bytes of one answer into updates, whatever the endpoint made of the request.

    Args:
        reader: reads the events of the endpoint's API.
        endpoint: what to call the endpoint in an error.
        headers: the answer's headers, their names in lower case.
    """

    def __init__(
        self, reader: AnswerReader, *, endpoint: str, headers: Mapping[str, str] | None = None
    ) -> None:
        self._endpoint = endpoint
        self._headers = headers or {}
        self._parser = SSEParser()
        self._chunks = reader
        self._head = b""
        self._document: bytearray | None = None
        self._any_event = False
        self._failure: ModelError | None = None
        self.done = False
        """Whether the endpoint said that there is no more."""

    def feed(self, data: bytes) -> list[ChatResponseUpdate]:
        """Take the next bytes of the body and give the updates that they complete.

        Raises:
            ModelError: they are an error of the endpoint's, or nothing that can be read.
        """
        self.check()
        if len(self._head) < _HEAD_BYTES:
            # Blanks are keep-alives of endpoints that think long; they don't use the head up.
            self._head = (self._head + data).lstrip()[:_HEAD_BYTES]
        if self._document is None and not self._any_event and _is_document(self._head):
            self._document = bytearray()
        if self._document is None:
            return self._events(data)
        self._document += data
        if len(self._document) > MAX_DOCUMENT_BYTES:
            raise unreadable("an endless document", self._head, endpoint=self._endpoint)
        return []

    def check(self) -> None:
        """Raise the error that came right behind the updates that were given last.

        Raises:
            ModelError: as ``feed`` raises it.
        """
        if self._failure is not None:
            raise self._failure

    def end(self, cause: ModelError | None = None) -> list[ChatResponseUpdate]:
        """Say that the body has ended, or how it broke; give the last updates.

        Raises:
            ModelError: the answer is incomplete, or was no answer.
        """
        self.check()
        if self._document is not None and cause is None:
            updates = self._whole(bytes(self._document))
        else:
            updates = self._last_events()
        if self.done or self._chunks.finished:
            return updates + self._chunks.end()
        if isinstance(cause, ModelResponseError):
            raise cause
        if cause is None and not self._any_event:
            raise no_answer(self._head, endpoint=self._endpoint)
        raise cut_off(self._chunks.received, endpoint=self._endpoint, cause=cause)

    def _events(self, data: bytes) -> list[ChatResponseUpdate]:
        try:
            events = self._parser.feed(data)
        except EventTooLargeError as error:
            raise unreadable(str(error), self._head, endpoint=self._endpoint) from error
        found: list[ChatResponseUpdate] = []
        for event in events:
            try:
                found += self._event(event)
            except ModelError as error:
                if not found:
                    raise
                # What came before the error is delivered first, however the bytes were cut.
                self._failure = error
                break
        return found

    def _event(self, event: ServerSentEvent) -> list[ChatResponseUpdate]:
        data = event.data.strip()
        # A gateway that sends on another's stream makes data of its comments.
        if self.done or data.startswith(":"):
            return []
        self._any_event = True
        if data.startswith("[DONE]"):
            self.done = True
            return []
        chunk = _loaded(data)
        if chunk is _NO_JSON:
            raise unreadable("a chunk that is no JSON", data, endpoint=self._endpoint)
        updates = self._chunks.read(chunk, data)
        self.done = self._chunks.is_last
        if event.event == "error":
            raise ModelServerError(f"{self._endpoint} failed: {data[:300]}", retryable=True)
        return updates

    def _last_events(self) -> list[ChatResponseUpdate]:
        """What an unfinished last event holds; cut in the middle, it says less than the cut."""
        events = self._parser.finish()
        if self.done or (events and _loaded(events[0].data.strip()) is _NO_JSON):
            events = [e for e in events if e.data.strip().startswith("[DONE]")]
        return [update for event in events for update in self._event(event)]

    def _whole(self, body: bytes) -> list[ChatResponseUpdate]:
        wire = _loaded(body)
        if wire is _NO_JSON:
            raise no_answer(body, endpoint=self._endpoint)
        error = error_from_body(wire, endpoint=self._endpoint, raw=body, headers=self._headers)
        if error is not None:
            raise error
        updates = self._chunks.read_whole(wire, body)
        self.done = True
        return updates


def whole_answer(
    body: bytes,
    reader: AnswerReader,
    *,
    endpoint: str,
    response_format: Any = None,
    headers: Mapping[str, str] | None = None,
) -> ChatResponse:
    """Read the body of an answer that was to come in one piece.

    Args:
        body: all of it.
        reader: reads the answers of the endpoint's API.
        endpoint: what to call the endpoint in an error.
        response_format: what ``value`` is to be parsed as.
        headers: the answer's headers, their names in lower case.

    Raises:
        ModelError: it is an error of the endpoint's, or no answer.
    """
    if body.lstrip().startswith((b"data:", b"event:", b":")):
        # Some endpoints only know how to stream.
        answer = StreamedAnswer(reader, endpoint=endpoint, headers=headers)
        updates = answer.feed(body) + answer.end()
        return ChatResponse.from_updates(updates, output_format_type=response_format)
    wire = _loaded(body)
    if wire is _NO_JSON:
        raise no_answer(body, endpoint=endpoint)
    return reader.response(wire, response_format=response_format, raw=body, headers=headers)


def no_answer(body: bytes, *, endpoint: str) -> ModelError:
    """The error for a body that is empty or no JSON."""
    start = body.lstrip()[:1]
    if not start:
        # What a gateway gives whose upstream went away; it may be back the next time.
        return unreadable("an empty body", b"", endpoint=endpoint, retryable=True)
    what = {b"<": "an HTML page", b"{": "broken JSON", b"[": "broken JSON"}.get(start, "text")
    return unreadable(what, body, endpoint=endpoint)


def _is_document(head: bytes) -> bool:
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in {b"{", b"[", b"<"}


_NO_JSON: Final = object()


def _loaded(text: bytes | str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _NO_JSON
