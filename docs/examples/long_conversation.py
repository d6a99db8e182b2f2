"""Keep a conversation in a file, and show a model only what it needs of it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import trio

from actors import (
    Agent,
    AgentSession,
    CompactionProvider,
    FileSessionStore,
    InMemoryHistoryProvider,
    SlidingWindowStrategy,
)
from actors.testing import ScriptedChatClient


async def main() -> None:
    """Talk three times; each time as a program that was started anew."""
    with tempfile.TemporaryDirectory() as folder:
        for text in ("I am Ada.", "I like frogs.", "Who am I?"):
            await talk(FileSessionStore(Path(folder)), text)


async def talk(store: FileSessionStore, text: str) -> None:
    """Take a session out of the store, go on with it, and put it back."""
    client = ScriptedChatClient("I see.")
    agent = Agent(
        client,
        context_providers=[
            InMemoryHistoryProvider(),
            CompactionProvider(before_strategy=SlidingWindowStrategy(2)),
        ],
    )
    session = await store.get("ada") or AgentSession(session_id="ada")
    await agent.run(text, session=session)
    await store.set("ada", session)
    print(client.seen[-1].texts)


if __name__ == "__main__":
    trio.run(main)
