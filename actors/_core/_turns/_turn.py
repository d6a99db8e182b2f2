# How a handler's coroutine is run inside a worker's task, by hand.
#
# A turn that never waits must not cost a task switch, so its first step is taken inline, with
# `coro.send(None)`. If that step ends the coroutine, trio never heard of it. If it yields, the
# thing it yielded is a message to trio's scheduler, and `drive` passes it on and goes on driving.
#
# Three things are easy to get wrong here, and each was wrong in a prototype:
#
# - Context variables. The first step runs under `context.run`. From the first wait on, the turn's
#   context has to be the *task's* context: trio.from_thread.run and trio.to_thread.run_sync look at
#   the task, not at the caller. So the worker sets `task.context`, and later steps run without
#   `context.run` (trio has entered it). It is set before the first step already, for turns that
#   start a dispatcher of their own in the same task.
# - Ctrl-C. Worker code and commits are protected from KeyboardInterrupt, or it would tear a commit
#   in two. Handlers are not: a runaway handler has to be interruptible. `exposed` is the border.
#   It is a frame *inside* the coroutine, not a function around each step: a signal that arrives
#   when a step has just yielded must not raise in between, or what it yielded would be lost while
#   trio's books say that the task waits for it.
# - A stray Cancelled. Only a cancellation that is in force may pass; see `split` and its caller.
"""Stepping a handler's coroutine, and reading what became of it."""

from __future__ import annotations

import functools
import inspect
import traceback
import types
from typing import TYPE_CHECKING, Any, TypeVar, cast

import trio
from trio.lowlevel import disable_ki_protection, enable_ki_protection

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

# What a handler's coroutine yields is between trio and the traps it called; we only pass it on.
Trap = Any
FunctionT = TypeVar("FunctionT", bound="Callable[..., Any]")


@disable_ki_protection  # outside: types.coroutine makes a new code object, which isn't marked
@types.coroutine
def exposed(coro: Coroutine[Trap, Any, Any]) -> Generator[Trap, Any, Any]:
    """Run *coro*, a user's code, where Ctrl-C may interrupt it."""
    return (yield from coro)


def expose(function: FunctionT) -> FunctionT:
    """Let Ctrl-C interrupt *function*, a user's coroutine function, without a frame around it.

    A decorator of trio's that the user puts on top of ours has the last word.
    """
    code = getattr(function, "__code__", None)
    if code is not None and code.co_flags & inspect.CO_COROUTINE:
        return disable_ki_protection(function)

    @disable_ki_protection
    async def call(*args: Any) -> Any:
        return await function(*args)

    return cast("FunctionT", functools.update_wrapper(call, function))


@enable_ki_protection
@types.coroutine
def drive(turn: Generator[Trap, Any, Any], trap: Trap) -> Generator[Trap, Any, Any]:
    """Go on with *turn*, which has just yielded *trap*, and return what it returns."""
    while True:
        try:
            value = yield trap
        except BaseException as exc:  # noqa: BLE001, ASYNC103  (it is thrown on into the handler)
            resume: Callable[[Any], Trap] = turn.throw
            value = exc
        else:
            resume = turn.send
        try:
            trap = resume(value)
        except StopIteration as stop:
            return stop.value
        finally:
            value = None  # an exception kept here would keep its own frame alive


def split(exc: BaseException) -> tuple[BaseException | None, BaseException | None]:
    """Take *exc* apart into (the cancellation in it, the real error in it).

    A nursery inside a handler may raise both in one group.
    """
    if isinstance(exc, trio.Cancelled):
        return exc, None
    if not isinstance(exc, BaseExceptionGroup):
        return None, exc
    return exc.split(trio.Cancelled)


def bare(exc: BaseException) -> BaseException:
    """Take the one error out of the groups that nurseries wrapped it in; several stay a group."""
    while isinstance(exc, BaseExceptionGroup) and len(exc.exceptions) == 1:
        exc = exc.exceptions[0]
    return exc


def stack_of(coro: Any) -> tuple[str, ...]:
    """Return the lines where *coro* is waiting, outermost first, as a traceback shows them.

    trio's own walk of a task stops at `drive`, so the coroutine itself is walked.
    """
    lines: list[str] = []
    while coro is not None:
        frame = getattr(coro, "cr_frame", None) or getattr(coro, "gi_frame", None)
        if frame is not None:
            lines += traceback.format_stack(frame, limit=1)
        coro = coro.cr_await if inspect.iscoroutine(coro) else getattr(coro, "gi_yieldfrom", None)
    return tuple(line.rstrip() for line in lines)
