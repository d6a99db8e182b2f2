# The other way to have an agent in a workflow. An `AgentExecutor` answers whatever reaches it; a
# host only collects, and answers when a `TurnToken` comes. It then sends what it got, what it said
# and the token on, in this order, so that agents in a row speak one after the other, and an
# executor before them decides when.
#
# What an agent asks people goes outside or, intercepted, to the executors around. The token is
# kept back as long as anything is open; each answer goes on with the turn at once.
"""``AgentHostExecutor``: an agent that collects messages, and speaks when it is given the word."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final, cast

import attrs

from actors._core._streams._stream import ResponseStream
from actors.workflows._agents._agent_executor import resolve_agent_id, run_kwargs
from actors.workflows._agents._agent_session import bring_home, stored, unstored, working_session
from actors.workflows._agents._host_messages import (
    open_requests,
    portable,
    reassigned,
    request_name,
)
from actors.workflows._graph._context_api import WorkflowContext
from actors.workflows._graph._executor import Executor
from actors.workflows._graph._handlers import handler, response_handler
from protocols._agents import TurnToken
from protocols._codec._tags import default_registry
from protocols._content._item import Content
from protocols._errors import UnknownRequestError
from protocols._frozen import EMPTY_DICT, FrozenDict, freeze_mapping
from protocols._interfaces import SupportsResponseStream
from protocols._log import Log
from protocols._message import Message, normalize_messages
from protocols._responses import AgentResponse, AgentResponseUpdate

if TYPE_CHECKING:
    from actors.workflows._running._context import TurnContext
    from protocols._interfaces import SupportsAgentRun

HostContext = WorkflowContext[
    list[Message] | TurnToken | Content, AgentResponse | AgentResponseUpdate
]
_ANSWERS: Final = frozenset({"function_approval_response", "function_result"})


@attrs.frozen
class ResetChatSignal:
    """Has an agent host forget its session, and how the turn was to be streamed."""


@attrs.frozen
class AgentHostState:
    """What a host remembers from message to message.

    Args:
        buffer: what it has collected since its last turn.
        session: the agent's; never changed, only replaced.
        emits: whether the turn in progress streams; None between turns.
        open: what the agent wants to know, by the name of the request.
    """

    buffer: Log[Message] = attrs.field(factory=Log)
    session: Any = None
    emits: bool | None = None
    open: FrozenDict[str, Content] = attrs.field(default=EMPTY_DICT, converter=freeze_mapping)


class AgentHostExecutor(Executor):
    """Collects messages for an agent, and lets it answer them when a `TurnToken` comes.

    Args:
        agent: the agent.
        id: of the executor; the agent's name, or else its id, if not given.
        session: the conversation to go on with, over all runs; without it every run has a
            session of its own.
        emit_update_events: yield updates as they come, where the token doesn't say; None is no.
        emit_response_events: yield the whole response, too.
        intercept_user_input_requests: send approval requests to the executors around, instead of
            asking the world outside; they answer with the response content.
        intercept_unterminated_function_calls: likewise with calls that have no result.
        reassign_other_agents_as_users: let the agent read what others said as a user's words.
        forward_incoming_messages: send on what was collected, before what the agent says.

    Raises:
        ValueError: there is no id.
    """

    state = AgentHostState()

    def __init__(
        self,
        agent: SupportsAgentRun,
        *,
        id: str | None = None,  # noqa: A002 (as for other executors)
        session: Any = None,
        emit_update_events: bool | None = None,
        emit_response_events: bool = False,
        intercept_user_input_requests: bool = False,
        intercept_unterminated_function_calls: bool = False,
        reassign_other_agents_as_users: bool = True,
        forward_incoming_messages: bool = True,
    ) -> None:
        super().__init__(resolve_agent_id(agent) if id is None else id)
        self.agent = agent
        self._session = session
        self._emits_updates = emit_update_events
        self._emits_responses = emit_response_events
        self._intercepts = {
            "function_approval_request": intercept_user_input_requests,
            "function_call": intercept_unterminated_function_calls,
        }
        self._reassigns = reassign_other_agents_as_users
        self._forwards = forward_incoming_messages

    def store_state(self, state: AgentHostState) -> AgentHostState:
        """Return the state with the session as data."""
        return attrs.evolve(state, session=stored(state.session))

    def load_state(self, kept: AgentHostState) -> AgentHostState:
        """Return the state with a session of the agent's; a session that was given follows it."""
        return attrs.evolve(kept, session=unstored(kept.session, self.agent, self._session))

    def completes(self, message: object) -> tuple[TurnToken, ...]:
        """Return what ``run`` gives it behind its input, so that it doesn't only listen."""
        return () if isinstance(message, TurnToken | ResetChatSignal) else (TurnToken(True),)

    # ------------------------------------------------------------------ what comes in

    @handler
    async def from_str(self, text: str, ctx: HostContext) -> None:  # noqa: ASYNC910 (keeps it)
        """Keep a text of the user's."""
        self._keep(normalize_messages(text), ctx)

    @handler
    async def from_message(self, message: Message, ctx: HostContext) -> None:  # noqa: ASYNC910
        """Keep a message."""
        self._keep([message], ctx)

    @handler
    async def from_messages(  # noqa: ASYNC910
        self, messages: list[str | Message], ctx: HostContext
    ) -> None:
        """Keep messages; a text is the user's."""
        self._keep(normalize_messages(messages), ctx)

    @handler
    async def take_turn(self, token: TurnToken, ctx: HostContext) -> None:
        """Answer what was collected."""
        said = token.emit_events
        emits = bool(self._emits_updates) if said is None else said
        ctx.state = attrs.evolve(ctx.state, emits=emits)
        batch = list(ctx.state.buffer)
        if self._forwards:
            await ctx.send_message(batch)
        await self._go_on(batch, ctx)

    @handler
    async def reset(  # noqa: ASYNC910
        self,
        signal: ResetChatSignal,  # noqa: ARG002 (it says all by being there)
        ctx: WorkflowContext,
    ) -> None:
        """Forget the session; what was collected stays."""
        ctx.state = attrs.evolve(ctx.state, session=None, emits=None)

    @handler
    async def from_content(self, answer: Content, ctx: HostContext) -> None:
        """Take an answer to a request that was intercepted, and go on."""
        await self._answered(answer, ctx)

    @response_handler
    async def from_answer(
        self,
        asked: Content,  # noqa: ARG002 (the answer has its name)
        answer: Content,
        ctx: HostContext,
    ) -> None:
        """Take an answer of the world outside, and go on."""
        await self._answered(answer, ctx)

    async def _answered(self, answer: Content, ctx: HostContext) -> None:
        state: AgentHostState = ctx.state
        name = request_name(answer)
        if answer.type not in _ANSWERS or name not in state.open:
            known = ", ".join(map(repr, state.open)) or "nothing"
            raise UnknownRequestError(
                f"agent host {self.id!r} got a {answer.type} for {name!r}, which its agent doesn't "
                f"ask; open is {known}",
                request_id=str(name),
            )
        is_result = answer.type == "function_result"
        author = resolve_agent_id(self.agent) if is_result else None
        said = Message("tool" if is_result else "user", [answer], author_name=author)
        left = {key: asked for key, asked in state.open.items() if key != name}
        ctx.state = attrs.evolve(state, open=left)
        await self._go_on([*state.buffer, said], ctx)

    def _keep(self, messages: list[Message], ctx: HostContext) -> None:
        state: AgentHostState = ctx.state
        ctx.state = attrs.evolve(state, buffer=state.buffer.extended(messages))

    # ----------------------------------------------------------------------- the turn

    async def _go_on(self, batch: list[Message], ctx: HostContext) -> None:
        """Let the agent speak, and send on what it says; the token only if nothing is open."""
        state: AgentHostState = ctx.state
        if self._reassigns:
            batch = reassigned(batch, resolve_agent_id(self.agent))
        session = working_session(self.agent, self._session, state.session)
        response = await self._ask_agent(batch, session, ctx)
        bring_home(self._session, session, cast("TurnContext", ctx))
        asked = open_requests(response, state.open)
        if messages := portable(response.messages):
            await ctx.send_message(messages)
        for name, request in asked.items():
            await self._ask(name, request, ctx)
        opened = {**state.open, **asked}
        emits = state.emits
        if not opened:
            await ctx.send_message(TurnToken(bool(emits)))
            emits = None
        ctx.state = attrs.evolve(state, buffer=Log(), session=session, emits=emits, open=opened)

    async def _ask_agent(
        self, batch: list[Message], session: Any, ctx: HostContext
    ) -> AgentResponse[Any]:
        kwargs = run_kwargs(ctx, self.agent)
        if not ctx.state.emits:
            response = await self.agent.run(batch, stream=False, session=session, **kwargs)
        else:
            response = await self._stream(batch, session, ctx, kwargs)
        if self._emits_responses:
            await ctx.yield_output(response)
        return response

    async def _stream(
        self, batch: list[Message], session: Any, ctx: HostContext, kwargs: dict[str, Any]
    ) -> AgentResponse[Any]:
        updates: Any = self.agent.run(batch, stream=True, session=session, **kwargs)
        if not isinstance(updates, SupportsResponseStream):
            updates = ResponseStream(updates, finalizer=AgentResponse.from_updates)
        message_id, last = str(uuid.uuid4()), (None, None)
        async with updates:
            async for update in updates:
                if update.contents and update.message_id is None:
                    if (now := (update.response_id, update.role)) != last:
                        message_id, last = str(uuid.uuid4()), now
                    update = attrs.evolve(update, message_id=message_id)  # noqa: PLW2901
                await ctx.yield_output(update)
            final: AgentResponse[Any] = await updates.get_final_response()
        return final

    async def _ask(self, name: str, request: Content, ctx: HostContext) -> None:
        if self._intercepts[request.type]:
            await ctx.send_message(request)
        else:
            await ctx.request_info(request, Content, request_id=name)


default_registry.register(AgentHostState, "agent_host_state")
default_registry.register(ResetChatSignal, "reset_chat_signal")
