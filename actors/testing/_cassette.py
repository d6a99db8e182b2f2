# A model costs time and money and never says the same thing twice. So a test talks to it once,
# keeps what was said in a file beside the test, and from then on hears it from there.
#
# What is kept is what goes to the model and what comes back: messages and options, and nothing
# else. Keys, headers and whatever callers pass in ``client_kwargs`` don't get into the file.
# Requests are told apart by their content; the same request asked twice has two answers, in the
# order in which they came.
"""A chat client that keeps the traffic with a model in a file, or plays it from there."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import attrs
import trio

from actors.agents._client._base import (
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatTelemetryLayer,
    FunctionInvocationLayer,
    OptionsT,
)
from protocols._frozen import plain
from protocols._responses import ChatResponse, ChatResponseUpdate
from protocols._split import updates_of

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Mapping, Sequence

    from protocols._message import Message

CassetteMode = Literal["auto", "record", "replay"]


class UnknownRequestError(AssertionError):
    """A request that nobody has recorded was to be played."""


class CassetteChatClient(
    FunctionInvocationLayer[OptionsT],
    ChatMiddlewareLayer[OptionsT],
    ChatTelemetryLayer[OptionsT],
    BaseChatClient[OptionsT],
):
    """A chat client that answers from a file what another client has answered before.

    Tools, middleware and telemetry run as with the other client: what is kept are calls of the
    model. What was recorded as a stream can be played whole, and the other way round.

    Args:
        client: who answers what isn't in the file; not needed for ``replay``.
        path: the file, of lines of JSON that can be read and compared.
        mode: ``auto`` plays what is known and records the rest, ``record`` begins the file anew,
            ``replay`` never asks anybody.
        **kwargs: what the layers take, such as ``middleware``.

    Raises:
        ValueError: there is no such mode, or it needs a client and there is none; or a line of
            the file can't be read.
    """

    def __init__(
        self,
        client: BaseChatClient[Any] | None,
        path: str | os.PathLike[str],
        *,
        mode: CassetteMode = "auto",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if mode not in get_args(CassetteMode):
            raise ValueError(f"mode is one of {', '.join(get_args(CassetteMode))}, not {mode!r}")
        if client is None and mode != "replay":
            raise ValueError(f"mode {mode!r} needs a client to ask; without one it is 'replay'")
        self.client = client
        self.path = Path(path)
        self.mode = mode
        self.model: str | None = getattr(client, "model", None)
        self.STORES_BY_DEFAULT = bool(  # type: ignore[misc]  # as the other client does
            getattr(client, "STORES_BY_DEFAULT", False)
        )
        self.played = 0
        """How many requests were answered from the file."""
        self.recorded = 0
        """How many were answered by the client, and are in the file now."""
        self._known: dict[str, deque[dict[str, Any]]] = {}
        self._asked: list[dict[str, Any]] = []
        self._begin()

    def _begin(self) -> None:
        if self.mode == "record" or not self.path.exists():
            return
        for number, line in enumerate(self.path.read_text("utf-8").splitlines(), 1):
            try:
                entry = json.loads(line)
                request = entry["request"]
                assert "response" in entry or "updates" in entry
            except (ValueError, KeyError, TypeError, AssertionError) as error:
                raise ValueError(
                    f"line {number} of {self.path} is no recorded request: remove it, or record anew"
                ) from error
            self._asked.append(request)
            # An agent asks for its client's model, which is part of the request.
            self.model = self.model or request.get("options", {}).get("model")
            self._known.setdefault(_digest(request), deque()).append(entry)

    def _inner_get_response(
        self,
        *,
        messages: Sequence[Message],
        stream: bool,
        options: Mapping[str, Any],
        **kwargs: Any,
    ) -> Any:
        source = _Source(self, messages, options, kwargs)
        response_format = options.get("response_format")
        if stream:
            return self._build_response_stream(source, response_format=response_format)
        return source.whole(response_format)

    # ------------------------------------------------------------------ the file

    def _take(self, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """Give what was recorded for a request, each time another one.

        Raises:
            UnknownRequestError: nothing was, and nobody is to be asked.
        """
        waiting = self._known.get(_digest(request))
        if waiting:
            self.played += 1
            return waiting.popleft()
        if self.mode == "replay" or self.client is None:
            raise UnknownRequestError(self._unknown(request))
        return None

    def _unknown(self, request: Mapping[str, Any]) -> str:
        last = (request["messages"] or [{}])[-1]
        told = f"{self.path} has no answer left for a request that ends with {_short(last)}"
        near = [r for r in self._asked if r["messages"] == request["messages"]]
        if near:
            names = sorted(k for k in {*near[0]["options"], *request["options"]}
                           if near[0]["options"].get(k) != request["options"].get(k))  # fmt: skip
            why = f"it differs in {', '.join(names)}" if names else "it was asked more often"
            told += f"; one with the same messages was recorded, but {why}"
        return f"{told}. Record it with mode='auto'"

    def _keep(self, entry: Mapping[str, Any]) -> None:
        self.recorded += 1
        begins = self.mode == "record" and self.recorded == 1
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("w" if begins else "a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")


class _Source:
    """One request, from the file or from the client, as updates or whole."""

    def __init__(
        self,
        owner: CassetteChatClient[Any],
        messages: Sequence[Message],
        options: Mapping[str, Any],
        kwargs: Mapping[str, Any],
    ) -> None:
        self._owner = owner
        self._messages = messages
        self._options = options
        self._kwargs = kwargs
        self._request = _request(messages, options)
        self._updates: AsyncIterator[ChatResponseUpdate] | None = None
        self._seen: list[ChatResponseUpdate] = []
        self._inner: Any = None

    def _ask(self, *, stream: bool) -> Any:
        client = self._owner.client
        assert client is not None
        return client._inner_get_response(  # noqa: SLF001 - what a client is, without its layers
            messages=self._messages, stream=stream, options=self._options, **self._kwargs
        )

    async def whole(self, response_format: Any) -> ChatResponse[Any]:
        entry = self._owner._take(self._request)  # noqa: SLF001 - a part of that class
        if entry is None:
            response: ChatResponse[Any] = await self._ask(stream=False)
            told = {"request": self._request, "response": response.to_dict()}
            self._owner._keep(told)  # noqa: SLF001 - as above
            return response
        await trio.lowlevel.checkpoint()
        if "response" in entry:
            played: ChatResponse[Any] = ChatResponse.from_dict(entry["response"])
            return attrs.evolve(played, response_format=response_format)
        updates = [ChatResponseUpdate.from_dict(update) for update in entry["updates"]]
        return ChatResponse.from_updates(updates, output_format_type=response_format)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ChatResponseUpdate:
        if self._updates is None:
            entry = self._owner._take(self._request)  # noqa: SLF001 - as above
            self._updates = self._live() if entry is None else _played(entry)
        return await anext(self._updates)

    def _live(self) -> AsyncIterator[ChatResponseUpdate]:
        self._inner = self._ask(stream=True)
        return _Recording(aiter(self._inner), self)

    def kept(self, updates: Sequence[ChatResponseUpdate]) -> None:
        """Keep a stream that has come to its end; half a one is worth nothing."""
        told = {"request": self._request, "updates": [update.to_dict() for update in updates]}
        self._owner._keep(told)  # noqa: SLF001 - as above

    async def aclose(self) -> None:
        if self._inner is not None:
            await self._inner.aclose()
        else:
            await trio.lowlevel.checkpoint()


class _Recording:
    def __init__(self, updates: AsyncIterator[ChatResponseUpdate], source: _Source) -> None:
        self._updates = updates
        self._source = source
        self._seen: list[ChatResponseUpdate] = []

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ChatResponseUpdate:
        try:
            update = await anext(self._updates)
        except StopAsyncIteration:
            self._source.kept(self._seen)
            raise
        self._seen.append(update)
        return update


class _Played:
    def __init__(self, updates: Sequence[ChatResponseUpdate]) -> None:
        self._updates = iter(updates)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ChatResponseUpdate:
        await trio.lowlevel.checkpoint()
        for update in self._updates:
            return update
        raise StopAsyncIteration


def _played(entry: Mapping[str, Any]) -> _Played:
    if "updates" in entry:
        return _Played([ChatResponseUpdate.from_dict(update) for update in entry["updates"]])
    return _Played(updates_of(ChatResponse.from_dict(entry["response"]), ChatResponseUpdate))


def _request(messages: Sequence[Message], options: Mapping[str, Any]) -> dict[str, Any]:
    told = {key: _plain(value) for key, value in sorted(options.items())}
    request = {"messages": [message.to_dict() for message in messages], "options": told}
    found: dict[str, Any] = json.loads(json.dumps(request, default=str))
    return found


def _plain(value: Any) -> Any:
    """An option as it can be written: tools and formats by what a model is told of them."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    make_schema = getattr(value, "model_json_schema", None)
    if isinstance(value, type) and make_schema is not None:
        return make_schema()
    name, parameters = getattr(value, "name", None), getattr(value, "parameters", None)
    if isinstance(name, str) and parameters is not None:
        schema = parameters() if callable(parameters) else parameters
        return {"name": name, "parameters": plain(schema)}
    return plain(value)


def _digest(request: Mapping[str, Any]) -> str:
    text = json.dumps(request, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _short(tree: Any, most: int = 200) -> str:
    text = json.dumps(tree, ensure_ascii=False)
    return text if len(text) <= most else f"{text[:most]}…"
