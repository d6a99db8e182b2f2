"""How far a client goes in calling tools for the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence  # noqa: TC003 (readers of the TypedDict resolve it)
from typing import Any, Final, TypedDict

DEFAULT_MAX_ITERATIONS: Final = 40
DEFAULT_MAX_CONSECUTIVE_ERRORS: Final = 3


class FunctionInvocationConfiguration(TypedDict, total=False):
    """The settings of the tool loop of one client.

    ``enabled``: False returns the model's calls to the caller instead of running them.
    ``max_iterations``: model turns, at least 1; after them one more without tools.
    ``max_function_calls``: calls in all, at least 1; None for no limit.
    ``max_consecutive_errors_per_request``: batches in a row with a failing call, at least 0.
    ``terminate_on_unknown_calls``: whether a call of an unknown tool fails the run.
    ``additional_tools``: tools that can be called though the model isn't told of them.
    ``include_detailed_errors``: whether the model sees the text of an exception.
    ``max_duration_seconds``: for the whole loop; None for no limit.
    ``allow_concurrent_invocation``: whether the calls of one batch run at the same time.
    ``disable_approval_response_binding``: accepts approvals that nobody asked for. Don't.
    """

    enabled: bool
    max_iterations: int
    max_function_calls: int | None
    max_consecutive_errors_per_request: int
    terminate_on_unknown_calls: bool
    additional_tools: Sequence[Any]
    include_detailed_errors: bool
    max_duration_seconds: float | None
    allow_concurrent_invocation: bool
    disable_approval_response_binding: bool


_MINIMUM: Final = {
    "max_iterations": 1,
    "max_function_calls": 1,
    "max_consecutive_errors_per_request": 0,
    "max_duration_seconds": 0,
}
_OPTIONAL: Final = frozenset({"max_function_calls", "max_duration_seconds"})


def normalize_function_invocation_configuration(
    config: FunctionInvocationConfiguration | Mapping[str, Any] | None,
) -> FunctionInvocationConfiguration:
    """Give a configuration with every key, the given ones over the defaults.

    Raises:
        ValueError: a key that doesn't exist, or a limit that makes no sense.
    """
    normalized: FunctionInvocationConfiguration = {
        "enabled": True,
        "max_iterations": DEFAULT_MAX_ITERATIONS,
        "max_function_calls": None,
        "max_consecutive_errors_per_request": DEFAULT_MAX_CONSECUTIVE_ERRORS,
        "terminate_on_unknown_calls": False,
        "additional_tools": [],
        "include_detailed_errors": False,
        "max_duration_seconds": None,
        "allow_concurrent_invocation": True,
        "disable_approval_response_binding": False,
    }
    unknown = (config or {}).keys() - normalized.keys()
    if unknown:
        raise ValueError(
            f"function_invocation_configuration has no {', '.join(sorted(unknown))}; "
            f"it has {', '.join(normalized)}"
        )
    for key, value in (config or {}).items():
        _check_limit(key, value)
    normalized.update(config or {})  # type: ignore[typeddict-item]  # the keys were just checked
    return normalized


def _check_limit(key: str, value: Any) -> None:
    least = _MINIMUM.get(key)
    if least is None or (value is None and key in _OPTIONAL):
        return
    if value is None or value < least:
        raise ValueError(f"{key} must be at least {least}, not {value!r}")
