"""Tools that the service runs, as its clients make them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from actors import FunctionTool, Message
from actors.agents._openai._request import build_request
from actors.agents._openai._responses_request import build_responses_request
from actors.openai import (
    OpenAIChatClient,
    OpenAIChatCompletionClient,
    OpenAIChatOptions,
    OpenAIContentFilterException,
)
from protocols import (
    ChatClientContentFilterException,
    SupportsCodeInterpreterTool,
    SupportsFileSearchTool,
    SupportsImageGenerationTool,
    SupportsMCPTool,
    SupportsShellTool,
    SupportsWebSearchTool,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

MADE = OpenAIChatClient
TOOLS: list[tuple[Any, Mapping[str, Any]]] = [
    (MADE.get_web_search_tool(), {"type": "web_search"}),
    (
        MADE.get_web_search_tool(user_location={"city": "Brno"}, search_context_size="low"),
        {
            "type": "web_search",
            "user_location": {"type": "approximate", "city": "Brno"},
            "search_context_size": "low",
        },
    ),
    (
        MADE.get_code_interpreter_tool(file_ids=["f1"]),
        {"type": "code_interpreter", "container": {"type": "auto", "file_ids": ["f1"]}},
    ),
    (
        MADE.get_file_search_tool(vector_store_ids=["v"], max_num_results=3),
        {"type": "file_search", "vector_store_ids": ["v"], "max_num_results": 3},
    ),
    (
        MADE.get_image_generation_tool(size="1024x1024", partial_images=0),
        {"type": "image_generation", "size": "1024x1024", "partial_images": 0},
    ),
    (
        MADE.get_mcp_tool(name="my docs", url="http://m", approval_mode="never_require"),
        {
            "type": "mcp",
            "server_label": "my_docs",
            "server_url": "http://m",
            "require_approval": "never",
        },
    ),
    (
        MADE.get_mcp_tool(
            name="m",
            url="http://m",
            allowed_tools=[],
            approval_mode={"always_require_approval": ["a"], "never_require_approval": ["b"]},
        ),
        {
            "type": "mcp",
            "server_label": "m",
            "server_url": "http://m",
            "allowed_tools": [],
            "require_approval": {"always": {"tool_names": ["a"]}, "never": {"tool_names": ["b"]}},
        },
    ),
    (MADE.get_shell_tool(), {"type": "shell", "environment": {"type": "container_auto"}}),
]


@pytest.mark.parametrize(("made", "wire"), TOOLS)
def test_a_tool_of_the_service_reaches_it_as_the_api_spells_it(
    made: Any, wire: Mapping[str, Any]
) -> None:
    body = build_responses_request(
        [Message("user", "hi")], {"tools": [made]}, model="m", stream=False
    )

    assert body["tools"] == [wire]


def test_web_search_of_the_older_api_is_an_option_of_the_request() -> None:
    made = OpenAIChatCompletionClient.get_web_search_tool(
        web_search_options={"search_context_size": "high"}
    )

    body = build_request([Message("user", "hi")], {"tools": [made]}, model="m", stream=False)

    assert body["web_search_options"] == {"search_context_size": "high"}
    assert "tools" not in body


def run_it(command: str) -> str:
    """Run a command."""
    return command


def test_a_shell_here_is_a_function_that_is_asked_about() -> None:
    made = OpenAIChatClient.get_shell_tool(func=run_it, approval_mode="always_require")
    again = OpenAIChatClient.get_shell_tool(func=made, name="sh")

    assert isinstance(made, FunctionTool)
    assert (made.name, made.approval_mode) == ("run_it", "always_require")
    assert (again.name, again.description, again.approval_mode) == (
        "sh",
        "Run a command.",
        "always_require",
    )
    assert OpenAIChatClient.get_shell_tool(func=made) is made


def test_a_tool_that_gets_another_name_keeps_its_limits() -> None:
    made: FunctionTool[Any] = FunctionTool(
        func=run_it, max_invocations=2, idempotent=True, kind="shell"
    )
    again = OpenAIChatClient.get_shell_tool(func=made, name="sh")

    assert (again.name, again.max_invocations, again.idempotent, again.kind) == (
        "sh",
        2,
        True,
        "shell",
    )


@pytest.mark.parametrize(
    "given",
    [
        {"environment": {"type": "local"}},
        {"func": run_it, "environment": {"type": "container_auto"}},
        {"func": FunctionTool(name="declared", description="")},
    ],
)
def test_a_shell_that_nobody_would_run_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match=r"shell|environment|declared"):
        OpenAIChatClient.get_shell_tool(**given)


def test_the_client_satisfies_the_protocols_of_what_its_service_can_do() -> None:
    client = OpenAIChatClient("m", api_key="k")

    for protocol in (
        SupportsCodeInterpreterTool,
        SupportsFileSearchTool,
        SupportsImageGenerationTool,
        SupportsMCPTool,
        SupportsShellTool,
        SupportsWebSearchTool,
    ):
        assert isinstance(client, protocol), protocol


def test_options_of_a_service_can_be_extended_and_given_to_a_client_of_ones_own() -> None:
    class MyOptions(OpenAIChatOptions[Any], total=False):
        flavour: str

    class MyClient(OpenAIChatClient[MyOptions]):
        pass

    options: MyOptions = {"flavour": "sweet", "reasoning": {"effort": "low"}, "temperature": 1}

    assert MyClient("m", api_key="k").model == "m"
    assert set(options) <= set(MyOptions.__annotations__)


def test_the_error_of_a_content_filter_has_its_old_name_too() -> None:
    assert issubclass(OpenAIContentFilterException, ChatClientContentFilterException)
