"""The toolboxes that a run has open."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from actors.agents._tools._collection import distinct_tools, normalize_tools
from actors.agents._tools._toolbox import KeptOpen, is_toolbox, unpacked

if TYPE_CHECKING:
    from collections.abc import Sequence


class OpenToolboxes:
    """The toolboxes that were opened for one run, and are closed with it."""

    def __init__(self) -> None:
        self._stack: AsyncExitStack | None = AsyncExitStack()

    async def open_in(self, tools: Sequence[Any]) -> list[Any]:
        """Open the toolboxes among the tools, and give what is in them in their place."""
        assert self._stack is not None, "a run opens toolboxes once"
        for tool in tools:
            if is_toolbox(tool):
                await self._stack.enter_async_context(KeptOpen(tool))
        return distinct_tools(normalize_tools(unpacked(tools)))  # noqa: ASYNC910 (there is one, says the caller)

    async def close(self) -> None:  # noqa: ASYNC910 (they are closed once)
        """Close them, the last one first; a second call does nothing."""
        stack, self._stack = self._stack, None
        if stack is not None:
            await stack.aclose()
