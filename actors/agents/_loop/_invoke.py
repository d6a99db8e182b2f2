"""One call of a tool, and a batch of them.

Whatever happens to a call becomes its ``Outcome``: the loop has to tell the model something
about each of them, also about those that were cut off. Exceptions are outcomes, too, because a
nursery would hand them on in groups; the loop raises the first one itself. Only cancellation
passes through here as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from actors.agents._agent._run_link import RunLink
from actors.agents._loop._pending import REQUEST
from actors.agents._middleware._compose import Chain
from actors.agents._middleware._contexts import FunctionInvocationContext
from actors.agents._telemetry import function_telemetry
from actors.agents._tools._arguments import parsed_arguments
from actors.agents._tools._calling import ToolUse
from actors.agents._without_group import without_group
from protocols._content._item import Content
from protocols._effects import Effect, current_effects, effect_key, effects_under, perform
from protocols._errors import (
    MiddlewareFailure,
    ToolException,
    UserInputRequiredException,
    message_of,
)

if TYPE_CHECKING:
    from actors.agents._tools._function_tool import FunctionTool

INTERRUPTED_KEY: Final = "_interrupted"
"""In ``additional_properties``: it is what there was when a run was cut short."""

_CANCELLED: Final = (
    "The call was cancelled before it had a result; whether it did anything is unknown."
)
_LATE: Final = "Error: The time for tools was over before this call had a result."
_DETAIL: Final = 500


@attrs.frozen
class Planned:
    """A call that is to be made.

    Args:
        call: as the model made it, or as it was recorded.
        order: its place in its batch.
        occurrence: under which it has been recorded as waiting, if it has.
        approval: the answer that allows it, if it needed one.
        resume: what an agent that is called as a tool needs to go on where it stopped.
    """

    call: Content
    order: int
    occurrence: str | None = None
    approval: Content | None = None
    resume: Any = None


@attrs.define
class Outcome:
    """What became of a call.

    Args:
        planned: the call.
        result: what the model is told.
        is_error: whether that is bad news.
        ends: whether a middleware wants the run to end.
        asks: what a person has to be asked before there is a result.
        inner_session: of the agent that asks, if the tool is an agent.
        usage: what models used in it.
        failure: what the run is to fail with.
    """

    planned: Planned
    result: Content
    is_error: bool = False
    ends: bool = False
    asks: Sequence[Content] = ()
    inner_session: Mapping[str, Any] | None = None
    usage: Mapping[str, Any] | None = None
    failure: Exception | None = None


def cut_off(planned: Planned, why: str = _CANCELLED) -> Outcome:
    """Give the outcome of a call that nobody knows the outcome of."""
    result = Content.from_function_result(
        planned.call.call_id or "",
        result=why,
        exception="Cancelled",
        additional_properties={INTERRUPTED_KEY: True},
    )
    return Outcome(planned, result, is_error=True)


def completed(planned: Sequence[Planned], done: Mapping[int, Outcome]) -> list[Outcome]:
    """Give the outcomes of a batch in call order; of a call that was cut off it says so."""
    return [done.get(index) or cut_off(one) for index, one in enumerate(planned)]


def failed(planned: Planned, text: str, error: Exception, *, in_detail: bool) -> Outcome:
    """Give the outcome of a call that went wrong, as the model is to read it."""
    said = message_of(error)[:_DETAIL]
    if in_detail:
        text = f"{text} Exception: {said}"
    result = Content.from_function_result(
        planned.call.call_id or "", result=text, exception=said or repr(error)
    )
    return Outcome(planned, result, is_error=True)


@attrs.frozen(kw_only=True)
class Invoker:
    """Makes calls for one run.

    Args:
        tools: the run's tools; the very list, which calls may change.
        middleware: around each call, outermost first.
        kwargs: for tools.
        link: to the run.
        uses: how often each tool has been called in this run.
        in_detail: whether the model reads the text of exceptions.
    """

    tools: list[Any]
    middleware: Sequence[Any]
    kwargs: Mapping[str, Any]
    link: RunLink
    uses: dict[int, ToolUse] = attrs.field(factory=dict)
    in_detail: bool = False

    async def batch(
        self,
        planned: Sequence[Planned],
        done: dict[int, Outcome],
        known: Mapping[str, FunctionTool[Any]],
        *,
        concurrent: bool,
        deadline: float,
        key: str,
    ) -> None:
        """Make calls, each in a task of its own, and put what becomes of them into *done*.

        What has ended is in there even when this is cancelled. An outcome that the run is to
        fail with ends the others.

        Args:
            planned: the calls.
            done: outcomes by place in *planned*; see ``completed``.
            known: the tools that can be called, by name.
            concurrent: whether they are made at the same time.
            deadline: when those that have no result by then are given up.
            key: which turn's calls they are, for whoever records effects.
        """
        every = range(len(planned))
        groups = [every] if concurrent else [range(i, i + 1) for i in every]
        if deadline == math.inf:
            await self._groups(planned, done, groups, known, key)
            return
        with trio.CancelScope(deadline=deadline) as scope:
            await self._groups(planned, done, groups, known, key)
        if scope.cancelled_caught:
            for index in every:
                done.setdefault(index, cut_off(planned[index], _LATE))

    async def _groups(  # noqa: ASYNC910 (the nursery is the checkpoint)
        self,
        planned: Sequence[Planned],
        done: dict[int, Outcome],
        groups: Sequence[range],
        known: Mapping[str, FunctionTool[Any]],
        key: str,
    ) -> None:
        for group in groups:
            # Looked at in call order, so that of several calls a limit refuses the last ones;
            # the tasks begin in any order.
            prepared = [(index, self._prepared(planned[index], known)) for index in group]
            # What is no outcome, a Ctrl-C for instance, is the caller's as it is.
            with without_group():
                async with trio.open_nursery() as nursery:
                    scope = nursery.cancel_scope
                    for index, found in prepared:
                        if isinstance(found, Outcome):
                            done[index] = found
                        else:
                            call = planned[index]
                            nursery.start_soon(self._into, done, index, call, found, scope, key)
            if any(index in done and done[index].failure for index in group):
                return

    async def _into(
        self,
        done: dict[int, Outcome],
        index: int,
        planned: Planned,
        context: FunctionInvocationContext,
        scope: trio.CancelScope,
        key: str,
    ) -> None:
        if current_effects.get() is None:
            outcome = await self._made(planned, context)
        else:
            with effects_under(f"{key}/call {planned.order} {planned.call.call_id}"):
                outcome = await self._made(planned, context)
        done[index] = outcome
        if outcome.failure is not None:
            scope.cancel()

    def _prepared(
        self, planned: Planned, known: Mapping[str, FunctionTool[Any]]
    ) -> FunctionInvocationContext | Outcome:
        """Find the tool and check the arguments; give what is wrong if something is."""
        tool = known.get(planned.call.name or "")
        if tool is None:
            missing = ToolException(f"there is no tool {planned.call.name!r}")
            text = f'Error: Requested function "{planned.call.name}" not found.'
            return failed(planned, text, missing, in_detail=False)
        try:
            arguments = tool.checked(parsed_arguments(planned.call.arguments))
        except (ValueError, TypeError) as error:
            text = "Error: Argument parsing failed."
            return failed(planned, text, error, in_detail=self.in_detail)
        try:
            self._use(tool).take(tool)
        except ToolException as error:
            return failed(planned, "Error: Function failed.", error, in_detail=self.in_detail)
        return self._context(planned, tool, arguments)

    def _use(self, tool: FunctionTool[Any]) -> ToolUse:
        return self.uses.setdefault(id(tool), ToolUse())

    def _context(
        self, planned: Planned, tool: FunctionTool[Any], arguments: dict[str, Any]
    ) -> FunctionInvocationContext:
        metadata: dict[str, Any] = {"call_id": planned.call.call_id}
        if planned.approval is not None:
            metadata["approval_response"] = planned.approval
        if planned.resume is not None:
            metadata["resume"] = planned.resume
        session = self.link.session
        return FunctionInvocationContext(
            function=tool,
            arguments=arguments,
            session=session,
            kwargs=dict(self.kwargs) if session is None else {**self.kwargs, "session": session},
            metadata=metadata,
            tools=self.tools,
        )

    async def _made(self, planned: Planned, context: FunctionInvocationContext) -> Outcome:
        chain = Chain(self.middleware, context, self._final)
        try:
            stop = await chain.run()
        except UserInputRequiredException as error:
            return self._asking(planned, context, error)  # noqa: ASYNC910 (the nursery is the checkpoint)
        except MiddlewareFailure as error:
            return self._failing(planned, error)  # noqa: ASYNC910 (the nursery is the checkpoint)
        except Exception as error:  # noqa: BLE001 (the model is told, unless the run is to fail)
            if self.link.tool_errors == "raise":
                return self._failing(planned, error)  # noqa: ASYNC910 (the nursery is the checkpoint)
            return failed(planned, "Error: Function failed.", error, in_detail=self.in_detail)  # noqa: ASYNC910 (the nursery is the checkpoint)
        return self._done(planned, context, ends=stop is not None)

    async def _final(self, context: FunctionInvocationContext) -> Any:
        return await function_telemetry(context, partial(self._run, context))

    async def _run(self, context: FunctionInvocationContext) -> Any:
        tool: FunctionTool[Any] = context.function

        async def call() -> Any:
            return tool.parsed(await tool.run(context, self._use(tool)))

        # What an agent does as a tool is recorded effect by effect, in the agent.
        return await (perform(partial(_effect, context), call) if tool.records_effect else call())

    def _done(
        self, planned: Planned, context: FunctionInvocationContext, *, ends: bool
    ) -> Outcome:
        call_id = planned.call.call_id or ""
        given = context.result
        items = given if isinstance(given, list) else [given]
        asks = [one for one in items if isinstance(one, Content) and one.type == REQUEST]
        if isinstance(given, Content) and given.type == "function_result":
            result = given
        else:
            result = Content.from_function_result(call_id, result="" if asks else given)
        usage = context.metadata.get("usage")
        return Outcome(planned, result, ends=ends, asks=asks, usage=usage)

    def _asking(
        self,
        planned: Planned,
        context: FunctionInvocationContext,
        error: UserInputRequiredException,
    ) -> Outcome:
        if not error.contents:
            return failed(planned, "Error: Function failed.", error, in_detail=self.in_detail)
        outcome = cut_off(planned, message_of(error))
        outcome.is_error = False
        outcome.asks = error.contents
        outcome.inner_session = getattr(error, "inner_session", None)
        outcome.usage = context.metadata.get("usage")
        return outcome

    def _failing(self, planned: Planned, error: Exception) -> Outcome:
        outcome = failed(planned, "Error: Function failed.", error, in_detail=self.in_detail)
        outcome.failure = error
        return outcome


def _effect(context: FunctionInvocationContext) -> Effect:
    from pydantic_core import to_jsonable_python

    tool: FunctionTool[Any] = context.function
    return Effect(
        kind="tool",
        name=tool.name,
        key=effect_key("tool"),
        arguments=to_jsonable_python(dict(context.arguments), fallback=str),
        idempotent=tool.idempotent,
    )
