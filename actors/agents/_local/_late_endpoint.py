# A server that writes an answer looks for its client when it has something to send. While it
# reads a long prompt, or makes an answer that goes out in one piece, it has nothing to send, and
# works on for a client that is long gone. A closed connection alone therefore doesn't mean that
# nothing is left running. Of a server on this machine we can do better, with three things: every
# answer is asked for as a stream, the requests carry what makes the server send something
# while it reads, and whoever leaves an answer early waits until the server has noticed.
#
# The server's busy places are compared with the requests that are still wanted, since it doesn't
# say which place works for whom. It has to look free twice: a request that was left just as it
# went out may be on its way into a place when we look first.
"""For endpoints that notice late that nobody waits for an answer any more."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import attrs
import trio

_log: Final = logging.getLogger(__name__)

NOTICE_BUDGET: Final = 2.0  # seconds
_PAUSE: Final = 0.01


@attrs.define(eq=False)
class LateEndpoint:
    """An endpoint that can be asked how many answers it is working at.

    One of these serves all clients of that endpoint. A normal answer costs it two additions.

    Args:
        busy: asks the endpoint how many answers it is working at; 0 if it is down. It mustn't
            raise, because it runs while an error or a cancellation is on its way.
        extra_body: further fields of every request.
        budget: seconds that whoever leaves an answer early waits at most.
    """

    busy: Callable[[], Awaitable[int]]
    extra_body: Mapping[str, Any] = attrs.field(factory=dict)
    budget: float = NOTICE_BUDGET
    in_flight: int = attrs.field(default=0, init=False)
    """How many requests are out and still wanted."""
    _left: int = attrs.field(default=0, init=False)
    _noticed: int = attrs.field(default=0, init=False)
    _looking: trio.Lock = attrs.field(factory=trio.Lock, init=False)

    def began(self) -> None:
        """Note that a request goes out."""
        self.in_flight += 1

    def ended(self) -> None:
        """Note that nobody waits for a request any more, because it was answered or left."""
        self.in_flight -= 1

    async def wait_noticed(self) -> None:
        """Wait until the endpoint works at no more answers than are wanted.

        Call it behind ``ended()``, when the connection is closed. It shields itself, and gives
        up when the budget is used up, with no more than a line in the log.
        """
        self._left += 1
        with trio.move_on_after(self.budget, shield=True) as scope:
            await self._look(self._left)
        if scope.cancelled_caught:
            _log.warning(
                "the model server still works at an answer that was left %g s ago; it may be at "
                "a long prompt, or somebody else uses it too",
                self.budget,
            )

    async def _look(self, mine: int) -> None:
        # One looks for all who left before: twenty at once would be twenty more to serve.
        async with self._looking:
            seen_free = 0
            while self._noticed < mine:
                left = self._left
                if await self.busy() > self.in_flight:
                    seen_free = 0
                elif seen_free:
                    self._noticed = seen_free
                    return
                else:
                    seen_free = left
                await trio.sleep(_PAUSE)
