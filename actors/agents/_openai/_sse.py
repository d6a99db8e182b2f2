# Server-sent events, from bytes to events, without any waiting.
#
# Why not the decoder of the openai package? It follows the grammar, but it parses each
# event's data as JSON on the spot, and what isn't JSON escapes as a raw JSONDecodeError from
# the middle of an answer: a keep-alive with an id, a comment that a gateway sent on as data,
# an error page. Here the grammar knows nothing of what the data mean; whoever reads the
# events decides, and can say what stood there.
#
# What we owe to the caller:
#
# - The same events for every way of cutting the bytes into reads. A CR at the end of a read
#   may or may not be followed by the LF that belongs to it, and a read may end within a
#   character; both are resolved by working on whole lines of bytes and decoding those.
# - Bounded memory. A line or an event that never ends is an error, not a way to fill the
#   machine.
# - Comments, empty events and fields we have no use for (id, retry) are no events. They do
#   count as bytes, so a server that only sends keep-alives is not idle.
"""A sans-I/O parser for ``text/event-stream``."""

from __future__ import annotations

from typing import Final

import attrs

MAX_EVENT_BYTES: Final = 16 * 1024 * 1024
_BOM: Final = b"\xef\xbb\xbf"


@attrs.frozen
class ServerSentEvent:
    """One event of a stream: its data lines, joined, and its type if it named one."""

    data: str
    event: str = ""


class EventTooLargeError(ValueError):
    """A single event grew beyond the limit; the stream can't be trusted any further."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"an event of the stream is larger than {limit:,} bytes")


@attrs.define(eq=False)
class SSEParser:
    """Turns the bytes of an event stream into events, however the bytes are cut.

    Args:
        limit: how many bytes one event may have before it is an error.
    """

    limit: int = MAX_EVENT_BYTES
    _partial: bytearray = attrs.field(factory=bytearray, init=False)
    _data: list[str] = attrs.field(factory=list, init=False)
    _event: str = attrs.field(default="", init=False)
    _size: int = attrs.field(default=0, init=False)
    _after_cr: bool = attrs.field(default=False, init=False)
    _at_start: bool = attrs.field(default=True, init=False)

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Take the next bytes and return the events that they complete.

        Raises:
            EventTooLargeError: an event is larger than ``limit``.
        """
        if not chunk:
            return []
        if self._after_cr and chunk.startswith(b"\n"):
            # The other half of a CRLF whose CR ended the read before.
            chunk = chunk[1:]
        if chunk:
            self._after_cr = chunk.endswith(b"\r")
        else:
            self._after_cr = False
        # bytes.splitlines cuts at CR, LF and CRLF only, which are the three of the grammar;
        # str.splitlines would cut at a line separator within somebody's text, too.
        lines = chunk.splitlines(keepends=True)
        found = [event for line in lines if (event := self._take(line)) is not None]
        self._check_size()
        return found

    def finish(self) -> list[ServerSentEvent]:
        """Say that the stream has ended; return what an unfinished last event holds.

        The grammar drops such an event. Servers that forget the last blank line exist, and
        whoever reads can tell by the data whether it was cut.
        """
        rest, self._partial = bytes(self._partial), bytearray()
        if rest:
            self._line(rest)
        event = self._dispatch()
        return [] if event is None else [event]

    def _take(self, piece: bytes) -> ServerSentEvent | None:
        line = piece.rstrip(b"\r\n")
        self._partial += line
        if len(line) == len(piece):
            return None
        whole, self._partial = bytes(self._partial), bytearray()
        return self._line(whole)

    def _line(self, line: bytes) -> ServerSentEvent | None:
        if self._at_start:
            line = line.removeprefix(_BOM)
            self._at_start = False
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        text = value.removeprefix(b" ").decode("utf-8", errors="replace")
        if name == b"data":
            self._data.append(text)
            self._size += len(value)
        elif name == b"event":
            self._event = text
        return None

    def _dispatch(self) -> ServerSentEvent | None:
        data, event = "\n".join(self._data), self._event
        self._data, self._event, self._size = [], "", 0
        return ServerSentEvent(data, event) if data.strip() else None

    def _check_size(self) -> None:
        if self._size + len(self._partial) > self.limit:
            raise EventTooLargeError(self.limit)
