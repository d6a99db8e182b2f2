# A server that misbehaves on demand, over real HTTP on the loopback interface.
#
# Real, because what it is for can't be seen from inside: whether a connection is closed, whether
# half an answer is taken for a whole one, what a client does with bytes that come in the wrong
# pieces. Its HTTP is the little that such a server needs, so that it can break each rule of it.
"""A scripted fake of a Chat Completions endpoint."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import attrs
import trio

from actors.testing._fake_replies import Close, Pause, Reply, Send, Stall, Step, fails, says
from actors.testing._strict import problems

_REASONS: Final = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 429: "Too Many Requests"}


@attrs.frozen
class FakeRequest:
    """What a client sent: path, headers by lower-case names, and the parsed JSON body."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


@attrs.define(eq=False)
class FakeOpenAI:
    """The server while it runs; see :func:`open_fake_openai`."""

    port: int
    script: list[Reply]
    default: Reply
    strict: bool = True
    requests: list[FakeRequest] = attrs.field(factory=list)
    """Every request, in order."""
    disconnects: int = 0
    """How many clients left before their answer was complete."""
    pieces_sent: int = 0
    """How many pieces of answers have gone out."""
    connections: int = 0
    """How many connections were ever opened."""
    _open: set[trio.SocketStream] = attrs.field(factory=set, init=False)
    _changed: trio.Event = attrs.field(factory=trio.Event, init=False)

    @property
    def base_url(self) -> str:
        """What to give to a client."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def open_connections(self) -> int:
        """How many connections no end has closed, at this very moment.

        It asks the sockets, so a client's close counts before any task of the server has run.
        """
        return sum(not _is_closed_by_peer(stream) for stream in self._open)

    def add(self, *replies: Reply) -> None:
        """Append to what the next requests are answered with."""
        self.script.extend(replies)

    async def wait_requests(self, count: int) -> None:
        """Wait until that many requests have come."""
        await self._wait(lambda: len(self.requests) >= count)

    async def wait_disconnects(self, count: int) -> None:
        """Wait until that many clients have left before their answer was complete."""
        await self._wait(lambda: self.disconnects >= count)

    async def wait_connections(self, count: int) -> None:
        """Wait until exactly that many connections are open."""
        await self._wait(lambda: len(self._open) == count)

    async def _wait(self, is_so: Callable[[], bool]) -> None:
        await trio.lowlevel.checkpoint()
        while not is_so():
            await self._changed.wait()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    async def _serve(self, stream: trio.SocketStream) -> None:
        self.connections += 1
        self._open.add(stream)
        self._notify()
        try:
            await self._converse(stream)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # the client is gone
        finally:
            self._open.discard(stream)
            self._notify()
            with trio.CancelScope(shield=True):
                await trio.aclose_forcefully(stream)

    async def _converse(self, stream: trio.SocketStream) -> None:
        buffer = bytearray()
        while (request := await _receive_request(stream, buffer)) is not None:
            self.requests.append(request)
            self._notify()
            if not await self._answer(stream, self._reply(request)(request.body)):
                return

    def _reply(self, request: FakeRequest) -> Reply:
        """Decide what to answer with; a request that is refused uses up nothing of the script."""
        wrong = problems(request.body) if self.strict and request.body else []
        if wrong:
            return fails(400, {"error": {"message": "; ".join(wrong), "code": "bad_request"}})
        return self.script.pop(0) if self.script else self.default

    async def _answer(self, stream: trio.SocketStream, steps: Sequence[Step]) -> bool:
        """Do what the script says; give whether the connection is good for another request."""
        outcome: list[bool] = []
        async with trio.open_nursery() as nursery:

            async def act() -> None:
                try:
                    outcome.append(await self._act(stream, steps))
                except trio.BrokenResourceError:
                    await trio.lowlevel.checkpoint()  # the client left while we were sending
                nursery.cancel_scope.cancel()

            async def watch() -> None:
                await _wait_closed_by_peer(stream)
                nursery.cancel_scope.cancel()

            nursery.start_soon(act)
            nursery.start_soon(watch)
        if not outcome:
            self.disconnects += 1
            self._notify()
        return outcome == [True]

    async def _act(self, stream: trio.SocketStream, steps: Sequence[Step]) -> bool:
        """Do the steps; give whether they left the connection good for another request."""
        chunked = False
        for step in steps:
            match step:
                case Send():
                    chunked = chunked or _is_chunked_head(step)
                    await stream.send_all(_bytes(step, chunked=chunked))
                    self.pieces_sent += 1
                case Pause(seconds):
                    await trio.sleep(seconds)
                case Stall():
                    await trio.sleep_forever()
                case Close():
                    await trio.lowlevel.checkpoint()
                    return False
        await stream.send_all(b"0\r\n\r\n" if chunked else b"")
        return True


@asynccontextmanager
async def open_fake_openai(
    script: Iterable[Reply] = (), *, default: Reply | None = None, strict: bool = True
) -> AsyncIterator[FakeOpenAI]:
    """Run a fake endpoint on a free port of the loopback interface.

    Args:
        script: what the first requests are answered with, in order; see ``actors.testing`` for
            the replies, from ``says("hello")`` to every way in which endpoints fail.
        default: what further requests are answered with; by itself ``says("ok")``.
        strict: refuse, with HTTP 400 and what is wrong, a request in which calls and results
            don't pair, or that breaks another rule which endpoints insist on.
    """
    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        port = listeners[0].socket.getsockname()[1]
        server = FakeOpenAI(port, list(script), default or says("ok"), strict)
        await nursery.start(trio.serve_listeners, server._serve, listeners)  # noqa: SLF001 - ours
        try:
            yield server
        finally:
            nursery.cancel_scope.cancel()


def _is_chunked_head(step: Send) -> bool:
    return step.status is not None and not any(n == "content-length" for n, _ in step.headers)


def _bytes(step: Send, *, chunked: bool) -> bytes:
    head = b"" if step.status is None else _head(step.status, step.headers, chunked=chunked)
    return head + (_chunk(step.data) if chunked and step.data else step.data)


def _head(status: int, headers: Iterable[tuple[str, str]], *, chunked: bool) -> bytes:
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}"]
    lines += [f"{name}: {value}" for name, value in headers]
    lines += ["transfer-encoding: chunked"] if chunked else []
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


async def _receive_request(stream: trio.SocketStream, buffer: bytearray) -> FakeRequest | None:
    """Read one request, or None if the client closed the connection before its end."""
    while (request := _take_request(buffer)) is None:
        data = await stream.receive_some()
        if not data:
            return None
        buffer += data
    await trio.lowlevel.checkpoint()
    return request


def _take_request(buffer: bytearray) -> FakeRequest | None:
    head, blank, rest = bytes(buffer).partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    length = int(headers.get("content-length", 0))
    if not blank or len(rest) < length:
        return None
    buffer[:] = rest[length:]
    return FakeRequest(first.split(" ")[1], headers, json.loads(rest[:length] or b"{}"))


async def _wait_closed_by_peer(stream: trio.SocketStream) -> None:
    await trio.lowlevel.wait_readable(stream.socket)
    while not _is_closed_by_peer(stream):  # noqa: ASYNC110 - no event tells when that changes
        # It sent more than it should, which stays readable; ask now and then if it left.
        await trio.sleep(0.01)


def _is_closed_by_peer(stream: trio.SocketStream) -> bool:
    # A second socket object on a copy of the descriptor, since trio's has no peek that doesn't wait.
    with socket.fromfd(stream.socket.fileno(), socket.AF_INET, socket.SOCK_STREAM) as peer:
        peer.setblocking(False)
        try:
            return not peer.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
