"""The layer that runs agent middleware, in front of any class that has a ``run``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from actors.agents._middleware._compose import Chain, settled_response, settled_stream
from actors.agents._middleware._contexts import AgentContext
from actors.agents._middleware._kinds import categorize
from protocols._message import AgentRunInputs, normalize_messages
from protocols._responses import AgentResponse, AgentResponseUpdate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actors.agents._sessions._session import AgentSession

_OURS = ("tools", "options", "compaction_strategy", "tokenizer")


class AgentMiddlewareLayer:
    """Runs agent middleware around each run of the class behind it.

    Of ``middleware``, the agent's own and the run's, it takes what is for agents; the rest of
    the run's is handed on.
    """

    runs_agent_middleware: ClassVar[bool] = True

    # A type checker sees the ``run`` of the class behind, which says what it takes.
    if not TYPE_CHECKING:

        def run(
            self,
            messages: AgentRunInputs | None = None,
            *,
            stream: bool = False,
            session: AgentSession | None = None,
            middleware: Any = None,
            client_kwargs: Mapping[str, Any] | None = None,
            function_invocation_kwargs: Mapping[str, Any] | None = None,
            **kwargs: Any,
        ) -> Any:
            """Run the agent behind the middleware; see there for the arguments."""
            from actors.agents._agent._base import as_list

            given = as_list(middleware)
            kinds = categorize([*self.middleware, *given])
            run = super().run
            if given:
                of_run = categorize(given)
                rest = [*of_run.chat, *of_run.function]
                kwargs |= {"middleware": rest} if rest else {}
            if not kinds.agent:
                return run(
                    messages,
                    stream=stream,
                    session=session,
                    client_kwargs=client_kwargs,
                    function_invocation_kwargs=function_invocation_kwargs,
                    **kwargs,
                )
            context = AgentContext(
                agent=self,
                messages=normalize_messages(messages),
                stream=stream,
                session=session,
                client_kwargs=client_kwargs,
                function_invocation_kwargs=function_invocation_kwargs,
                **{name: kwargs.pop(name) for name in _OURS if name in kwargs},
                kwargs=kwargs,
            )

            async def final(changed: AgentContext) -> Any:
                answer = run(changed.messages, **_arguments(changed))
                return answer if changed.stream else await answer  # noqa: ASYNC910 (a stream is pulled later)

            chain = Chain(kinds.agent, context, final)
            if stream:
                return settled_stream(chain, AgentResponse, AgentResponseUpdate)
            return settled_response(chain, AgentResponse)


def _arguments(context: AgentContext) -> dict[str, Any]:
    """Give what the run behind is called with: what is set, and what every run takes."""
    set_ones = {name: getattr(context, name) for name in _OURS}
    return {
        **context.kwargs,
        **{name: value for name, value in set_ones.items() if value is not None},
        "stream": context.stream,
        "session": context.session,
        "client_kwargs": context.client_kwargs,
        "function_invocation_kwargs": context.function_invocation_kwargs,
    }
