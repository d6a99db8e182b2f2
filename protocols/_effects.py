"""The one seam between code that acts on the world and whoever keeps a journal of it.

A model call costs money, and a tool may send a letter. What must not happen twice when a turn
is run again goes through ``perform``: it asks the recorder of the current context first, which
may know the outcome already. Without a recorder it is one look at a context variable.

The recorder is told *before* the call (the intent) and *after* it (the result). An intent
without a result is an unknown outcome, and ``Effect.idempotent`` says whether doing it again
does any harm. What is written where, and what becomes of unknown outcomes, is the recorder's
business. Its contract:

- Effects are known by ``key``, a path that says where in the run they stand. The same key may
  come again in one turn (an agent that is run twice); the recorder counts these occurrences.
- ``digest`` tells whether the repetition asks for the same as the first time.
- Errors of ``begin`` reach the caller as they are: a recorded failure is raised again there,
  and so is whatever an unknown outcome leads to.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, TypeVar, cast

import attrs

from protocols._frozen import plain

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

ResultT = TypeVar("ResultT")

EffectKind: TypeAlias = Literal["model", "tool", "step"]

#: The recorder of the code that runs here; None records nothing.
current_effects: Final[ContextVar[EffectRecorder | None]] = ContextVar(
    "current_effects", default=None
)

#: While an effect is performed under a recorder: the key to give to a service that supports
#: idempotency keys. The same at each repetition of the effect.
current_idempotency_key: Final[ContextVar[str | None]] = ContextVar(
    "current_idempotency_key", default=None
)

_path: Final[ContextVar[tuple[str, ...]]] = ContextVar("effect_path", default=())


@attrs.frozen(slots=False, eq=False, kw_only=True)
class Effect:
    """Something that is about to be done to the world.

    Args:
        kind: a call of a model, a call of a tool, or a step of a workflow.
        name: of the model, the tool or the step.
        key: where in the run it stands, such as ``"turn 0/call 1 c7/turn 0"``.
        arguments: what it is done with: anything that has a JSON form, messages included.
        idempotent: whether doing it again does no harm.
    """

    kind: EffectKind
    name: str
    key: str
    arguments: Any = attrs.field(default=None, repr=False)
    idempotent: bool = False

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the arguments, in hexadecimal digits; computed when first asked for."""
        data = json.dumps(plain(self.arguments), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(data.encode()).hexdigest()


class EffectEntry(Protocol):
    """What a recorder knows and learns of one effect."""

    @property
    def is_known(self) -> bool:
        """Whether the effect has been done already, so that ``result`` is to be used."""
        ...

    @property
    def result(self) -> Any:
        """What it came to, if it is known."""
        ...

    @property
    def idempotency_key(self) -> str:
        """The same at each repetition of this effect, and unique otherwise."""
        ...

    async def done(self, result: Any) -> None:
        """Record the result; when this returns, it may be relied upon."""
        ...

    async def failed(self, error: Exception) -> None:
        """Record that it was tried and has failed.

        Cancellation is no failure: then neither is called, and the outcome is unknown.
        """
        ...


class EffectRecorder(Protocol):
    """Keeps the journal of a turn; see this module's essay for its contract."""

    async def begin(self, effect: Effect) -> EffectEntry:
        """Record the intent, or find the outcome of an earlier time."""
        ...


def effect_key(*parts: str) -> str:
    """Give the key of something at this place: the path so far, and what is given."""
    return "/".join((*_path.get(), *parts))


@contextmanager
def effects_under(part: str) -> Iterator[None]:
    """Put the keys of everything that is performed inside of the block under this part."""
    token = _path.set((*_path.get(), part))
    try:
        yield
    finally:
        _path.reset(token)


@contextmanager
def performing(entry: EffectEntry) -> Iterator[None]:
    """Let the code inside know the idempotency key of the effect that it performs."""
    token = current_idempotency_key.set(entry.idempotency_key)
    try:
        yield
    finally:
        current_idempotency_key.reset(token)


async def perform(
    describe: Callable[[], Effect], call: Callable[[], Awaitable[ResultT]]
) -> ResultT:
    """Do something to the world, or give what it came to the time before.

    Args:
        describe: says what it is; only called where somebody records.
        call: does it.
    """
    recorder = current_effects.get()
    if recorder is None:
        return await call()
    entry = await recorder.begin(describe())
    if entry.is_known:
        return cast("ResultT", entry.result)
    with performing(entry):
        outcome = await _tried(call)
    # Out here, so that a failure isn't the context of what the recorder may raise.
    if isinstance(outcome, _Failure):
        await entry.failed(outcome.error)
        raise outcome.error
    await entry.done(outcome)
    return outcome


@attrs.frozen
class _Failure:
    error: Exception


async def _tried(  # noqa: ASYNC910 (what it calls is its checkpoint)
    call: Callable[[], Awaitable[ResultT]],
) -> ResultT | _Failure:
    try:
        return await call()
    except Exception as error:  # noqa: BLE001 (it is raised again, once it is recorded)
        return _Failure(error)  # noqa: ASYNC910 (there may be nothing to wait for)
