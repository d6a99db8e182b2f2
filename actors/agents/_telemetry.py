# The slots of the pipeline in which spans are made: around a run of an agent, a call of a model,
# a call of a tool. While nobody listens, each of them is one question and then the very call that
# would be made without it. Time that middleware takes is not in the spans: a span says how long
# the model took, not how long its guards did.
"""Spans and metrics of agents, chat clients and tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from actors._core._streams._stream import ResponseStream
from actors.agents._client._chat_call import ChatCall, ChatPipeline, ChatStream, OptionsCoT
from actors.observability._genai import (
    instructions_json,
    measure_tokens,
    messages_json,
    request_attributes,
    response_attributes,
)
from actors.observability._names import OtelAttr
from actors.observability._operations import Operation, as_json, is_heard, is_sensitive
from protocols._content._item import Content
from protocols._frozen import plain
from protocols._message import normalize_messages

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from actors.agents._middleware._contexts import FunctionInvocationContext
    from protocols._responses import ChatResponse


class AgentTelemetryLayer:
    """Records each run as a span, ``invoke_agent``; stands before a class that has a ``run``.

    Args:
        otel_agent_provider_name: under which name.
        **kwargs: for the next layer.
    """

    AGENT_PROVIDER_NAME = "microsoft.agent_framework"

    def __init__(
        self, *args: Any, otel_agent_provider_name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.otel_provider_name = otel_agent_provider_name or self.AGENT_PROVIDER_NAME

    # A type checker sees the ``run`` of the class behind, which says what it takes.
    if not TYPE_CHECKING:

        def run(self, messages: Any = None, *, stream: bool = False, **kwargs: Any) -> Any:
            """Run the agent behind, and record it; see there for the arguments."""
            run = super().run
            if not is_heard():
                return run(messages, stream=stream, **kwargs)

            def begin() -> Operation:
                return _begin_run(self, messages, kwargs)

            def ask() -> Any:
                return run(messages, stream=stream, **kwargs)

            if stream:
                return observed_stream(begin, ask, _told_of_run)
            return _observed(begin, ask, _told_of_run)


class ChatTelemetryLayer(ChatPipeline[OptionsCoT]):
    """Records each call of the model as a span, ``chat``.

    Args:
        otel_provider_name: under which name; the class's ``OTEL_PROVIDER_NAME`` if not given.
        **kwargs: for the next layer.
    """

    def __init__(self, *, otel_provider_name: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        default: str = getattr(self, "OTEL_PROVIDER_NAME", "unknown")
        self.otel_provider_name = otel_provider_name or default

    def _respond(self, call: ChatCall) -> Awaitable[ChatResponse[Any]] | ChatStream:
        respond = super()._respond
        if not is_heard():
            return respond(call)

        def begin() -> Operation:
            return _begin_chat(self, call)

        def ask() -> Any:
            return respond(call)

        if call.stream:
            stream: ChatStream = observed_stream(begin, ask, _told_of_chat)
            return stream
        return _observed(begin, ask, _told_of_chat)


async def function_telemetry(
    context: FunctionInvocationContext, call: Callable[[], Awaitable[Any]]
) -> Any:
    """Record a call of a tool as a span, ``execute_tool``; inside of its middleware."""
    if not is_heard():
        return await call()
    operation = _begin_tool(context)
    with operation.current():
        result = await call()
    if is_sensitive():
        operation.note({OtelAttr.TOOL_RESULT: _shown(result)})
    operation.end()
    return result


# -------------------------------------------------------------------- the two ways of asking


async def _observed(
    begin: Callable[[], Operation], ask: Callable[[], Any], tell: Callable[[Operation, Any], None]
) -> Any:
    operation = begin()
    with operation.current():
        response = await ask()
    tell(operation, response)
    operation.end()
    return response


def observed_stream(
    begin: Callable[[], Operation], ask: Callable[[], Any], tell: Callable[[Operation, Any], None]
) -> Any:
    """A stream whose span begins with the first pull, and ends with it, however it ends."""
    source = _Observed(begin, ask, tell)
    stream: ResponseStream[Any, Any] = ResponseStream(source, finalizer=lambda _: source.final())
    return stream


class _Observed:
    """The updates of a stream, as a source of another."""

    def __init__(
        self,
        begin: Callable[[], Operation],
        ask: Callable[[], Any],
        tell: Callable[[Operation, Any], None],
    ) -> None:
        self._begin = begin
        self._ask = ask
        self._tell = tell
        self._operation: Operation | None = None
        self._inner: Any = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        operation = self._operation
        if operation is None:
            operation = self._operation = self._begin()
        with operation.current():
            if self._inner is None:
                self._inner = self._ask()
            return await anext(aiter(self._inner))

    async def final(self) -> Any:
        """Give the final value of what was streamed; with it the operation is over."""
        operation = self._operation
        assert operation is not None
        with operation.current():
            response = await self._inner.get_final_response()
        self._tell(operation, response)
        operation.end()
        return response

    async def aclose(self) -> None:  # noqa: ASYNC910 (nothing to wait for)
        """End early: first what goes on inside, then the span around it."""
        try:
            if self._inner is not None:
                await self._inner.aclose()
        finally:
            if self._operation is not None:
                self._operation.end()


# ------------------------------------------------------------------------------- what is told


def _begin_run(agent: Any, messages: Any, kwargs: Mapping[str, Any]) -> Operation:
    options = {**getattr(agent, "default_options", {}), **(kwargs.get("options") or {})}
    session = kwargs.get("session")
    operation = Operation(
        f"invoke_agent {agent.name or agent.id}",
        {
            OtelAttr.OPERATION: OtelAttr.AGENT_INVOKE_OPERATION.value,
            OtelAttr.PROVIDER_NAME: agent.otel_provider_name,
            OtelAttr.AGENT_ID: agent.id,
            OtelAttr.AGENT_NAME: agent.name,
            OtelAttr.AGENT_DESCRIPTION: getattr(agent, "description", None),
            OtelAttr.CONVERSATION_ID: _conversation(session),
            OtelAttr.REQUEST_MODEL: options.get("model"),
            **request_attributes(options),
        },
    )
    if is_sensitive():
        operation.note({OtelAttr.INPUT_MESSAGES: messages_json(normalize_messages(messages))})
        if instructions := options.get("instructions"):
            operation.note({OtelAttr.SYSTEM_INSTRUCTIONS: instructions_json(instructions)})
    return operation


def _told_of_run(operation: Operation, response: Any) -> None:
    operation.note(response_attributes(response))
    _tell_messages(operation, response)


def _begin_chat(client: Any, call: ChatCall) -> Operation:
    model = call.options.get("model") or getattr(client, "model", None)
    labels: dict[str, Any] = {
        OtelAttr.OPERATION: OtelAttr.CHAT_COMPLETION_OPERATION.value,
        OtelAttr.PROVIDER_NAME: client.otel_provider_name,
        OtelAttr.REQUEST_MODEL: model or "unknown",
    }
    service_url = getattr(client, "service_url", None)
    operation = Operation(
        f"chat {model or 'unknown'}",
        {
            **labels,
            OtelAttr.ADDRESS: service_url() if callable(service_url) else None,
            OtelAttr.CONVERSATION_ID: call.options.get("conversation_id"),
            **request_attributes(call.options),
        },
        duration=OtelAttr.OPERATION_DURATION,
        labels=labels,
        kind="CLIENT",
    )
    if is_sensitive():
        operation.note({OtelAttr.INPUT_MESSAGES: messages_json(call.messages)})
        if instructions := call.options.get("instructions"):
            operation.note({OtelAttr.SYSTEM_INSTRUCTIONS: instructions_json(instructions)})
    return operation


def _told_of_chat(operation: Operation, response: ChatResponse[Any]) -> None:
    model = response.model
    if model:
        operation.labels = {**operation.labels, OtelAttr.RESPONSE_MODEL.value: model}
        if operation.labels.get(OtelAttr.REQUEST_MODEL.value) == "unknown":
            operation.rename(f"chat {model}")
    operation.note(response_attributes(response))
    measure_tokens(response.usage_details, operation.labels)
    _tell_messages(operation, response)


def _tell_messages(operation: Operation, response: Any) -> None:
    if is_sensitive():
        said = messages_json(response.messages, response.finish_reason)
        operation.note({OtelAttr.OUTPUT_MESSAGES: said})


def _begin_tool(context: FunctionInvocationContext) -> Operation:
    tool = context.function
    operation = Operation(
        f"execute_tool {tool.name}",
        {
            OtelAttr.OPERATION: OtelAttr.TOOL_EXECUTION_OPERATION.value,
            OtelAttr.TOOL_NAME: tool.name,
            OtelAttr.TOOL_CALL_ID: context.metadata.get("call_id"),
            OtelAttr.TOOL_TYPE: "function",
            OtelAttr.TOOL_DESCRIPTION: tool.description or None,
        },
        duration=OtelAttr.FUNCTION_DURATION,
        # No call id and no arguments here: each of them would make a series of its own.
        labels={OtelAttr.TOOL_NAME: tool.name},
    )
    if is_sensitive():
        operation.note({OtelAttr.TOOL_ARGUMENTS: as_json(plain(dict(context.arguments)))})
    return operation


def _conversation(session: Any) -> str | None:
    found = getattr(session, "service_session_id", None)
    return found if isinstance(found, str) else None


def _shown(result: Any) -> str:
    if isinstance(result, str):
        return result
    items = result if isinstance(result, list) else [result]
    if items and all(isinstance(item, Content) for item in items):
        return "\n".join(item.text or repr(item) for item in items)
    return as_json(result)
