"""The loop of model turns and tool calls, as one thing for streams and for whole answers.

``ToolLoop`` knows nothing of how a model is asked. It says what to ask next (``next_request``),
is told what was answered (``take``), and what all of it amounts to is in its ``talk``. What it
adds to the conversation itself, results of tools and questions to people, it gives back from
``begin`` and ``take``. ``run_loop`` drives it with whole answers; ``_streaming.LoopUpdates``
drives it with streams. So both come to the same, because everything that is decided is decided
here, from whole responses.

A turn's calls are sorted before any of them is made. Those that can be made are made, whatever
the others need; a call that needs a person is recorded in the session (see ``_pending``), and
the loop ends there, to be taken up again by a run that brings the answer: ``begin`` looks for
answers first.

However a run ends, the link's transcript holds its complete turns, with a result for each
call. A batch that is cut off leaves the results that there are, and says so for the rest.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from actors.agents._agent._run_link import RunLink
from actors.agents._client._chat_call import ChatCall
from actors.agents._injection import (
    MESSAGE_INJECTION_PENDING_MESSAGES_STATE_KEY,
    taken_messages,
)
from actors.agents._loop._asking import (
    Desk,
    is_refusal,
    planned_of,
    refusal,
    says_something,
)
from actors.agents._loop._conversation import Conversation
from actors.agents._loop._decide import (
    BUDGET_KEY,
    FALLBACK,
    Limits,
    next_options,
    sort_calls,
    without_budget,
)
from actors.agents._loop._ending import endings_of
from actors.agents._loop._invoke import Invoker, Outcome, Planned, completed
from actors.agents._loop._pending import bind, has_approvals, unbound
from actors.agents._loop._transcript import (
    calls_in,
    declared_flag,
    for_model,
    with_distinct_calls,
    with_pauses,
    without_calls,
)
from actors.agents._tools._collection import function_tools, normalize_tools, tool_name
from actors.agents._tools._function_tool import RESERVED, FunctionTool
from actors.agents._tools._toolbox import unpacked
from protocols._message import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from actors.agents._loop._pending import Decision
    from protocols._content._item import Content
    from protocols._responses import ChatResponse

_LAST_WINS: Final = ("response_id", "created_at", "finish_reason", "model", "conversation_id")


async def run_loop(
    call: ChatCall,
    ask: Callable[[ChatCall], Any],
    config: Mapping[str, Any],
    middleware: Sequence[Any],
) -> ChatResponse[Any]:
    """Run a loop with whole answers.

    Args:
        call: the first one.
        ask: asks the model.
        config: a normalised ``FunctionInvocationConfiguration``.
        middleware: around each call of a tool.
    """
    loop = ToolLoop(call, config, middleware)
    await loop.begin()
    while (request := loop.next_request()) is not None:
        await loop.take(await ask(request))
    return loop.talk.response()


@attrs.define(eq=False)
class ToolLoop:
    """The state of one loop.

    Args:
        call: the first call of the model.
        config: a normalised ``FunctionInvocationConfiguration``.
        middleware: around each call of a tool.
    """

    call: ChatCall
    config: Mapping[str, Any]
    middleware: Sequence[Any]
    without_tools: bool = attrs.field(init=False, default=False)
    talk: Conversation = attrs.field(init=False)
    _desk: Desk = attrs.field(init=False)
    _tools: list[Any] = attrs.field(init=False)
    _extra: dict[str, FunctionTool[Any]] = attrs.field(init=False)
    _invoker: Invoker = attrs.field(init=False)
    _limits: Limits = attrs.field(init=False)
    _is_over: bool = attrs.field(init=False, default=False)
    _begun_at: int = attrs.field(init=False, default=0)

    def __attrs_post_init__(self) -> None:
        self._desk = Desk(self.call.link or RunLink())
        self._tools = normalize_tools(unpacked(normalize_tools(self.call.options.get("tools"))))
        self._extra = function_tools(normalize_tools(self.config["additional_tools"]))
        budget = self.call.client_kwargs.get(BUDGET_KEY, {})
        self._limits = Limits(self.config, trio.current_time(), budget)
        self.call = without_budget(self.call)
        self._begun_at = endings_of(self._desk.link.session)
        self.talk = Conversation(self.call.options.get("conversation_id"))
        self._invoker = Invoker(
            tools=self._tools,
            middleware=self.middleware,
            kwargs={
                name: given
                for name, given in self.call.function_invocation_kwargs.items()
                if name not in RESERVED
            },
            link=self._desk.link,
            in_detail=self.config["include_detailed_errors"],
        )

    @property
    def turn_id(self) -> str:
        """A name for the model's turn in progress."""
        return f"turn-{self._limits.turns}"

    def _known(self) -> dict[str, FunctionTool[Any]]:
        return {**self._extra, **function_tools(self._tools)}

    # -------------------------------------------------------------------- taking up

    async def begin(self) -> list[Message]:  # noqa: ASYNC910 (the model is asked next)
        """Carry out what people have decided; give the messages that this adds."""
        messages, decisions, says_more = self._decided()
        mine = self._desk.accepted(decisions, bound=self._is_bound)
        added = await self._resume(mine) if mine else []
        # Behind what came before it, but in front of the model's next turn.
        self.talk.open_with(for_model([*messages, *added]))
        # Whoever says something besides answering wants to hear the model.
        if mine and not says_more:
            waiting = self._desk.open_requests(mine)
            if waiting:
                self._is_over = True
                added = [*added, Message("assistant", waiting)]
        self.talk.said.extend(added)
        return added  # noqa: ASYNC910 (the model was asked just before, or is next)

    @property
    def _is_bound(self) -> bool:
        return not self.config["disable_approval_response_binding"]

    def _decided(self) -> tuple[Sequence[Message], Sequence[Decision], bool]:
        messages, link = self.call.messages, self._desk.link
        if self._is_bound and link.decisions is not None:
            return messages, link.decisions, link.says_more
        if not has_approvals(messages) and not self._desk.pending:
            return messages, (), False
        if self._is_bound:
            messages, decisions = bind(messages, self._desk.pending)
        else:
            decisions = unbound(messages)
        # What is new in a whole conversation is its last message.
        return messages, decisions, says_something(messages[-1:], decisions)

    async def _resume(self, decisions: Sequence[Decision]) -> list[Message]:
        """Make the calls that were approved; an approval is used up by now, come what may."""
        calls = {one.call.occurrence: one.call for one in decisions}
        refused = [refusal(one) for one in decisions if is_refusal(one)]
        planned = planned_of([one for one in decisions if not is_refusal(one)])
        done: dict[int, Outcome] = {}
        try:
            await self._batch(planned, done, self._known())
        finally:
            outcomes = completed(planned, done)
            for one in outcomes:
                if one.asks:
                    batch = calls[one.planned.occurrence or ""].batch
                    self._desk.ask_for_tool(one, batch=batch)
            order = list(calls)
            all_of_them = sorted(
                [*outcomes, *refused], key=lambda one: order.index(one.planned.occurrence or "")
            )
            messages = self.talk.results_of(all_of_them)
            self._keep(messages)
        self._check(outcomes)
        self._is_over = any(one.ends for one in outcomes)
        return messages

    # ------------------------------------------------------------------------ turns

    def next_request(self) -> ChatCall | None:
        """Say what the model is to be asked next; None if the loop is over."""
        turns = self._limits.turns
        if self._is_over or (turns and endings_of(self._desk.link.session) != self._begun_at):
            return None
        if self.call.injects:
            self._join()
        limits = self._limits
        self.without_tools = self.without_tools or limits.reached(trio.current_time())
        options = next_options(
            self.call.options,
            tools=self._tools,
            turn=limits.turns,
            without_tools=self.without_tools,
            conversation_id=self.talk.id,
        )
        messages = self.talk.next_messages(is_first=not limits.turns)
        return attrs.evolve(
            self.call, messages=messages, options=options, key=f"turn {limits.turns}"
        )

    def _join(self) -> None:
        """Let messages join that wait for the model's next turn."""
        link = self._desk.link
        joining = taken_messages(link.session)
        link.inputs.extend(joining)
        self.talk.join(joining)

    async def take(  # noqa: ASYNC910 (the model was asked just before)
        self, response: ChatResponse[Any]
    ) -> list[Message]:
        """Take an answer of the model, make its calls, and give the messages that this adds."""
        self.talk.note(response)
        self._limits.count_turn()
        messages = with_distinct_calls(said := response.messages)
        if messages is not said:
            response = attrs.evolve(response, messages=messages)
        calls = calls_in(response.messages)
        if self.without_tools and (calls or has_approvals(response.messages)):
            return self._stop_calling(response)  # noqa: ASYNC910 (the model was asked just before, or is next)
        if not calls or not (self._tools or self._extra):
            self.talk.add_turn(response.messages)
            self._is_over = not (self.call.injects and self._has_joining())
            return []  # noqa: ASYNC910 (the model was asked just before, or is next)
        return await self._make(response, calls)

    def _has_joining(self) -> bool:
        session = self._desk.link.session
        return session is not None and bool(
            session.state.get(MESSAGE_INJECTION_PENDING_MESSAGES_STATE_KEY)
        )

    def _stop_calling(self, response: ChatResponse[Any]) -> list[Message]:
        kept, fell_back = without_calls(response.messages, FALLBACK)
        self.talk.said.extend(kept)
        self._is_over = True
        return [Message("assistant", [FALLBACK])] if fell_back else []

    async def _make(self, response: ChatResponse[Any], calls: Sequence[Content]) -> list[Message]:
        known = self._known()
        fates = sort_calls(calls, known, {str(tool_name(one)) for one in self._tools})
        if fates.unknown and self.config["terminate_on_unknown_calls"]:
            names = ", ".join(str(call.name) for call in fates.unknown)
            raise KeyError(f"the model called {names}, and there is no such tool")
        orders = {call.call_id: order for order, call in enumerate(calls)}
        batch = uuid.uuid4().hex
        requests = [
            self._desk.ask_approval(call, order=orders[call.call_id], batch=batch)
            for call in fates.approve
        ]
        declared = {call.call_id for call in fates.declared}
        runs = {call.call_id for call in (*fates.run, *fates.unknown)}
        planned = [Planned(call, orders[call.call_id]) for call in calls if call.call_id in runs]
        done: dict[int, Outcome] = {}
        try:
            await self._batch(planned, done, known)
        finally:
            outcomes = completed(planned, done)
            for one in outcomes:
                if one.asks:
                    requests += self._desk.ask_for_tool(one, batch=batch)
            paused = with_pauses(response.messages, declared, requests)
            results = self.talk.results_of(outcomes)
            self._keep([*paused, *results])
        self._check(outcomes)
        if self._desk.link.keep_turn is not None:
            await self._desk.link.keep_turn([*paused, *results])
        self.talk.add_turn(response.messages, results, shown=paused)
        self._is_over = bool(requests or declared) or any(one.ends for one in outcomes)
        asks = [*map(declared_flag, fates.declared), *requests]
        return [*([Message("assistant", asks)] if asks else []), *results]

    def _keep(self, messages: Sequence[Message]) -> None:
        """Say what is to be kept of the run if it goes no further."""
        link = self._desk.link
        link.transcript.extend(messages)
        link.usage = self.talk.usage

    async def _batch(
        self,
        planned: Sequence[Planned],
        done: dict[int, Outcome],
        known: Mapping[str, FunctionTool[Any]],
    ) -> None:
        if not planned:
            return  # noqa: ASYNC910 (nothing to do)
        await self._invoker.batch(
            planned,
            done,
            known,
            concurrent=self.config["allow_concurrent_invocation"],
            deadline=self._limits.deadline,
            key=f"turn {self._limits.turns}",
        )
        errors = sum(outcome.is_error for outcome in done.values())
        self._limits.count(calls=len(planned), errors=errors)

    def _check(self, outcomes: Sequence[Outcome]) -> None:
        failures = [one.failure for one in outcomes if one.failure is not None]
        for other in failures[1:]:
            failures[0].add_note(f"Another call of the same batch failed, too: {other!r}")
        if failures:
            raise failures[0]
