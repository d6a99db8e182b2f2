"""What the options of a call may say to OpenAI's APIs, for type checkers and editors.

At run time an option is a key like any other: what isn't listed here goes to the endpoint, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence  # noqa: TC003 (get_type_hints needs them)
from typing import Any, Literal, TypedDict

from protocols._model_errors import ModelContentFilterError
from protocols._options import ChatOptions, ContinuationToken, FormatT

OpenAIContentFilterException = ModelContentFilterError
"""The error of a call that a content filter refused, under the name that MAF gives it."""

Verbosity = Literal["low", "medium", "high"]


class OpenAIContinuationToken(ContinuationToken):
    """Names a response that is being made in the background."""

    response_id: str


class ReasoningOptions(TypedDict, total=False):
    """How much a model thinks, and what of it comes back."""

    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"]
    summary: Literal["auto", "concise", "detailed"]


class OpenAIChatCompletionOptions(ChatOptions[FormatT], total=False):
    """Options of `OpenAIChatCompletionClient`."""

    logprobs: bool | None
    top_logprobs: int | None
    prediction: Mapping[str, Any] | None
    reasoning_effort: str | None
    service_tier: str | None
    prompt_cache_key: str | None
    verbosity: Verbosity | None


class OpenAIChatOptions(ChatOptions[FormatT], total=False):
    """Options of `OpenAIChatClient`."""

    include: Sequence[str] | None
    max_tool_calls: int | None
    prompt: Mapping[str, Any] | None
    prompt_cache_key: str | None
    prompt_cache_retention: str | None
    reasoning: ReasoningOptions | None
    verbosity: Verbosity | None
    safety_identifier: str | None
    service_tier: str | None
    stream_options: Mapping[str, Any] | None
    top_logprobs: int | None
    truncation: Literal["auto", "disabled"] | None
    background: bool | None
    continuation_token: OpenAIContinuationToken | None
