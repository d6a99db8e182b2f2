"""A newsroom of three agents: a summariser, a headline writer, and an editor who may say no.

    make demo                                          # the news below
    actors run docs/examples/newsroom.py "Your news."  # news of yours

With OPENAI_API_KEY in the environment the agents ask that service; OPENAI_BASE_URL and
OPENAI_MODEL choose another one. Without a key they ask a very small model on this machine, if
`actors model fetch` has got it; without that, a client that only repeats what it is told.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import textwrap
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal

import attrs
import trio
from pydantic import BaseModel

from actors import (
    ActorsError,
    Agent,
    AgentExecutor,
    AgentExecutorRequest,
    AgentExecutorResponse,
    AgentResponseUpdate,
    EchoChatClient,
    Executor,
    HistoryProvider,
    Message,
    ModelFileError,
    OpenAIChatCompletionClient,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowEvent,
    add_usage_details,
    executor,
    handler,
    open_local_model,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

NEWS = (
    "A library in the town of Marrow Bay will lend out musical instruments from Monday. Anyone "
    "with a library card can borrow a guitar, a violin or a drum for four weeks, free of charge. "
    "The instruments were given by people who no longer play them. The library already has a "
    "waiting list for the only cello."
)
MOST_REVISIONS = 2

# ------------------------------------------------------------------ what the editor decides


class Verdict(BaseModel):
    """The editor's answer. The model gets this as a schema, and answers in JSON."""

    approved: bool
    advice: Literal["Make it shorter.", "Name the place.", "Use simple words."]


def verdict_in(response: AgentExecutorResponse) -> Verdict:
    """Read the verdict; one that the model didn't finish counts as a no."""
    try:
        verdict: Verdict | None = response.agent_response.value
    except ValueError:
        verdict = None
    return verdict or Verdict(approved=False, advice="Use simple words.")


def is_approved(response: AgentExecutorResponse) -> bool:
    return verdict_in(response).approved


def is_rejected(response: AgentExecutorResponse) -> bool:
    return not is_approved(response)


# ------------------------------------------------------------------ who is no agent


def task(text: str) -> AgentExecutorRequest:
    """Make a request of a task.

    It is a message of the user's and no ``instructions``: the small model ignores those.
    """
    return AgentExecutorRequest([Message("user", [text])])


@executor
async def front_desk(news: str, ctx: WorkflowContext[AgentExecutorRequest]) -> None:
    await ctx.send_message(task(f"{news}\n\nSummarize the text above in one short sentence."))


@attrs.frozen
class Job:
    """What the copy desk remembers."""

    summary: str = ""
    advice: tuple[str, ...] = ()


@attrs.frozen
class Edition:
    """What comes out in the end."""

    headline: str
    summary: str
    approved: bool
    revisions: int

    def __str__(self) -> str:
        decision = "approved" if self.approved else "said no to the last, but it is late"
        revisions = f"Revisions: {self.revisions} of {MOST_REVISIONS}"
        return f"{revisions}; the editor {decision}.\n\n    {self.headline}\n    {self.summary}"


class CopyDesk(Executor):
    """Has a headline written, and written again if the editor says so, but not for ever."""

    # Frozen. What a turn assigns to ctx.state counts if the turn succeeds, and only then.
    state = Job()

    @handler
    async def assign(
        self,
        response: AgentExecutorResponse,
        ctx: WorkflowContext[AgentExecutorRequest | AgentExecutorResponse],
    ) -> None:
        job = ctx.state
        if response.executor_id == "summariser":
            job = Job(summary=response.agent_response.text.strip())
        elif len(job.advice) == MOST_REVISIONS:
            await ctx.send_message(response, target_id="publisher")
            return
        else:
            job = attrs.evolve(job, advice=(*job.advice, verdict_in(response).advice))
        ctx.state = job
        ctx.set_state("job", job)  # for the publisher: this is the whole run's
        wanted = " ".join(["Give this text a title of a few words.", *job.advice])
        await ctx.send_message(task(f"{job.summary}\n\n{wanted}"), target_id="headline writer")


@executor(id="publisher")
async def publisher(response: AgentExecutorResponse, ctx: WorkflowContext[Any, Edition]) -> None:
    said = {message.author_name: message.text for message in response.full_conversation}
    job: Job = ctx.get_state("job")
    headline, summary = (shown(text) for text in (said["headline writer"], job.summary))
    await ctx.yield_output(Edition(headline, summary, is_approved(response), len(job.advice)))


def shown(text: str) -> str:
    """Return one line of sensible length; a small model sometimes goes on and on."""
    return textwrap.shorten(text.strip().strip('"'), 200, placeholder=" …")


# ------------------------------------------------------------------ the workflow


class NoMemory(HistoryProvider):
    """Lets an agent begin each task with a clean sheet, even within one conversation.

    A small model that reads its last headline again only repeats it.
    """

    async def get_messages(
        self,
        session_id: str | None,  # noqa: ARG002 (there is nothing to look up)
        **kwargs: Any,  # noqa: ARG002 (the same)
    ) -> list[Message]:
        await trio.lowlevel.checkpoint()
        return []


def build(client: Any, **options: Any) -> Workflow:
    """Put the newsroom together around a client for whatever model there is.

    Args:
        client: the three agents share it.
        **options: for the two agents that write.
    """

    def agent(name: str, **options: Any) -> Agent:
        no_memory = NoMemory("no memory", store_inputs=False, store_outputs=False)
        return Agent(client, name=name, default_options=options, context_providers=no_memory)

    def asked(conversation: list[Message]) -> list[Message]:
        return [*conversation, Message("user", ["Is this a good title?"])]

    summariser = agent("summariser", **options)
    writer = agent("headline writer", **options)
    editor = AgentExecutor(
        agent("editor", response_format=Verdict), context_mode="custom", context_filter=asked
    )
    desk = CopyDesk("copy desk")
    return (
        WorkflowBuilder(
            name="newsroom",
            start_executor=front_desk,
            output_from=[publisher],
            intermediate_output_from="all_other",
        )
        .add_chain([front_desk, summariser, desk, writer, editor])
        .add_edge(editor, publisher, condition=is_approved)
        .add_edge(editor, desk, condition=is_rejected)
        .add_edge(desk, publisher)
        .build()
    )


@asynccontextmanager
async def workflow() -> AsyncIterator[Workflow]:
    """Open a model and build the newsroom on it. This is what `actors run` looks for."""
    async with AsyncExitStack() as stack:
        client, options = await open_model(stack)
        yield build(client, **options)


async def open_model(stack: AsyncExitStack) -> tuple[Any, dict[str, Any]]:
    """Open the best model there is, until *stack* is left; give a client and its options."""
    if os.environ.get("OPENAI_API_KEY"):
        model = os.environ.get("OPENAI_MODEL") or "gpt-4.1-mini"
        openai = await stack.enter_async_context(OpenAIChatCompletionClient(model))
        say(f"The agents ask {model} at {openai.service_url()}.")
        return openai, {}
    if importlib.util.find_spec("xllamacpp") is not None:
        try:
            # A process of its own, which is started again if it dies and is gone at the end.
            local = await stack.enter_async_context(open_local_model(on_restart=say))
        except ModelFileError as error:
            say(str(error))
        else:
            say(f"The agents ask a very small language model, at {local.base_url}.")
            client = await stack.enter_async_context(local.client())
            return client, {"temperature": 0, "max_tokens": 45, "stop": ["\n"]}
    say("There is no language model: the agents only repeat what they are told.")
    await trio.lowlevel.checkpoint()
    return EchoChatClient(), {}


# ------------------------------------------------------------------ what one sees of it


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@attrs.define
class Work:
    """What one agent has done so far."""

    started: float = 0.0
    seconds: float = 0.0
    turns: int = 0
    usage: Any = None


class Screen:
    """Shows the agents' words as they come, and counts."""

    def __init__(self) -> None:
        self.work: dict[str, Work] = {}
        self.speaker = ""
        self.is_after_space = False

    def show(self, event: WorkflowEvent) -> None:
        who = event.executor_id or ""
        if event.type == "intermediate" and isinstance(event.data, AgentResponseUpdate):
            self.words(who, event.data.text)
        elif event.type == "executor_invoked":
            self.work.setdefault(who, Work()).started = trio.current_time()
        elif event.type == "executor_completed":
            self.count(who, event.data)

    def words(self, who: str, text: str) -> None:
        if who != self.speaker:
            print(f"\n\n{who}: " if self.speaker else f"\n{who}: ", end="")
            self.speaker, self.is_after_space = who, True
        # A model that writes JSON may break lines and indent as it likes.
        text = re.sub(r"\s+", " ", text)
        print(text.lstrip() if self.is_after_space else text, end="", flush=True)
        self.is_after_space = text.endswith(" ")

    def count(self, who: str, sent: list[Any] | None) -> None:
        work = self.work[who]
        work.turns += 1
        work.seconds += trio.current_time() - work.started
        for message in sent or ():
            # One with another id is somebody else's answer, passed on.
            if isinstance(message, AgentExecutorResponse) and message.executor_id == who:
                work.usage = add_usage_details(work.usage, message.agent_response.usage_details)

    def table(self) -> None:
        print(f"\n{'agent':<18}{'turns':>6}{'read':>8}{'written':>9}{'seconds':>9}")
        for who, work in self.work.items():
            if work.usage:
                read = work.usage.get("input_token_count", 0)
                written = work.usage.get("output_token_count", 0)
                print(f"{who:<18}{work.turns:>6}{read:>8}{written:>9}{work.seconds:>9.1f}")


async def main() -> None:
    screen = Screen()
    print(f"The news: {NEWS}\n", flush=True)
    async with workflow() as newsroom, newsroom.run(NEWS, stream=True) as events:
        async for event in events:
            screen.show(event)
        result = await events.get_final_response()
    [edition] = result.get_outputs()
    print(f"\n\n{edition}")
    screen.table()


if __name__ == "__main__":
    try:
        trio.run(main)
    except ActorsError as error:
        sys.exit(f"\nnewsroom: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
