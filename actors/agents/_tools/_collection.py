"""Several tools: made of whatever may stand for them, told apart by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeAlias

from actors.agents._tools._function_tool import FunctionTool
from actors.agents._tools._toolbox import is_toolbox

ToolTypes: TypeAlias = FunctionTool[Any] | Callable[..., Any] | Mapping[str, Any]
"""What can be a tool: one of ours, a function, or one of a service's in its own form."""

_KEPT: Final = "_as_tool"


def normalize_tools(tools: Any) -> list[Any]:
    """Make a list of tools; functions become ``FunctionTool``s, the rest stays as it is.

    Args:
        tools: one, or a sequence: functions, tools, hosted tools in a service's own form.
    """
    if tools is None:
        return []
    is_many = isinstance(tools, Sequence) and not isinstance(tools, str)
    return [as_tool(one) for one in (tools if is_many else [tools])]


def as_tool(given: Any) -> Any:
    """Make a tool of a function; leave everything else that may be a tool as it is.

    Raises:
        TypeError: it can be none.
    """
    if given is None or isinstance(given, str | bytes | int | float):
        raise TypeError(
            f"{given!r} is no tool: give functions, what @tool makes of them, or tools of a "
            "service in its own form, which is a dict"
        )
    if isinstance(given, FunctionTool | Mapping) or not callable(given):
        return given
    if hasattr(given, "name") and hasattr(given, "parameters"):
        return given  # a tool of another make
    # Runs are given the same functions again and again, and making a schema takes a while. The
    # function itself keeps its tool: a mapping of ours would keep both alive for ever.
    known = getattr(given, _KEPT, None)
    if known is None or known.func is not given:  # functools.wraps copies what functions keep
        known = FunctionTool(func=given)
        with suppress(AttributeError):  # methods and builtins keep nothing
            setattr(given, _KEPT, known)
    return known


def tool_name(tool: Any) -> Any:
    """Give what a tool goes by; something unique for one without a name, or for a toolbox."""
    if is_toolbox(tool):
        return id(tool)
    if isinstance(tool, Mapping):
        function = tool.get("function")
        name = function.get("name") if isinstance(function, Mapping) else tool.get("name")
    else:
        name = getattr(tool, "name", None) or getattr(tool, "__name__", None)
    return name or id(tool)


def distinct_tools(tools: Iterable[Any]) -> list[Any]:
    """Give the tools, the same one once.

    Raises:
        ValueError: two different ones have one name, so a call could mean either.
    """
    found: dict[Any, Any] = {}
    for tool in tools:
        name = tool_name(tool)
        if not _is_same(found.setdefault(name, tool), tool):
            raise ValueError(f"two different tools are called {name!r}: rename one of them")
    return list(found.values())


def with_tools(known: Sequence[Any], further: Sequence[Any]) -> list[Any]:
    """Give both together.

    Raises:
        ValueError: a further one has a name that is taken.
    """
    names = {tool_name(one) for one in known}
    for tool in further:
        name = tool_name(tool)
        if name in names:
            raise ValueError(f"there is a tool called {name!r} already: none was added")
        names.add(name)
    return [*known, *further]


def without_tools(known: Sequence[Any], unwanted: Sequence[Any]) -> list[Any]:
    """Give those that aren't unwanted: by name, as tools, or as the functions they are made of."""
    names = {one if isinstance(one, str) else tool_name(one) for one in unwanted}
    return [one for one in known if tool_name(one) not in names and not _is_one_of(one, unwanted)]


def function_tools(tools: Iterable[Any]) -> dict[str, FunctionTool[Any]]:
    """Give the tools that we can run, or at least know the declaration of, by name."""
    return {one.name: one for one in tools if isinstance(one, FunctionTool)}


def _is_same(left: Any, right: Any) -> bool:
    if left is right:
        return True
    # The same function was made a tool of twice, once for the agent and once for the run.
    both = isinstance(left, FunctionTool) and isinstance(right, FunctionTool)
    return both and left.func is not None and left.func == right.func and left.is_plain


def _is_one_of(tool: Any, unwanted: Sequence[Any]) -> bool:
    func = getattr(tool, "func", None)
    return any(one is tool or (func is not None and one == func) for one in unwanted)
