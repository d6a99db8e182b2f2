"""An actor in the place of another, which tells the test what it got."""

from __future__ import annotations

import inspect
from collections import deque
from typing import TYPE_CHECKING, Any, Self

import trio

from actors._core._actor import Actor, handler

if TYPE_CHECKING:
    from collections.abc import Callable

    from actors._core._context import ActorContext
    from actors._core._ref import ActorRef
    from actors._core._system import System


class UnexpectedError(AssertionError):
    """A probe did not get what was expected of it."""


class Probe(Actor):
    """Records each message it gets, until the test asks for it.

    Make one with `Probe.spawn`, and give its ``ref`` to whatever is tested. It takes messages of
    any type, and `Terminated` of those it watches. All waiting is in trio's time, so that it
    costs nothing under a mock clock.

    Args:
        answer: what an ask is answered with: a function of the message, which may be async. What
            it raises, the probe's handler raises. None: the answer is None.
        capacity: how many messages are kept for the test; of more, the oldest are dropped, and
            the next expectation fails and says so.
    """

    def __init__(
        self, answer: Callable[[Any], Any] | None = None, *, capacity: int = 1000
    ) -> None:
        if capacity < 1:
            raise ValueError(f"a probe keeps at least 1 message, not {capacity}")
        self._answer = answer
        self._kept: deque[Any] = deque(maxlen=capacity)
        self._dropped = 0
        self._news = trio.Event()
        self._ref: ActorRef[Any] | None = None

    @classmethod
    def spawn(
        cls,
        system: System | ActorContext,
        name: str | None = None,
        *,
        answer: Callable[[Any], Any] | None = None,
        capacity: int = 1000,
    ) -> Self:
        """Spawn a probe, and return it. A restart keeps what it has recorded.

        Args:
            system: the system, or the context of the actor, that it is spawned by.
            name: as of any actor.
            answer: see the class.
            capacity: see the class.
        """
        probe = cls(answer, capacity=capacity)
        probe._ref = system.spawn(lambda: probe, name=name)
        return probe

    @property
    def ref(self) -> ActorRef[Any]:
        """Where to send it messages."""
        if self._ref is None:
            raise RuntimeError("this probe has no address: make it with Probe.spawn(system)")
        return self._ref

    @property
    def messages(self) -> tuple[Any, ...]:
        """What it got, and nobody has expected yet."""
        return tuple(self._kept)

    @handler
    async def record(self, message: object, ctx: ActorContext) -> Any:  # noqa: ARG002
        """Take any message."""
        self._dropped += len(self._kept) == self._kept.maxlen
        self._kept.append(message)
        self._news.set()
        self._news = trio.Event()
        answer = None if self._answer is None else self._answer(message)
        if inspect.isawaitable(answer):
            return await answer
        return answer  # noqa: ASYNC910  (nothing to wait for)

    async def expect(self, what: Any = object, *, within: float = 1.0, skip: bool = False) -> Any:
        """Wait for the next message, and return it.

        Args:
            what: its type, or a tuple of types; or a predicate; or a value that it equals.
            within: seconds to wait.
            skip: wait for the first message that is as expected, and forget those before it.

        Raises:
            UnexpectedError: there was none in time, or it isn't as expected.
        """
        await trio.lowlevel.checkpoint()
        skipped: list[Any] = []
        with trio.move_on_after(within):
            while True:
                while not self._kept:
                    await self._news.wait()
                self._refuse_gaps()
                message = self._kept.popleft()
                if _matches(message, what):
                    return message
                if not skip:
                    raise UnexpectedError(f"expected {_name(what)}, and got {message!r}")
                skipped.append(message)
        besides = f"; got {skipped!r}" if skipped else ""
        raise UnexpectedError(f"expected {_name(what)} within {within} s{besides}")

    async def expect_nothing(self, *, within: float = 1.0) -> None:
        """Wait, to see that no message comes, and that none is there.

        Args:
            within: seconds to wait.

        Raises:
            UnexpectedError: there was one.
        """
        await trio.lowlevel.checkpoint()
        with trio.move_on_after(within):
            while not self._kept:
                await self._news.wait()
            raise UnexpectedError(f"expected nothing, and got {self._kept[0]!r}")

    def _refuse_gaps(self) -> None:
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            raise UnexpectedError(
                f"the probe had to drop {dropped} messages before anybody expected them; give it "
                "more capacity, or expect them earlier"
            )


def _matches(message: Any, what: Any) -> bool:
    if isinstance(what, (type, tuple)):
        return isinstance(message, what)
    return bool(what(message)) if callable(what) else bool(message == what)


def _name(what: Any) -> str:
    if isinstance(what, tuple):
        return " or ".join(map(_name, what))
    return str(getattr(what, "__qualname__", repr(what)))
