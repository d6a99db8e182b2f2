"""When to try a model call again: a pure decision, and the thin shell that sleeps."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, TypeVar

import attrs
import trio

from protocols._model_errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

ResultT = TypeVar("ResultT")


@attrs.frozen
class RetryPolicy:
    """How often, and after which pauses, a failed model call is tried again.

    The n-th pause is ``base * factor ** n`` seconds, at most ``maximum``, give or take the
    share ``jitter`` of it. A pause that the endpoint asks for (``Retry-After``) is kept to; if
    it asks for more than ``maximum``, the error is raised at once and says so in its
    ``retry_after``, because a caller can do better things than to sit there.

    Args:
        max_retries: tries after the first one; 0 means that errors are raised at once.
        base: seconds before the first retry.
        factor: by how much each pause is longer than the one before.
        maximum: the longest pause, in seconds.
        jitter: which share of a pause is left to chance, 0 to 1.
    """

    max_retries: int = attrs.field(default=2, validator=attrs.validators.ge(0))
    base: float = attrs.field(default=0.5, validator=attrs.validators.ge(0))
    factor: float = attrs.field(default=2.0, validator=attrs.validators.ge(1))
    maximum: float = attrs.field(default=30.0, validator=attrs.validators.ge(0))
    jitter: float = attrs.field(
        default=0.25,
        validator=attrs.validators.and_(attrs.validators.ge(0), attrs.validators.le(1)),
    )

    def pause(self, error: Exception, *, tried: int, draw: float) -> float | None:
        """Say how long to wait before the next try, or None to give up.

        Args:
            error: what the last try ended with.
            tried: how many tries there have been, at least 1.
            draw: a random number, 0 <= draw < 1.
        """
        if not isinstance(error, ModelError) or not error.retryable:
            return None
        if tried > self.max_retries:
            return None
        asked = error.retry_after or 0.0
        if asked > self.maximum:
            return None
        varied = self._planned(tried) * (1 + self.jitter * (2 * draw - 1))
        # Never before the time that the endpoint named: it would count as one more offence.
        return max(asked, min(self.maximum, varied))

    def _planned(self, tried: int) -> float:
        try:
            return min(self.maximum, self.base * self.factor ** (tried - 1))
        except OverflowError:
            return self.maximum


async def call_with_retries(
    policy: RetryPolicy,
    call: Callable[[], Awaitable[ResultT]],
    *,
    draw: Callable[[], float] = random.random,  # noqa: S311 - spreads load, guards nothing
) -> ResultT:
    """Await ``call()`` until it succeeds or the policy gives up.

    Args:
        policy: what decides.
        call: makes one try; its errors decide, its cancellation passes.
        draw: gives the random numbers for the jitter; tests inject their own.

    Raises:
        ModelError: the last try's, once the policy gave up. Any other exception at once.
    """
    tried = 0
    while True:
        tried += 1
        try:
            return await call()
        except ModelError as error:
            pause = policy.pause(error, tried=tried, draw=draw())
            if pause is None:
                raise
        # Outside the handler, so that a later error isn't chained to one that was dealt with.
        await trio.sleep(pause)
