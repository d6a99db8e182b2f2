"""What tests of tools, approvals and agents as tools have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from actors.agents._sessions._session import AgentSession
from protocols._content._item import Content
from protocols._message import Message
from protocols._responses import AgentResponse

both = pytest.mark.parametrize("way", ["whole", "stream"])


async def run(agent: Any, way: str, *args: Any, **kwargs: Any) -> AgentResponse[Any]:
    """Run an agent, at once or as a stream: both must come to the same."""
    if way == "stream":
        final = await agent.run(*args, stream=True, **kwargs).get_final_response()
    else:
        final = await agent.run(*args, **kwargs)
    assert isinstance(final, AgentResponse)
    return final


def call(call_id: str, name: str, arguments: Any = "{}") -> Content:
    """A call as a model makes it."""
    return Content.from_function_call(call_id, name, arguments=arguments)


def calls(*contents: Content | str) -> Message:
    """A model turn with several calls, or a text and calls."""
    return Message("assistant", list(contents))


def results(messages: Sequence[Message]) -> list[tuple[str | None, Any]]:
    """Every result in some messages: its call id, and its text."""
    return [
        (item.call_id, item.result)
        for message in messages
        for item in message.contents
        if item.type == "function_result"
    ]


def shape(messages: Sequence[Message]) -> list[str]:
    """What some messages hold, briefly."""
    short = {
        "function_call": "call",
        "function_result": "result",
        "function_approval_request": "request",
        "function_approval_response": "response",
    }
    return [
        f"{message.role}: "
        + " ".join(
            item.text or "" if item.type == "text"
            else f"{short.get(item.type, item.type)} {item.call_id or ''}".strip()
            for item in message.contents
        )
        for message in messages
    ]  # fmt: skip


def revived(session: AgentSession) -> AgentSession:
    """The session as another process finds it."""
    import json

    return AgentSession.from_dict(json.loads(json.dumps(session.to_dict())))


def unpaired(messages: Sequence[Message]) -> list[str]:
    """What a strict service would refuse: a call without its result right behind, and so on."""
    problems: list[str] = []
    open_calls: list[str | None] = []
    for message in messages:
        found = [item for item in message.contents if item.type == "function_result"]
        for item in found:
            if item.call_id in open_calls:
                open_calls.remove(item.call_id)
            else:
                problems.append(f"result {item.call_id} without a call")
        if open_calls and not found:
            problems.append(f"calls {open_calls} without a result")
            open_calls = []
        open_calls += [
            item.call_id
            for item in message.contents
            if item.type == "function_call" and not item.informational_only
        ]
        problems += [item.type for item in message.contents if "approval" in item.type]
    return problems + [f"call {one} without a result" for one in open_calls]
