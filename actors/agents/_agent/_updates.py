"""An agent's answer as a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

import trio

from actors.agents._agent._answers import agent_update

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from actors.agents._agent._run import AgentRun
    from protocols._responses import AgentResponseUpdate, ChatResponseUpdate

CLOSE_BUDGET: Final = 5.0
"""Seconds that keeping what had come of an interrupted run may take."""


class AgentUpdates:
    """The updates of a run, as a source of a stream."""

    def __init__(self, run: AgentRun) -> None:
        self._run = run
        self._updates: list[AgentResponseUpdate] = []  # of the turn in progress
        self._last: AgentResponseUpdate | None = None
        self._turns = 0
        self._inner: AsyncIterator[ChatResponseUpdate] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AgentResponseUpdate:
        if self._inner is None:
            self._inner = await self._run.open_updates()
        chat_update = await anext(self._inner)
        if chat_update.conversation_id is not None:
            self._run.note_conversation(chat_update)
        update = agent_update(chat_update, self._last, self._run.agent)
        turns = len(self._run.link.transcript)
        if turns != self._turns:
            self._turns = turns
            self._updates.clear()
        self._updates.append(update)
        self._last = update
        return update

    async def aclose(self) -> None:
        """End the run early: close the client's stream, and the history."""
        try:
            close = getattr(self._inner, "aclose", None)
            if close is not None:
                await close()
        finally:
            with trio.move_on_after(CLOSE_BUDGET, shield=True):
                # The turn may have been completed since its last update.
                goes_on = len(self._run.link.transcript) == self._turns
                await self._run.close_history(self._updates if goes_on else ())
