"""One run of an agent: what goes to the model, and what becomes of its answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import attrs
import trio

from actors._core._in_trio import check_in_trio
from actors._core._streams._stream import ResponseStream
from actors.agents._agent._answers import agent_response, signed
from actors.agents._agent._base import as_list
from actors.agents._agent._context import ContextProvider, SessionContext
from actors.agents._agent._options import run_options
from actors.agents._agent._providers import (
    needs_history,
    run_after_providers,
    run_before_providers,
    stores_by_itself,
)
from actors.agents._agent._run_link import RunLink, current_link
from actors.agents._agent._toolboxes import OpenToolboxes
from actors.agents._agent._updates import CLOSE_BUDGET, AgentUpdates
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
from actors.agents._tools._toolbox import is_toolbox
from protocols._errors import AgentInvalidRequestException, AgentInvalidResponseException
from protocols._message import Message
from protocols._responses import (
    AgentResponse,
    AgentResponseUpdate,
    ChatResponse,
    ChatResponseUpdate,
)


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
    _toolboxes: OpenToolboxes | None = attrs.field(init=False, default=None)

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
                await self._toolboxes.close()  # noqa: ASYNC102 (it shields itself)

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
        response = agent_response(answer, self.agent, format=self._response_format)
        return await self.conclude(response)

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

    async def _close_toolboxes(self) -> None:  # noqa: ASYNC910 (mostly there is none)
        if self._toolboxes is not None:
            await self._toolboxes.close()

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
            self._toolboxes = OpenToolboxes()
            options["tools"] = await self._toolboxes.open_in(tools)
        return options  # noqa: ASYNC910 (the client is called next)

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
        self._providers = list(self.agent.context_providers)
        is_elsewhere = bool(conversation) or stores_by_itself(self.agent, known)
        if self.session is not None and not is_elsewhere and needs_history(self._providers):
            self._injected = InMemoryHistoryProvider()
            self._providers.append(self._injected)
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
        self._per_call = PerCallHistory(self, stores_by_itself(self.agent, options))
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

    async def _contribute(  # noqa: ASYNC910 (the client is called next)
        self, *, service_owned: bool
    ) -> None:
        if self.session is None:
            # So that what providers keep in the state lives as long as the run.
            self.session = self.link.session = self.agent.create_session()
        contributing = [
            one
            for one in self._providers
            # The model would get the history twice.
            if not (service_owned and isinstance(one, HistoryProvider))
        ]
        await run_before_providers(
            self.agent, contributing, session=self.session, context=self.context
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

    def joined(self, updates: Sequence[AgentResponseUpdate]) -> AgentResponse[Any]:
        """Make the response that the updates add up to."""
        response: AgentResponse[Any] = AgentResponse.from_updates(
            updates, output_format_type=self._response_format
        )
        return attrs.evolve(
            response, messages=signed(response.messages, self.agent), agent_id=self.agent.id
        )

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
                messages=signed(messages, self.agent),
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
