"""Which options a run ends up with; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actors.agents._tools._collection import distinct_tools, normalize_tools
from protocols._options import merge_chat_options

if TYPE_CHECKING:
    from collections.abc import Mapping


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
    merged["tools"] = distinct_tools(normalize_tools(merged.get("tools"))) or None
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
        given["tools"] = tools
    if given.get("tools") is not None:
        given["tools"] = normalize_tools(given["tools"])
    merged = merge_chat_options(merge_chat_options(defaults, contributed), given)
    merged["tools"] = distinct_tools(normalize_tools(merged.get("tools")))
    if not merged["tools"]:
        del merged["tools"]
        # A choice between no tools is refused by some services.
        if merged.get("tool_choice") == "auto":
            del merged["tool_choice"]
    return merged
