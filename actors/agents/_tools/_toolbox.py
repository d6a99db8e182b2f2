# A server of tools (an MCP server, say) is a context manager: it has to be opened before there are
# any tools, and what it opens, nurseries and cancel scopes, belongs to the task that opened it.
# A run that opens it by itself is no such task: a stream's pulls may come from anywhere. So a
# toolbox is opened, kept and closed in a task that does nothing else, whoever asks for it.
#
# It is open as long as anybody uses it: an agent's block, or a run that found it closed. Runs at
# the same time share it, since most context managers can be entered once. One that has failed
# meanwhile is opened again by the next who asks.
"""Tools that have to be opened first."""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Any, Final

import trio

from actors._core._home import Resource
from actors._core._turns._inline import spawn_background

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

_LOG: Final = logging.getLogger("actors.agents")
BUDGET: Final = 5.0
"""Seconds that closing a toolbox may take."""


def is_toolbox(tool: Any) -> bool:
    """Say whether something is no tool, but has tools as its ``functions`` once it is open."""
    if not hasattr(type(tool), "__aenter__"):
        return False
    # Not by asking for them: that may be an error as long as it isn't open.
    return inspect.getattr_static(tool, "functions", None) is not None


def unpacked(tools: Iterable[Any]) -> list[Any]:
    """Give tools, in the place of each toolbox those that are in it."""
    return [
        one
        for tool in tools
        for one in (tool.functions if is_toolbox(tool) else (tool,))  # of an open one
    ]


class KeptOpen:
    """A toolbox is open inside of a block of this.

    Args:
        box: an object with tools as its ``functions``, which is an async context manager. With
            a true ``is_connected`` somebody else has opened it, who will close it.
    """

    def __init__(self, box: Any) -> None:
        self._box = box
        self._hold: _Hold | None = None

    async def __aenter__(self) -> Any:
        await trio.lowlevel.checkpoint()
        hold = _HOLDS.get(id(self._box))
        if hold is None or hold.is_over:
            if getattr(self._box, "is_connected", False):
                return self._box
            hold = _HOLDS[id(self._box)] = _Hold(self._box)
        self._hold = hold
        try:
            await hold.use()
        except BaseException:
            await self.__aexit__(None, None, None)  # noqa: ASYNC102  (it shields itself)
            raise
        return self._box

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        hold, self._hold = self._hold, None
        with trio.CancelScope(shield=True):
            if hold is None:
                await trio.lowlevel.checkpoint()
            else:
                await hold.give_up()


class _Hold:
    """One opening of a toolbox, and how many use it."""

    def __init__(self, box: Any) -> None:
        self._box = box  # (kept: its id names it)
        self._name = getattr(box, "name", None) or type(box).__name__
        self._users = 0
        self._is_closing = False
        self._left = trio.Event()
        # All that it asks of whose it is is to be told when it has left.
        self._resource = Resource(self, box, None)  # type: ignore[arg-type]
        spawn_background(self._resource.run)

    @property
    def is_over(self) -> bool:
        """Whether it is closed, or about to be."""
        return self._left.is_set() or self._is_closing

    async def use(self) -> None:
        """Wait until it is open.

        Raises:
            Exception: why it can't be opened.
        """
        self._users += 1
        await self._resource.settled.wait()
        if (error := self._resource.error) is not None:
            raise error

    async def give_up(self) -> None:
        """Use it no more; the last one closes it."""
        self._users -= 1
        if self._users:
            await trio.lowlevel.checkpoint()
            return
        self._is_closing = True
        self._resource.leave()
        with trio.move_on_after(BUDGET):
            await self._left.wait()
        if not self._left.is_set():
            _LOG.warning(
                "toolbox %s didn't close within %g s; it is cancelled", self._name, BUDGET
            )
            self._resource.cancel()

    def left(self, _: Resource, error: BaseException | None) -> None:
        """It is closed: as somebody wanted, or because it has failed."""
        self._left.set()
        if _HOLDS.get(id(self._box)) is self:
            del _HOLDS[id(self._box)]
        if error is not None:
            _LOG.warning("toolbox %s has failed: %r", self._name, error, exc_info=error)


# What is open at this moment, by the id of the toolbox.
_HOLDS: Final[dict[int, _Hold]] = {}
