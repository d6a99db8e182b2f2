"""The journal of the turn in progress, as the code inside of it meets it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from actors.workflows._durable._errors import UnknownOutcomeError
from actors.workflows._durable._journal import Journal, JournalEntry, Replay, Unknown

if TYPE_CHECKING:
    from actors.workflows._running._context import TurnContext
    from protocols._effects import Effect


class TurnEffects:
    """Records what one turn does outside: `protocols.EffectRecorder`.

    Args:
        ctx: the turn.
    """

    __slots__ = ("_ctx",)

    def __init__(self, ctx: TurnContext) -> None:
        self._ctx = ctx

    async def begin(self, effect: Effect) -> TurnEffect:  # noqa: ASYNC910  (waits for stores only)
        """Find what came of *effect* before, or write down that it is about to be done.

        Raises:
            UnknownOutcomeError: it was begun before, nobody knows how it ended, and doing it
                again may do harm.
        """
        ctx = self._ctx
        ctx.require_open()
        journal = ctx.journal()
        key = journal.next_key(effect.key)
        # What a model is asked follows from all that came before; comparing it would cost the
        # length of the conversation at each call.
        is_compared = effect.kind != "model" and effect.arguments is not None
        digest = effect.digest if is_compared else None
        decision = journal.decide(key, digest, idempotent=effect.idempotent)
        entry = JournalEntry(key, effect.kind, effect.name, "intent", digest)
        name = f"{ctx.idempotency_key}/{key}"
        if isinstance(decision, Replay):
            return TurnEffect(ctx, entry, name, is_known=True, result=decision.result)  # noqa: ASYNC910  (waits for stores only)
        if isinstance(decision, Unknown):
            error = UnknownOutcomeError(ctx.delivery.target, decision.entry, name)
            # It is for no supervisor to try again, and for no model to hear of.
            ctx.cell.conductor.run.fail(error)
            raise error
        if decision.write_intent:
            await ctx.record(journal.record(entry), entry)
        return TurnEffect(ctx, entry, name)  # noqa: ASYNC910  (waits for stores only)


class TurnEffect:
    """One effect of a turn: `protocols.EffectEntry`."""

    __slots__ = ("_ctx", "_entry", "idempotency_key", "is_known", "result")

    def __init__(
        self,
        ctx: TurnContext,
        entry: JournalEntry,
        idempotency_key: str,
        *,
        is_known: bool = False,
        result: Any = None,
    ) -> None:
        self._ctx = ctx
        self._entry = entry
        self.idempotency_key = idempotency_key
        self.is_known = is_known
        self.result = result

    async def done(self, result: Any) -> None:
        """Write the result down; from now on it counts."""
        await self._end(attrs.evolve(self._entry, status="done", result=result))

    async def failed(self, error: Exception) -> None:
        """Write down that nothing came of it."""
        del error  # it is raised where it happened, and can't be raised again elsewhere
        await self._end(attrs.evolve(self._entry, status="failed"))

    async def _end(self, entry: JournalEntry) -> None:  # noqa: ASYNC910  (waits for stores only)
        journal: Journal = self._ctx.journal()
        await self._ctx.record(journal.record(entry), entry)
