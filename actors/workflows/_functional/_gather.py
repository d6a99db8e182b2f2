"""Awaiting several things at once, with the results in order."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, TypeVar, overload

import trio

from actors._core._streams._sources import first_of
from actors._core._turns._turn import bare, split

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")


@overload
async def gather(one: Awaitable[A], two: Awaitable[B], /) -> tuple[A, B]: ...
@overload
async def gather(
    one: Awaitable[A], two: Awaitable[B], three: Awaitable[C], /
) -> tuple[A, B, C]: ...
@overload
async def gather(
    one: Awaitable[A], two: Awaitable[B], three: Awaitable[C], four: Awaitable[D], /
) -> tuple[A, B, C, D]: ...
@overload
async def gather(*awaitables: Awaitable[A], return_exceptions: bool = False) -> list[A]: ...
async def gather(  # noqa: ASYNC910  (leaving a nursery is a schedule point)
    *awaitables: Awaitable[Any], return_exceptions: bool = False
) -> Any:
    """Await all of these at the same time, and return their results in the order given.

    It is a nursery that is left when all are done. If one fails, the others are cancelled and
    awaited, and its error is raised, not in a group; what others raised besides is noted on it.
    In a workflow each awaitable is a branch of its own, so that its steps are known by it.

    Args:
        *awaitables: what to await: calls of steps, of workflows, of any async function.
        return_exceptions: put errors among the results, and cancel nobody.

    Returns:
        A list of the results.
    """
    for each in awaitables:
        if not isinstance(each, Awaitable):
            raise TypeError(
                f"gather takes what can be awaited, and {each!r:.80} can't: leave the `await` to "
                "gather, and give the items of a list with a star, gather(*calls)"
            )
    results: list[Any] = [None] * len(awaitables)
    errors: list[Exception] = []

    async def branch(  # noqa: ASYNC910  (whether it waits is the awaitable's affair)
        index: int, awaitable: Awaitable[Any], nursery: trio.Nursery
    ) -> None:
        try:
            results[index] = await awaitable
        except Exception as exc:  # noqa: BLE001  (it is raised when all are done)
            if return_exceptions:
                results[index] = exc
            else:
                errors.append(exc)
                nursery.cancel_scope.cancel()

    cancelled: BaseException | None = None
    try:
        async with trio.open_nursery() as nursery:
            for index, awaitable in enumerate(awaitables):
                # In a workflow, by its name and number a task is known from one replay to the next.
                nursery.start_soon(branch, index, awaitable, nursery, name="gather")
    except BaseException as exc:  # noqa: BLE001, ASYNC103  (it is raised below)
        cancelled = exc
    _raise(cancelled, errors)
    return results  # noqa: ASYNC910


def _raise(passing: BaseException | None, errors: list[Exception]) -> None:
    """Raise what the branches raised: an error bare, and never hidden by a cancellation."""
    if passing is None:
        if errors:
            raise first_of(errors)
    elif errors:
        raise BaseExceptionGroup("what the awaitables raised", [*errors, passing])
    elif split(passing)[1] is None:
        while isinstance(passing, BaseExceptionGroup):
            passing = passing.exceptions[0]  # any one is what `except Cancelled` expects
        raise passing
    else:
        raise bare(passing)
