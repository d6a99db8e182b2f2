# A tool, or whoever else has the session, may want to tell the model something while a run goes
# on. It can't be a result, since nothing was asked. So it waits in the session's state until the
# next turn of the model, and if there would be none any more, there is one more turn.
"""Messages that join a conversation while a run goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from actors.agents._middleware._kinds import ChatMiddleware
from protocols._errors import ChatClientInvalidRequestException
from protocols._message import AgentRunInputs, Message, normalize_messages

if TYPE_CHECKING:
    from collections.abc import Iterable

    from actors.agents._middleware._contexts import ChatContext
    from actors.agents._middleware._kinds import Next
    from actors.agents._sessions._session import AgentSession

MESSAGE_INJECTION_PENDING_MESSAGES_STATE_KEY: Final = "message_injection.pending_messages"
"""In a session's state: the messages that wait for the model's next turn."""


class MessageInjectionMiddleware(ChatMiddleware):
    """Lets messages join a run: the model reads what `enqueue_messages` was given in its next turn.

    They are kept with the run's input. A run needs a session for them to wait in.
    """

    async def process(self, context: ChatContext, call_next: Next) -> None:
        """Make sure that there is a session; the tool loop sees to the rest.

        Raises:
            ChatClientInvalidRequestException: there is none.
        """
        if context.session is None:
            raise ChatClientInvalidRequestException(
                "MessageInjectionMiddleware needs a session, where messages wait for the model's "
                "next turn: run the agent with session=agent.create_session()"
            )
        await call_next()

    @staticmethod
    def enqueue_messages(session: AgentSession, messages: AgentRunInputs) -> None:
        """Do what the function of that name does."""
        enqueue_messages(session, messages)

    @staticmethod
    def get_pending_messages(session: AgentSession) -> list[Message]:
        """Give the messages that wait, oldest first."""
        return list(session.state.get(MESSAGE_INJECTION_PENDING_MESSAGES_STATE_KEY) or ())


def enqueue_messages(session: AgentSession, messages: AgentRunInputs) -> None:
    """Have messages join the run of a session, in the model's next turn.

    Without a run they join the next one.

    Args:
        session: the conversation.
        messages: what to say; a text is the user's.
    """
    waiting = MessageInjectionMiddleware.get_pending_messages(session)
    session.state[MESSAGE_INJECTION_PENDING_MESSAGES_STATE_KEY] = [
        *waiting,
        *normalize_messages(messages),
    ]


def taken_messages(session: AgentSession | None) -> list[Message]:
    """Give the messages that wait, which don't wait any more then."""
    if session is None:
        return []
    return list(session.state.pop(MESSAGE_INJECTION_PENDING_MESSAGES_STATE_KEY, None) or ())


def injects(middleware: Iterable[Any]) -> bool:
    """Say whether messages may join a call that stands behind this middleware."""
    return any(isinstance(one, MessageInjectionMiddleware) for one in middleware)
