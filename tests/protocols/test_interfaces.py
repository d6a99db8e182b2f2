"""Whoever has the members is one, whatever it derives from."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from typing import Any, Self

import pytest

from protocols import _interfaces
from protocols._interfaces import (
    SupportsAgentRun,
    SupportsChatGetResponse,
    SupportsResponseStream,
)
from protocols._responses import AgentResponse, AgentResponseUpdate, ChatResponse


class Stream:
    def __aiter__(self) -> AsyncIterator[AgentResponseUpdate]:
        return self

    async def __anext__(self) -> AgentResponseUpdate:
        raise StopAsyncIteration

    async def get_final_response(self) -> AgentResponse:
        return AgentResponse()

    async def aclose(self) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None: ...


class MyAgent:
    id = "1"
    name = "a"
    description = None

    def run(self, messages: Any = None, **options: Any) -> Any: ...

    def create_session(self, *, session_id: str | None = None) -> object: ...

    def get_session(self, service_session_id: object, *, session_id: str | None = None) -> Any: ...


class MyClient:
    def __init__(self) -> None:
        self.additional_properties: dict[str, Any] = {}

    def get_response(self, messages: Any, **options: Any) -> Awaitable[ChatResponse]: ...  # type: ignore[empty-body]

    def get_mcp_tool(self, **options: Any) -> object: ...


def test_a_class_with_the_members_is_one() -> None:
    assert isinstance(MyAgent(), SupportsAgentRun)
    assert isinstance(MyClient(), SupportsChatGetResponse)
    assert isinstance(Stream(), SupportsResponseStream)


@pytest.mark.parametrize("missing", ["id", "name", "description", "run", "create_session"])
def test_a_class_that_lacks_a_member_isnt_one(missing: str) -> None:
    members = {name: value for name, value in vars(MyAgent).items() if name != missing}

    assert not isinstance(type("Almost", (), members)(), SupportsAgentRun)


def test_an_agent_isnt_taken_for_a_client() -> None:
    assert not isinstance(MyAgent(), SupportsChatGetResponse)
    assert not isinstance(MyClient(), SupportsAgentRun)
    assert not isinstance([], SupportsResponseStream)


@pytest.mark.parametrize(
    ("protocol", "method"),
    [
        ("SupportsWebSearchTool", "get_web_search_tool"),
        ("SupportsCodeInterpreterTool", "get_code_interpreter_tool"),
        ("SupportsImageGenerationTool", "get_image_generation_tool"),
        ("SupportsMCPTool", "get_mcp_tool"),
        ("SupportsFileSearchTool", "get_file_search_tool"),
        ("SupportsShellTool", "get_shell_tool"),
    ],
)
def test_hosted_tools_are_asked_for_one_by_one(protocol: str, method: str) -> None:
    supports = getattr(_interfaces, protocol)

    assert isinstance(type("Has", (), {method: lambda self: None})(), supports)
    assert isinstance(MyClient(), supports) is (method == "get_mcp_tool")
