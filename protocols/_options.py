"""Options of a run or a call to a model, and how two sets of them are merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NewType, TypeAlias, TypedDict, cast

from protocols._errors import ContentError

if TYPE_CHECKING:
    # Only a type checker knows that the parameter may be left out; 3.13 has it in typing.
    from typing_extensions import TypeVar

    FormatT = TypeVar("FormatT", default=Any)
else:
    from typing import TypeVar

    FormatT = TypeVar("FormatT")

_MODES: Final = ("auto", "required", "none")
_MERGED_BY_KEY: Final = frozenset({"metadata", "logit_bias"})


FinishReasonLiteral: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter"]
"""Why models usually end an answer."""
FinishReason = NewType("FinishReason", str)
"""For annotations: a service may end an answer for any reason of its own."""


class ContinuationToken(TypedDict):
    """Names work that a service goes on with; give it back as the option of the same name.

    What is in it is the client's. A client may have a subclass that says so.
    """


class ToolMode(TypedDict, total=False):
    """How a model may use its tools.

    ``required_function_name`` goes with mode ``required`` only, ``allowed_tools`` with ``auto``
    and ``required``.
    """

    mode: str
    required_function_name: str
    allowed_tools: Sequence[str]


class ChatOptions(TypedDict, Generic[FormatT], total=False):
    """The options that most services know; None means "not set", further keys pass through."""

    model: str | None
    temperature: float | None
    top_p: float | None
    max_tokens: int | None
    stop: str | Sequence[str] | None
    seed: int | None
    logit_bias: Mapping[str | int, float] | None
    frequency_penalty: float | None
    presence_penalty: float | None
    tools: Any
    tool_choice: str | ToolMode | None
    allow_multiple_tool_calls: bool | None
    response_format: type[FormatT] | Mapping[str, Any] | None
    metadata: Mapping[str, Any] | None
    user: str | None
    store: bool | None
    conversation_id: str | None
    instructions: str | None


def merge_chat_options(
    base: Mapping[str, Any] | None, override: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return ``base`` with what ``override`` sets.

    None sets nothing. Instructions are put one under the other, or, where they are a service's
    own blocks and no texts, one after another in a list; tools are put together (the
    same object once), ``metadata`` and ``logit_bias`` are merged by key; everything else is
    replaced.
    """
    merged = {key: value for key, value in (base or {}).items() if value is not None}
    for key, value in (override or {}).items():
        if value is not None:
            merged[key] = _merged(key, merged[key], value) if key in merged else value
    return merged


def _merged(key: str, base: Any, override: Any) -> Any:
    if key == "instructions":
        return _both_instructions(base, override)
    if key == "tools":
        return _all_tools(base, override)
    if key in _MERGED_BY_KEY:
        return {**base, **override}
    return override


def _both_instructions(base: Any, override: Any) -> Any:
    """Texts become one; what a service has in blocks of its own stays so, one after another."""
    if isinstance(base, str) and isinstance(override, str):
        return "\n".join(filter(None, (base, override)))
    return [*_as_list(base), *_as_list(override)]


def _all_tools(base: Any, override: Any) -> list[Any]:
    tools = _as_list(base)
    for tool in _as_list(override):
        if not any(tool is known for known in tools):
            tools.append(tool)
    return tools


def _as_list(tools: Any) -> list[Any]:
    is_many = isinstance(tools, Sequence) and not isinstance(tools, str)
    return list(tools) if is_many else [tools]


def validate_tool_mode(tool_choice: str | Mapping[str, Any] | None) -> ToolMode | None:
    """Return the tool mode as a mapping, if it makes sense; None stays None.

    Raises:
        ContentError: it doesn't, and the message says why.
    """
    if tool_choice is None:
        return None
    if isinstance(tool_choice, str):
        tool_choice = {"mode": tool_choice}
    mode = tool_choice.get("mode")
    if mode not in _MODES:
        raise ContentError(f"tool_choice is one of {', '.join(_MODES)}, not {mode!r}")
    if "required_function_name" in tool_choice and mode != "required":
        raise ContentError(f"required_function_name goes with mode 'required', not {mode!r}")
    if "allowed_tools" in tool_choice:
        _check_allowed_tools(mode, tool_choice["allowed_tools"])
    return cast("ToolMode", dict(tool_choice))


def _check_allowed_tools(mode: str, allowed: Any) -> None:
    if mode == "none":
        raise ContentError("allowed_tools goes with mode 'auto' or 'required', not 'none'")
    is_list = isinstance(allowed, Sequence) and not isinstance(allowed, str)
    if not is_list or not all(isinstance(name, str) for name in allowed):
        raise ContentError(f"allowed_tools is a list of names, not {allowed!r}")
