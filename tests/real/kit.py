"""Workflows of agents on the real model, and what the kernel knows about its connections."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import attrs
import openai
import pytest
import trio

from actors import (
    Agent,
    AgentResponseUpdate,
    OpenAIChatCompletionClient,
    RetryPolicy,
    Workflow,
    WorkflowBuilder,
    WorkflowEvent,
)
from actors.agents._local._local_model import LocalModel
from tests.openai.conftest import NO_CERTIFICATES

Busy: TypeAlias = Callable[[], Awaitable[int]]

ENDLESS = (
    "Write a very long story about a lighthouse. Never come to an end, and go into every detail."
)
_ESTABLISHED = "01"
_OF_FAKES = ("_fake_openai", "FakeOpenAI", "serve_listeners")


def agent(client: Any, name: str, **options: Any) -> Agent:
    """An agent that always says the same to the same question, exactly twelve tokens of it."""
    # The model may not say that it is done: how long it speaks is the test's to decide.
    usual = {"max_tokens": 12, "temperature": 0, "ignore_eos": True}
    return Agent(client, name=name, default_options=usual | options)


def talker(client: Any, name: str = "talker") -> Agent:
    """An agent that doesn't come to an end while a test is interested."""
    return agent(client, name, max_tokens=1500)


def chain(*participants: Any, **options: Any) -> Workflow:
    """A workflow of some participants, one after the other."""
    builder = WorkflowBuilder(start_executor=participants[0], **options)
    return builder.add_chain(participants).build() if participants[1:] else builder.build()


def texts(events: Sequence[WorkflowEvent], executor_id: str) -> list[str]:
    """The texts of the updates of one agent that aren't empty."""
    found = [e.data for e in events if e.executor_id == executor_id and e.type == "output"]
    return [
        update.text for update in found if isinstance(update, AgentResponseUpdate) and update.text
    ]


def be_patient(model: LocalModel) -> None:
    """Let the model take its time to stop: the machine may be busy with other things."""
    model._endpoint.budget = 30


def open_connections(url: str) -> int:
    """How many connections of this machine lead to the server, as the kernel counts them."""
    if not sys.platform.startswith("linux"):  # pragma: no cover - counted elsewhere
        pytest.skip("only Linux tells its connections this way")
    port = f":{urlsplit(url).port:04X}"
    lines = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    fields = [line.split() for line in lines]
    return sum(f[2].endswith(port) and f[3] == _ESTABLISHED for f in fields)


def running() -> Counter[str]:
    """What tasks there are in this program, but for those of tests."""
    root = trio.lowlevel.current_root_task()
    assert root is not None
    return Counter(t.name for t in _below(root) if not any(map(t.name.count, _OF_FAKES)))


def _below(task: trio.lowlevel.Task) -> Iterator[trio.lowlevel.Task]:
    for nursery in task.child_nurseries:
        for child in nursery.child_tasks:
            # Those of tests and fixtures have names in angle brackets.
            if not child.name.startswith("<"):
                yield child
            yield from _below(child)


def open_client(url: str) -> OpenAIChatCompletionClient:
    """A client that tries nothing twice."""
    made = OpenAIChatCompletionClient(
        "m", api_key="none", base_url=url, retry=RetryPolicy(max_retries=0), timeout=30
    )
    make = made._sdk.make
    made._sdk.make = lambda: make(  # type: ignore[call-arg]  # a partial
        http_client=openai.DefaultAsyncHttpxClient(verify=NO_CERTIFICATES)
    )
    return made


@attrs.frozen
class Told:
    """What a run has told, and how it ended."""

    events: list[WorkflowEvent]
    error: BaseException | None

    @property
    def failures(self) -> list[tuple[str, str | None, str]]:
        """Type, executor and error of the events that say what failed."""
        return [
            (e.type, e.executor_id, e.details.error_type)
            for e in self.events
            if e.type in {"executor_failed", "failed"} and e.details is not None
        ]


async def run(
    workflow: Workflow, message: Any, *, stream: bool, timeout: float | None = None
) -> Told:
    """Run, and keep what it told; without a stream that is only what it gave back.

    Args:
        workflow: what to run.
        message: its input.
        stream: whether to run it with a stream.
        timeout: of the client of its agents, in seconds; the client's own if not given.
    """
    events: list[WorkflowEvent] = []
    kwargs = None if timeout is None else {"timeout": timeout}
    try:
        if not stream:
            return Told(list(await workflow.run(message, client_kwargs=kwargs)), None)
        async with workflow.run(message, stream=True, client_kwargs=kwargs) as told:
            async for each in told:
                events.append(each)
    except Exception as error:
        return Told(events, error)
    return Told(events, None)
