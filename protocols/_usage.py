"""Token counts, and their sum."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, TypedDict, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

_LOG: Final = logging.getLogger(__name__)


class UsageDetails(TypedDict, total=False):
    """How many tokens a call to a model used; providers add integer counts of their own."""

    input_token_count: int | None
    output_token_count: int | None
    total_token_count: int | None
    cache_creation_input_token_count: int | None
    cache_read_input_token_count: int | None
    reasoning_output_token_count: int | None


def add_usage_details(
    usage1: UsageDetails | Mapping[str, Any] | None,
    usage2: UsageDetails | Mapping[str, Any] | None,
) -> UsageDetails:
    """Add two token counts, key by key; a missing or None count is 0.

    A key with something on either side that is no integer is left out, with a logged warning.
    """
    if usage1 is None or usage2 is None:
        return cast("UsageDetails", dict(usage1 or usage2 or {}))
    total: dict[str, int] = {}
    for key in {**usage1, **usage2}:
        left, right = usage1.get(key) or 0, usage2.get(key) or 0
        if isinstance(left, int) and isinstance(right, int):
            total[key] = left + right
        else:
            _LOG.warning("usage %r is left out: %r + %r is no sum of integers", key, left, right)
    return cast("UsageDetails", total)
