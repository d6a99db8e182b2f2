"""How requests to services say who makes them."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

USER_AGENT_KEY: Final = "User-Agent"


@cache
def user_agent() -> str:
    """Our name and version, as HTTP writes them."""
    try:
        return f"trio-actors/{version('trio-actors')}"
    except PackageNotFoundError:  # run from a source tree that isn't installed
        return "trio-actors"


AGENT_FRAMEWORK_USER_AGENT: Final = user_agent()
"""Under this name because code that was written for MAF asks for it."""


def prepend_agent_framework_to_user_agent(headers: dict[str, Any] | None = None) -> dict[str, Any]:
    """Put our name in front of the user agent of some headers.

    Args:
        headers: a client's; changed, if given.

    Returns:
        The headers.
    """
    found = {} if headers is None else headers
    before = found.get(USER_AGENT_KEY)
    found[USER_AGENT_KEY] = f"{user_agent()} {before}" if before else user_agent()
    return found
