"""What a middleware sees of what it stands around, and may change.

``call_next()`` takes nothing and gives nothing: whatever goes down and up is in the context.
The order of the fields is the API's: tests of middleware make contexts by position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs

from actors.agents._sessions._session import AgentSession
from protocols._message import Message


@attrs.define(eq=False)
class AgentContext:
    """One run of an agent.

    Args:
        agent: the agent.
        messages: the input; may be changed or replaced, as may the next six.
        session: the conversation.
        options: chat options of this run.
        tools: tools of this run.
        stream: whether the caller wants a stream.
        compaction_strategy: of this run.
        tokenizer: of this run.
        client_kwargs: for the chat client.
        function_invocation_kwargs: for tools.
        kwargs: what else the run was called with.
        metadata: for middleware to tell one another something.
        result: the ``AgentResponse``, or the stream of it; None before.
        stream_transform_hooks: put on the stream when the chain has returned.
        stream_result_hooks: likewise.
        stream_cleanup_hooks: likewise.
    """

    agent: Any
    messages: list[Message] = attrs.field(factory=list)
    session: AgentSession | None = None
    tools: Any = None
    options: Mapping[str, Any] | None = None
    stream: bool = False
    compaction_strategy: Any = None
    tokenizer: Any = None
    metadata: dict[str, Any] = attrs.field(factory=dict)
    result: Any = None
    kwargs: dict[str, Any] = attrs.field(factory=dict)
    client_kwargs: Mapping[str, Any] | None = None
    function_invocation_kwargs: Mapping[str, Any] | None = None
    stream_transform_hooks: list[Callable[[Any], Any]] = attrs.field(factory=list)
    stream_result_hooks: list[Callable[[Any], Any]] = attrs.field(factory=list)
    stream_cleanup_hooks: list[Callable[[], Any]] = attrs.field(factory=list)

    @property
    def stream_update_transforms(self) -> list[Callable[[Any], Any]]:
        """The transform hooks by their other name."""
        return self.stream_transform_hooks

    @property
    def stream_result_transforms(self) -> list[Callable[[Any], Any]]:
        """The result hooks by their other name."""
        return self.stream_result_hooks


@attrs.define(eq=False)
class ChatContext:
    """One call of a model; a run with tools has several.

    Args:
        client: the chat client.
        messages: the conversation; may be changed or replaced, as may the options.
        options: chat options without those that are None.
        stream: whether the caller wants a stream.
        session: the conversation that the call belongs to, if it does.
        kwargs: what ``_inner_get_response`` gets, the ``client_kwargs``.
        function_invocation_kwargs: what tools get.
        metadata: for middleware to tell one another something.
        result: the ``ChatResponse``, or the stream of it; None before.
        stream_transform_hooks: put on the stream when the chain has returned.
        stream_result_hooks: likewise.
        stream_cleanup_hooks: likewise.
    """

    client: Any
    messages: list[Message] = attrs.field(factory=list)
    options: dict[str, Any] = attrs.field(factory=dict)
    stream: bool = False
    session: AgentSession | None = None
    metadata: dict[str, Any] = attrs.field(factory=dict)
    result: Any = None
    kwargs: dict[str, Any] = attrs.field(factory=dict)
    function_invocation_kwargs: Mapping[str, Any] = attrs.field(factory=dict)
    stream_transform_hooks: list[Callable[[Any], Any]] = attrs.field(factory=list)
    stream_result_hooks: list[Callable[[Any], Any]] = attrs.field(factory=list)
    stream_cleanup_hooks: list[Callable[[], Any]] = attrs.field(factory=list)

    @property
    def stream_update_transforms(self) -> list[Callable[[Any], Any]]:
        """The transform hooks by their other name."""
        return self.stream_transform_hooks

    @property
    def stream_result_transforms(self) -> list[Callable[[Any], Any]]:
        """The result hooks by their other name."""
        return self.stream_result_hooks


@attrs.define(eq=False)
class FunctionInvocationContext:
    """One call of a tool. A tool that has a parameter of this type is given it, too.

    Args:
        function: the ``FunctionTool``.
        arguments: the validated arguments; may be changed or replaced.
        session: the conversation that the call belongs to, if it does.
        kwargs: what the caller of the run gave for tools, and the session.
        metadata: has ``call_id``, and ``approval_response`` where a person has approved; for
            middleware to tell one another something.
        tools: what the model can call in this run. It is live: the next model turn sees what
            it is then. None outside of a run.
        result: what the tool returned; None before.
    """

    function: Any
    arguments: Any = attrs.field(factory=dict)
    session: AgentSession | None = None
    metadata: dict[str, Any] = attrs.field(factory=dict)
    result: Any = None
    kwargs: dict[str, Any] = attrs.field(factory=dict)
    tools: list[Any] | None = None

    def add_tools(self, tools: Any) -> None:
        """Let the model call further tools, from its next turn on.

        Args:
            tools: one or several; functions are made tools of.

        Raises:
            ValueError: one has the name of another tool; then none is added.
            RuntimeError: this call isn't part of a run.
        """
        from actors.agents._tools._collection import normalize_tools, with_tools

        self._live()[:] = with_tools(self._live(), normalize_tools(tools))

    def remove_tools(self, tools: Any) -> None:
        """Take tools away, from the model's next turn on.

        Args:
            tools: one or several: names, tools, or the functions they were made of.

        Raises:
            RuntimeError: this call isn't part of a run.
        """
        from actors.agents._tools._collection import without_tools

        is_many = isinstance(tools, Iterable) and not isinstance(tools, str)
        self._live()[:] = without_tools(self._live(), list(tools) if is_many else [tools])

    def _live(self) -> list[Any]:
        if self.tools is None:
            raise RuntimeError(
                "only a tool that a model has called can change which tools there are"
            )
        return self.tools


CallNext = Callable[[], Any]
"""What a middleware awaits, once, several times or not at all, for what it stands around."""

Hooks = Sequence[Callable[..., Any]]
