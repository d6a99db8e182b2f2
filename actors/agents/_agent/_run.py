"""One run of an agent: what goes to the model, and what becomes of its answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final, Self

import attrs
import trio

from actors._core._in_trio import check_in_trio
from actors._core._streams._stream import ResponseStream
from actors.agents._agent._base import as_list, provider_state, run_after_providers
from actors.agents._agent._context import ContextProvider, SessionContext
from actors.agents._agent._options import run_options
from actors.agents._agent._run_link import RunLink, current_link
from actors.agents._compaction._strategies import CompactionStrategy
from actors.agents._compaction._tokens import TokenizerProtocol
from actors.agents._loop._asking import says_something
from actors.agents._loop._pending import Pending, bind, has_approvals
from actors.agents._sessions._history import (
    INTERRUPTED_KEY,
    HistoryProvider,
    InMemoryHistoryProvider,
)
from actors.agents._sessions._per_call import PerCallHistory
from actors.agents._sessions._session import AgentSession
from actors.agents._tools._collection import distinct_tools, normalize_tools
from actors.agents._tools._toolbox import KeptOpen, is_toolbox, unpacked
from protocols._errors import AgentInvalidRequestException, AgentInvalidResponseException
from protocols._message import Message
from protocols._responses import (
    AgentResponse,
    AgentResponseUpdate,
    ChatResponse,
    ChatResponseUpdate,
)

UNNAMED: Final = "UnnamedAgent"
"""The author of the messages of an agent without a name."""

CLOSE_BUDGET: Final = 5.0
"""Seconds that keeping what had come of an interrupted run may take."""


@attrs.define(eq=False, kw_only=True)
class AgentRun:
    """The state of one run.

    Args:
        agent: the ``RawAgent`` whose run it is.
        messages: the input.
        session: the caller's session, if any.
        options: the options of the run.
        tools: the tools of the run; they win over those in ``options``.
        middleware: chat and function middleware of the run.
        client_kwargs: for the client.
        function_invocation_kwargs: for tools.
        compaction_strategy: makes the conversation shorter for each model call.
        tokenizer: for a strategy that counts tokens.
    """

    agent: Any  # a RawAgent, which imports this module
    messages: list[Message]
    session: AgentSession | None
    options: Mapping[str, Any]
    tools: Any
    middleware: list[Any]
    client_kwargs: Mapping[str, Any] | None
    function_invocation_kwargs: Mapping[str, Any] | None
    compaction_strategy: CompactionStrategy | None = None
    tokenizer: TokenizerProtocol | None = None
    link: RunLink = attrs.field(init=False)
    context: SessionContext = attrs.field(init=False)
    _providers: list[ContextProvider] = attrs.field(init=False, factory=list)
    _injected: ContextProvider | None = attrs.field(init=False, default=None)
    _per_call: PerCallHistory | None = attrs.field(init=False, default=None)
    _response_format: Any = attrs.field(init=False, default=None)
    _toolboxes: AsyncExitStack | None = attrs.field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        self.link = RunLink(
            session=self.session,
            is_lasting=self.session is not None,
            agent=self.agent,
            tool_errors=self.agent.tool_errors,
        )

    # -------------------------------------------------------------------- the two ways

    async def respond(self) -> AgentResponse[Any]:
        """Run without a stream."""
        check_in_trio("an agent was run")
        try:
            return await self._respond()
        finally:
            if self._toolboxes is not None:
                await self._close_toolboxes()  # noqa: ASYNC102 (it shields itself)

    async def _respond(self) -> AgentResponse[Any]:
        options = await self._prepared()
        try:
            answer = await self._ask(stream=False, options=options)
        except BaseException:
            with trio.move_on_after(CLOSE_BUDGET, shield=True):
                await self.close_history(())
            raise
        if not answer:
            raise AgentInvalidResponseException(
                f"the client of agent {self._who} answered with {answer!r}, which is no response"
            )
        self.note_conversation(answer)
        return await self.conclude(self._as_agent_response(answer))

    def stream(self) -> ResponseStream[AgentResponseUpdate, AgentResponse[Any]]:
        """Run with a stream; nothing happens before its first pull."""
        return ResponseStream(
            AgentUpdates(self),
            finalizer=self.joined,
            cleanup_hooks=[self._close_toolboxes],
            result_hooks=[self.conclude],
        )

    async def open_updates(self) -> AsyncIterator[ChatResponseUpdate]:
        """Prepare the run, and call the client."""
        return aiter(self._ask(stream=True, options=await self._prepared()))

    def _ask(self, *, stream: bool, options: dict[str, Any]) -> Any:
        client_kwargs = dict(self.client_kwargs or {})
        kwargs = {
            "function_invocation_kwargs": self.function_invocation_kwargs,
            "middleware": [
                *self.middleware,
                *as_list(client_kwargs.pop("middleware", None)),
                *self.context.get_middleware(),
            ],
            "client_kwargs": client_kwargs,
            "compaction_strategy": self.compaction_strategy,
            "tokenizer": self.tokenizer,
        }
        token = current_link.set(self.link)
        try:
            return self.agent.client.get_response(
                self.context.get_messages(include_input=True),
                stream=stream,
                options=options,
                # A client may do without parameters for what nobody gives.
                **{name: given for name, given in kwargs.items() if given},
            )
        finally:
            current_link.reset(token)

    @property
    def _who(self) -> str:
        return str(self.agent.name or self.agent.id)

    # ---------------------------------------------------------------------- before

    async def _prepared(self) -> dict[str, Any]:
        """Let the providers contribute; give the options of the call."""
        options = await self._contributed()
        tools = options.get("tools", ())
        if any(map(is_toolbox, tools)):
            options["tools"] = distinct_tools(await self._opened(tools))
        return options  # noqa: ASYNC910 (the client is called next)

    async def _opened(self, tools: Sequence[Any]) -> list[Any]:
        """Open the toolboxes among the tools, and give what is in them in their place."""
        self._toolboxes = AsyncExitStack()
        for tool in tools:
            if is_toolbox(tool):
                await self._toolboxes.enter_async_context(KeptOpen(tool))
        return normalize_tools(unpacked(tools))  # noqa: ASYNC910 (there is one, says the caller)

    async def _close_toolboxes(self) -> None:  # noqa: ASYNC910 (mostly there is none)
        stack, self._toolboxes = self._toolboxes, None
        if stack is not None:
            await stack.aclose()

    async def _contributed(self) -> dict[str, Any]:
        session = self.session
        service_id = None if session is None else session.service_session_id
        if isinstance(service_id, Mapping):
            raise AgentInvalidRequestException(
                f"agent {self._who} uses a chat client, whose conversations have a string as "
                f"their id; this session's service_session_id is {service_id!r}"
            )
        self._decide()
        defaults = dict(self.agent.default_options)
        if service_id:
            defaults["conversation_id"] = service_id
        known = run_options(defaults, {}, self.options, tools=self.tools)
        conversation = known.get("conversation_id")
        self._providers = self._providers_for(known, conversation)
        self._begin_per_call(known)
        self.context = SessionContext(
            session_id=None if session is None else session.session_id,
            service_session_id=service_id,
            input_messages=self.messages,
            options=known,
        )
        self.link.inputs = self.context.input_messages
        if not self._providers:
            return self._without_arguments(known)  # noqa: ASYNC910 (the client is called next)
        per_call = self._per_call
        is_kept_there = conversation is not None or (per_call is not None and per_call.is_stored)
        await self._contribute(service_owned=is_kept_there)
        context = self.context
        contributed = {"instructions": "\n".join(context.instructions), "tools": context.tools}
        given = {name: value for name, value in contributed.items() if value}
        options = run_options(defaults, given, self.options, tools=self.tools)
        return self._without_arguments(options)

    def _begin_per_call(self, options: Mapping[str, Any]) -> None:
        """Have each turn kept as soon as it is complete, if the agent wants that."""
        if not self.agent.require_per_service_call_history_persistence or not self.histories():
            return
        stores = options.get("store", getattr(self.agent.client, "STORES_BY_DEFAULT", False))
        self._per_call = PerCallHistory(self, bool(stores))
        self._per_call.check(options, self._providers)
        self.link.keep_turn = self._per_call.keep

    def _decide(self) -> None:
        """Look for answers to what people were asked; what answers nothing isn't heard at all.

        Here rather than in the loop, so that it doesn't get into the history either.
        """
        config = getattr(self.agent.client, "function_invocation_configuration", None)
        if config is None or not config["enabled"] or config["disable_approval_response_binding"]:
            return
        pending = Pending(None if self.session is None else self.session.state)
        if not pending and not has_approvals(self.messages):
            self.link.decisions = []
            return
        self.messages, self.link.decisions = bind(self.messages, pending)
        self.link.says_more = says_something(self.messages, self.link.decisions)

    def _providers_for(
        self, options: Mapping[str, Any], conversation: str | None
    ) -> list[ContextProvider]:
        """Give the agent's providers, and a history of this run's own where one is needed."""
        providers = list(self.agent.context_providers)
        if self.session is None:
            return providers
        loads = any(isinstance(one, HistoryProvider) and one.load_messages for one in providers)
        stores = options.get("store", getattr(self.agent.client, "STORES_BY_DEFAULT", False))
        own = InMemoryHistoryProvider.DEFAULT_SOURCE_ID
        # Somebody who gives a history of this name that doesn't load wants none that does; two
        # of one name would keep their messages in one place, twice.
        is_taken = any(one.source_id == own for one in providers)
        if not loads and not conversation and not stores and not is_taken:
            self._injected = InMemoryHistoryProvider()
            providers.append(self._injected)
        return providers

    async def _contribute(  # noqa: ASYNC910 (the client is called next)
        self, *, service_owned: bool
    ) -> None:
        if self.session is None:
            # So that what providers keep in the state lives as long as the run.
            self.session = self.link.session = self.agent.create_session()
        for provider in self._providers:
            if service_owned and isinstance(provider, HistoryProvider):
                continue  # the model would get the history twice
            await provider.before_run(
                agent=self.agent,
                session=self.session,
                context=self.context,
                state=provider_state(self.session, provider),
            )

    def _without_arguments(self, options: dict[str, Any]) -> dict[str, Any]:
        """Take out what is for tools and not for the model."""
        self._response_format = options.get("response_format")
        extra = options.pop("additional_function_arguments", None)
        if extra:
            self.function_invocation_kwargs = {
                **extra,
                **(self.function_invocation_kwargs or {}),
            }
        return options

    # ----------------------------------------------------------------------- after

    def note_conversation(self, answer: ChatResponse[Any] | ChatResponseUpdate) -> None:
        """Remember under which id the service keeps the conversation, as soon as it says so."""
        conversation = getattr(answer, "conversation_id", None)
        if self._per_call is not None and conversation is not None:
            self._per_call.check_conversation(conversation)
        if conversation is not None and self.session is not None:
            self.session.service_session_id = conversation

    def as_agent_update(
        self, update: ChatResponseUpdate, before: AgentResponseUpdate | None
    ) -> AgentResponseUpdate:
        """Make an update of the agent's of one of the client's.

        What goes on with the message of the update before has the same author.
        """
        agent = self.agent
        author = update.author_name
        if author is None:
            goes_on = before is not None and _goes_on(before, update)
            author = before.author_name if before and goes_on else agent.name
        return AgentResponseUpdate(
            contents=update.contents,
            role=update.role,
            author_name=author,
            message_id=update.message_id,
            response_id=update.response_id,
            created_at=update.created_at,
            finish_reason=update.finish_reason,
            continuation_token=update.continuation_token,
            additional_properties=update.additional_properties,
            raw_representation=update,
            agent_id=agent.id,
        )

    def _as_agent_response(self, answer: ChatResponse[Any]) -> AgentResponse[Any]:
        return AgentResponse(
            messages=self.signed(answer.messages),
            response_id=answer.response_id,
            created_at=answer.created_at,
            finish_reason=answer.finish_reason,
            usage_details=answer.usage_details,
            continuation_token=answer.continuation_token,
            additional_properties=answer.additional_properties,
            raw_representation=answer,
            value=answer._value,  # noqa: SLF001 (value would parse now what nobody may ask for)
            response_format=self._response_format or answer.response_format,
            agent_id=self.agent.id,
        )

    def joined(self, updates: Sequence[AgentResponseUpdate]) -> AgentResponse[Any]:
        """Make the response that the updates add up to."""
        response: AgentResponse[Any] = AgentResponse.from_updates(
            updates, output_format_type=self._response_format
        )
        return attrs.evolve(
            response, messages=self.signed(response.messages), agent_id=self.agent.id
        )

    def signed(self, messages: Sequence[Message]) -> list[Message]:
        """Give messages with the agent as their author, where they have none."""
        name = self.agent.name or UNNAMED
        return [
            message if message.author_name else attrs.evolve(message, author_name=name)
            for message in messages
        ]

    async def conclude(self, response: AgentResponse[Any]) -> AgentResponse[Any]:
        """Show the response to the providers, and give it back: they keep this very object."""
        self.context._answered(response)  # noqa: SLF001 (the run is what it is made for)
        if self._per_call is None:
            await self._show(self._keeping())
            return response
        await self._per_call.keep_rest(response.messages)
        await self._show([one for one in self._keeping() if not isinstance(one, HistoryProvider)])
        return response

    def histories(self) -> list[ContextProvider]:
        """Give the providers that keep the conversation."""
        return [one for one in self._keeping() if isinstance(one, HistoryProvider)]

    def _keeping(self) -> list[ContextProvider]:
        """Leave our own history out once a service has said that it keeps the conversation."""
        session = self.session
        if self._injected is None or session is None or session.service_session_id is None:
            return self._providers
        return [one for one in self._providers if one is not self._injected]

    async def close_history(self, updates: Sequence[AgentResponseUpdate]) -> None:
        """Keep what there is of a run that was cut short.

        That is its complete turns, with a result for each call, and then the text of the turn
        in progress, as an interrupted message. Other providers hear of runs that succeed only.
        If nothing had come, nothing is kept: the caller can simply ask again.

        Args:
            updates: those of the turn in progress.
        """
        messages = list(self.link.transcript)
        text = "".join([update.text for update in updates if update.role in {None, "assistant"}])
        if text:
            mark = {INTERRUPTED_KEY: True}
            messages.append(Message("assistant", [text], additional_properties=mark))
        if not messages or self.session is None:
            return  # noqa: ASYNC910 (nothing to keep)
        if self._per_call is not None:
            await self._per_call.keep_rest(messages)
            return
        self.context._answered(  # noqa: SLF001
            AgentResponse(
                messages=self.signed(messages),
                usage_details=self.link.usage,
                incomplete=True,
                agent_id=self.agent.id,
            )
        )
        await self._show(self.histories())

    async def _show(self, providers: Sequence[ContextProvider]) -> None:
        await run_after_providers(
            self.agent, providers, session=self.session, context=self.context
        )


def _goes_on(before: AgentResponseUpdate, update: ChatResponseUpdate) -> bool:
    same_role = update.role is None or update.role == before.role
    return same_role and (update.message_id is None or update.message_id == before.message_id)


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
        update = self._run.as_agent_update(chat_update, self._last)
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
