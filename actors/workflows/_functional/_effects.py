# A step that is broken off is done again, and what it has done outside must not be: a model call
# that was paid for, a tool that has sent a letter. They come through the one seam for effects
# (`protocols._effects`), and a step keeps a journal of them in the run's log, by the same
# decisions as the turn of an executor. When the step is done, its journal goes.
"""What a step does to the world outside, recorded while it is at work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from actors.workflows._durable._errors import UnknownOutcomeError
from actors.workflows._durable._journal import Journal, JournalEntry, Replay, Unknown
from actors.workflows._functional._journal import Effected

if TYPE_CHECKING:
    from actors.workflows._functional._run import FunctionalRun
    from protocols._effects import Effect


class StepEffects:
    """Records what one step does outside, over all attempts at it: `protocols.EffectRecorder`.

    Args:
        run: the run.
        name: of the step.
        path: of the step.
    """

    __slots__ = ("_journal", "_name", "_path", "_run")

    def __init__(self, run: FunctionalRun, name: str, path: str) -> None:
        self._run = run
        self._name = name
        self._path = path
        self._journal = Journal(run.journal.effects.get(path, ()))

    async def begin(self, effect: Effect) -> StepEffect:  # noqa: ASYNC910  (waits for stores only)
        """Find what came of *effect* before, or write down that it is about to be done.

        Raises:
            UnknownOutcomeError: it was begun before, nobody knows how it ended, and doing it
                again may do harm.
        """
        key = self._journal.next_key(effect.key)
        # What a model is asked follows from all that came before; to compare it would cost the
        # length of the conversation.
        is_compared = effect.kind != "model" and effect.arguments is not None
        digest = effect.digest if is_compared else None
        decision = self._journal.decide(key, digest, idempotent=effect.idempotent)
        entry = JournalEntry(key, effect.kind, effect.name, "intent", digest)
        name = f"{self._run.keeper.run_id}{self._path}/{key}"
        if isinstance(decision, Replay):
            return StepEffect(self, entry, name, is_known=True, result=decision.result)  # noqa: ASYNC910
        if isinstance(decision, Unknown):
            error = UnknownOutcomeError(self._name, decision.entry, name)
            # It is for no supervisor to try again, and for no model to hear of.
            self._run.break_off(error)
            raise error
        if decision.write_intent:
            await self.record(entry)
        return StepEffect(self, entry, name)  # noqa: ASYNC910

    async def again(self) -> None:  # noqa: ASYNC910  (as `begin`)
        """The step has raised, and is tried again: models are asked anew."""
        for number in self._journal.begin_attempt(after_exception=True):
            await self._write(number, list(self._journal)[number])

    async def record(self, entry: JournalEntry) -> None:
        """Write *entry* down; from now on it counts."""
        await self._write(self._journal.record(entry), entry)

    async def _write(self, number: int, entry: JournalEntry) -> None:
        await self._run.keeper.record(Effected(self._path, number, entry))


class StepEffect:
    """One effect of a step: `protocols.EffectEntry`."""

    __slots__ = ("_entry", "_step", "idempotency_key", "is_known", "result")

    def __init__(
        self,
        step: StepEffects,
        entry: JournalEntry,
        idempotency_key: str,
        *,
        is_known: bool = False,
        result: Any = None,
    ) -> None:
        self._step = step
        self._entry = entry
        self.idempotency_key = idempotency_key
        self.is_known = is_known
        self.result = result

    async def done(self, result: Any) -> None:
        """Write the result down; from now on it counts."""
        await self._step.record(attrs.evolve(self._entry, status="done", result=result))

    async def failed(self, error: Exception) -> None:  # noqa: ARG002  (it is raised where it happened)
        """Write down that nothing came of it."""
        await self._step.record(attrs.evolve(self._entry, status="failed"))
