"""``AgentExecutor``: an agent as a participant of a workflow.

The session of an agent is the one thing here that isn't a frozen value. Every turn works on a
copy of it, and the copy becomes the executor's session when the turn commits: a turn that fails
leaves the agent as if it had never been asked. A session that was given from outside takes
over the copy's changes at that same instant.

This layer doesn't know the agents': it asks an agent for a session, and a session for
``working_copy``, ``adopt`` and ``held_messages``, and does without where they don't exist.
"""

from __future__ import annotations

import logging
import uuid
from typing import TYPE_CHECKING, Any, Final

import attrs

from actors._core._streams._stream import ResponseStream
from actors.workflows._agents._agent_answers import wrong_answer
from actors.workflows._agents._agent_input import (
    ContextFilter,
    answer_messages,
    checked_mode,
    ended_by_user,
    is_workflow_input,
    joined,
    request_ids,
    selected,
    takes_tools,
    unheld,
)
from actors.workflows._agents._agent_session import (
    bring_home,
    held_by,
    settle_replay,
    stored,
    unstored,
    working_session,
)
from actors.workflows._graph._context_api import WorkflowContext
from actors.workflows._graph._executor import Executor
from actors.workflows._graph._handlers import handler, response_handler
from protocols._agents import AgentExecutorRequest, AgentExecutorResponse
from protocols._codec._tags import default_registry
from protocols._content._item import Content
from protocols._frozen import EMPTY_DICT, FrozenDict, freeze_mapping
from protocols._interfaces import SupportsResponseStream
from protocols._log import EMPTY_LOG, Log
from protocols._message import Message, normalize_messages
from protocols._responses import AgentResponse, AgentResponseUpdate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocols._interfaces import SupportsAgentRun

_log: Final = logging.getLogger(__name__)

AgentContext = WorkflowContext[AgentExecutorResponse, AgentResponse | AgentResponseUpdate]


@attrs.frozen
class AgentExecutorState:
    """What an agent executor remembers from turn to turn.

    Args:
        cache: messages that wait for the next turn in which the agent answers.
        full_conversation: what the last answer was the end of.
        session: the agent's; never changed, only replaced.
        requested: ids of what the agent wants to know, in its order.
        answers: what was answered of it so far.
    """

    cache: Log[Message] = EMPTY_LOG
    full_conversation: Log[Message] = EMPTY_LOG
    session: Any = None
    requested: tuple[str, ...] = ()
    answers: FrozenDict[str, Content] = attrs.field(default=EMPTY_DICT, converter=freeze_mapping)


def resolve_agent_id(agent: SupportsAgentRun) -> str:
    """Give the id that an agent has as an executor: its name, or its own id without one."""
    return agent.name or agent.id


class AgentExecutor(Executor):
    """Runs an agent on the messages that reach it, and sends its answer on.

    Args:
        agent: the agent.
        session: the conversation to go on with, over all runs; without it every run has a
            session of its own.
        id: of the executor; the agent's name, or else its id, if not given.
        context_mode: what of another agent's conversation this one gets to read: ``"full"``
            (the default), ``"last_agent"`` for that agent's answer only, or ``"custom"``.
        context_filter: chooses the messages in mode ``"custom"``.
        ensure_trailing_user_turn: if what the agent is given ends with an assistant's message,
            ask it to go on in the user's name; some models say nothing otherwise. That is no
            part of the conversation that is passed on.

    Raises:
        ValueError: there is no id, or no such mode, or no filter where one is needed.
    """

    state = AgentExecutorState()

    def __init__(
        self,
        agent: SupportsAgentRun,
        *,
        session: Any = None,
        id: str | None = None,  # noqa: A002 (MAF's keyword)
        context_mode: str | None = None,
        context_filter: ContextFilter | None = None,
        ensure_trailing_user_turn: bool = False,
    ) -> None:
        super().__init__(resolve_agent_id(agent) if id is None else id)
        self.agent = agent
        self._session = session
        self._mode = checked_mode(self.id, context_mode, context_filter)
        self._filter = context_filter
        self._ends_with_user = ensure_trailing_user_turn

    def store_state(self, state: AgentExecutorState) -> AgentExecutorState:
        """Return the state with the session as data."""
        return attrs.evolve(state, session=stored(state.session))

    def load_state(self, kept: AgentExecutorState) -> AgentExecutorState:
        """Return the state with a session of the agent's; a session that was given follows it."""
        return attrs.evolve(kept, session=unstored(kept.session, self.agent, self._session))

    @property
    def description(self) -> str | None:
        """What the agent is for."""
        return self.agent.description

    def reset(self) -> None:
        """Do nothing: for code that clears what is kept between runs. Here each run begins anew."""

    def wrong_answer(self, asked: Any, answer: Any) -> str | None:
        """Return what is wrong with an answer to what the agent has asked."""
        return wrong_answer(asked, answer)

    # ------------------------------------------------------------------ what comes in

    @handler
    async def run(  # noqa: ASYNC910 (keeping messages needs no waiting)
        self, request: AgentExecutorRequest, ctx: AgentContext
    ) -> None:
        """Take messages, and answer them if the request says so."""
        conversation = joined(ctx.state.cache, request.messages)
        if request.should_respond:
            await self._answer(conversation, ctx)
        else:
            ctx.state = attrs.evolve(ctx.state, cache=conversation)

    @handler
    async def from_str(self, text: str, ctx: AgentContext) -> None:
        """Answer a text of the user's."""
        is_input = is_workflow_input(ctx.source_executor_ids)
        if not ctx.state.cache and not is_input and agents_have_spoken(ctx):
            _log.warning(
                "agent executor %r got a str from %s, so its agent sees none of the conversation "
                "before; send response.with_text(...) to keep it",
                self.id,
                ", ".join(ctx.source_executor_ids),
            )
        await self._answer(joined(ctx.state.cache, normalize_messages(text)), ctx)

    @handler
    async def from_message(self, message: Message, ctx: AgentContext) -> None:
        """Answer a message."""
        await self._answer(joined(ctx.state.cache, [message]), ctx)

    @handler
    async def from_messages(self, messages: list[str | Message], ctx: AgentContext) -> None:
        """Answer several messages; a text is the user's."""
        await self._answer(joined(ctx.state.cache, normalize_messages(messages)), ctx)

    @handler
    async def from_response(self, response: AgentExecutorResponse, ctx: AgentContext) -> None:
        """Go on where another agent has answered."""
        incoming = selected(response, self._mode, self._filter)
        await self._answer(joined(ctx.state.cache, incoming), ctx)

    @response_handler
    async def from_answer(self, asked: Content, answer: Content, ctx: AgentContext) -> None:
        """Take an answer to what the agent wanted to know; it goes on when it has them all."""
        state: AgentExecutorState = ctx.state
        request_id = ctx.request_id or asked.id or asked.call_id or ""
        answers = FrozenDict({**state.answers, request_id: answer})
        if any(one not in answers for one in state.requested):
            ctx.state = attrs.evolve(state, answers=answers)
            return  # noqa: ASYNC910 (there are more to come)
        ctx.state = attrs.evolve(state, requested=(), answers=EMPTY_DICT)
        said = answer_messages(state.requested or (request_id,), answers)
        await self._answer(joined(state.cache, said), ctx)

    # ----------------------------------------------------------------------- the turn

    async def _answer(self, conversation: Log[Message], ctx: AgentContext) -> None:
        """Run the agent on a conversation; what it says becomes the turn's effect."""
        state: AgentExecutorState = ctx.state
        session = working_session(self.agent, self._session, state.session)
        messages = unheld(conversation, held_by(session, state.full_conversation))
        messages = settle_replay(self.agent, session, conversation, messages, ctx)
        if not messages:
            _log.warning("agent executor %r runs its agent without any new message", self.id)
        # Once for the turn: a listener may come in the middle of it.
        is_streaming = ctx.is_streaming()
        response = await self._run_agent(messages, session, ctx, is_streaming=is_streaming)
        conversation = conversation.extended(response.messages)
        engine: Any = ctx
        bring_home(self._session, session, engine)
        requests = response.user_input_requests
        if requests:
            if response.text:
                _log.warning(
                    "agent %r wants to know something first; what it has said already, %r, stays "
                    "in the conversation but is no output",
                    self.id,
                    response.text,
                )
            state = attrs.evolve(state, full_conversation=conversation, session=session)
            ctx.state = await self._ask(requests, state, ctx)
            return
        ctx.state = AgentExecutorState(
            EMPTY_LOG, conversation, session, state.requested, state.answers
        )
        if not is_streaming:
            await ctx.yield_output(response)
        elif engine.wants_whole:
            engine.keep_output(response)
        await ctx.send_message(AgentExecutorResponse(self.id, response, conversation))

    async def _run_agent(
        self, messages: list[Message], session: Any, ctx: AgentContext, *, is_streaming: bool
    ) -> AgentResponse[Any]:
        kwargs = run_kwargs(ctx, self.agent)
        if self._ends_with_user:
            messages = ended_by_user(messages)
        if not is_streaming:
            return await self.agent.run(messages, stream=False, session=session, **kwargs)
        updates: Any = self.agent.run(messages, stream=True, session=session, **kwargs)
        if not isinstance(updates, SupportsResponseStream):
            updates = ResponseStream(updates, finalizer=AgentResponse.from_updates)
        engine: Any = ctx
        show = engine.preview_output if engine.wants_whole else ctx.yield_output
        async with updates:
            async for update in updates:
                if not update.user_input_requests:
                    await show(update)
            final: AgentResponse[Any] = await updates.get_final_response()
        return final

    async def _ask(
        self, requests: Sequence[Content], state: AgentExecutorState, ctx: AgentContext
    ) -> AgentExecutorState:
        """Ask the world outside what the agent wants to know; the conversation waits.

        What it has asked about an earlier message is still open: it goes on when it has it all.
        """
        ids = request_ids(requests, lambda: str(uuid.uuid4()))
        for request_id, request in zip(ids, requests, strict=True):
            if request_id not in state.requested:
                await ctx.request_info(request, Content, request_id=request_id)
        requested = tuple(dict.fromkeys((*state.requested, *ids)))
        return attrs.evolve(state, cache=state.full_conversation, requested=requested)  # noqa: ASYNC910 (there is at least one request)


def agents_have_spoken(ctx: AgentContext) -> bool:
    """Say whether there is a conversation in this run that somebody could have passed on."""
    engine: Any = ctx
    cells = engine.cell.conductor.cells.values()
    states = (cell.state for cell in cells)
    return any(isinstance(one, AgentExecutorState) and one.full_conversation for one in states)


def run_kwargs(ctx: WorkflowContext[Any, Any], agent: SupportsAgentRun) -> dict[str, Any]:
    """Give what the caller of the workflow has for this agent; an agent may do without it."""
    engine: Any = ctx
    functions, client = engine.get_run_kwargs()
    tools = ctx.get_runtime_tools()
    if functions is client is tools is None:
        return {}
    given = {"function_invocation_kwargs": functions, "client_kwargs": client}
    if tools is not None and takes_tools(agent):
        given["tools"] = tools
    return {name: value for name, value in given.items() if value is not None}


default_registry.register(AgentExecutorState, "agent_executor_state")
