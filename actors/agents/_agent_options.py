"""Which options a run ends up with; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from actors.agents._base import as_list
from protocols._options import merge_chat_options


def default_options(
    client: object,
    options: Mapping[str, Any] | None,
    *,
    instructions: str | None,
    tools: Any,
) -> dict[str, Any]:
    """Give the options of every run of an agent.

    Args:
        client: may have a ``model`` of its own.
        options: what the agent was given as ``default_options``.
        instructions: the parameter of this name; it wins over the option.
        tools: likewise.

    Raises:
        ValueError: two different tools have one name.
    """
    merged = {"tool_choice": "auto", "model": getattr(client, "model", None), **(options or {})}
    if instructions is not None:
        merged["instructions"] = instructions
    if tools is not None:
        merged["tools"] = tools
    merged["tools"] = distinct_tools(as_list(merged.get("tools"))) or None
    return {key: value for key, value in merged.items() if value is not None}


def run_options(
    defaults: Mapping[str, Any],
    contributed: Mapping[str, Any],
    options: Mapping[str, Any] | None,
    *,
    tools: Any = None,
) -> dict[str, Any]:
    """Put the options of one run over those of its providers, and these over the agent's.

    Args:
        defaults: of the agent.
        contributed: ``instructions`` and ``tools`` of the context providers.
        options: of the run.
        tools: the run's parameter of this name; it wins over the option.

    Raises:
        ValueError: two different tools have one name.
    """
    given = dict(options or {})
    if tools is not None:
        given["tools"] = as_list(tools)
    merged = merge_chat_options(merge_chat_options(defaults, contributed), given)
    merged["tools"] = distinct_tools(as_list(merged.get("tools")))
    if not merged["tools"]:
        del merged["tools"]
        # A choice between no tools is refused by some services.
        if merged.get("tool_choice") == "auto":
            del merged["tool_choice"]
    return merged


def distinct_tools(tools: Iterable[Any]) -> list[Any]:
    """Give the tools, the same object once.

    Raises:
        ValueError: two different ones have one name, so a call could mean either.
    """
    found: dict[Any, Any] = {}
    for tool in tools:
        name = _tool_name(tool)
        if found.setdefault(name, tool) is not tool:
            raise ValueError(f"two different tools are called {name!r}: rename one of them")
    return list(found.values())


def _tool_name(tool: Any) -> Any:
    if isinstance(tool, Mapping):
        function = tool.get("function")
        name = function.get("name") if isinstance(function, Mapping) else tool.get("name")
    else:
        name = getattr(tool, "name", None) or getattr(tool, "__name__", None)
    return name or id(tool)
