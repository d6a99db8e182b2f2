"""Where spans and metrics are made: around runs of agents, calls of models, calls of tools.

Each place is a slot in the pipeline. Nothing is recorded in this version, which costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actors.agents._chat_call import ChatPipeline, OptionsCoT

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from actors.agents._middleware._contexts import FunctionInvocationContext


class AgentTelemetryLayer:
    """Records each run as a span, ``invoke_agent``; stands before a class that has a ``run``.

    Args:
        otel_agent_provider_name: under which name.
        **kwargs: for the next layer.
    """

    AGENT_PROVIDER_NAME = "trio-actors"

    def __init__(
        self, *args: Any, otel_agent_provider_name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.otel_provider_name = otel_agent_provider_name or self.AGENT_PROVIDER_NAME


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


async def function_telemetry(
    context: FunctionInvocationContext,  # noqa: ARG001 (what a span would tell about)
    call: Callable[[], Awaitable[Any]],
) -> Any:
    """Record a call of a tool as a span, ``execute_tool``; inside of its middleware."""
    return await call()
