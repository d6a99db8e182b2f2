"""``AgentSession``: what an agent remembers between runs."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from copy import copy
from typing import Any, Self, TypeAlias

from actors.agents._sessions._state_codec import decode_state, encode_state
from actors.agents._sessions._state_copy import copied, merged
from protocols._message import Message

ServiceSessionId: TypeAlias = str | Mapping[str, Any]
"""What a service calls a conversation that it keeps: a string, or a mapping of its own."""

MESSAGES_KEY = "messages"
"""Under which a history provider keeps messages in its part of the state."""

NOT_LOADED_KEY = "not_loaded"
"""Set by a history provider that keeps messages without ever giving them to the model."""


class AgentSession:
    """The conversation of an agent: its id, the service's id for it, and providers' state.

    Args:
        session_id: a unique id; made up if not given.
        service_session_id: the id under which a service keeps the conversation, if one does.
    """

    def __init__(
        self,
        *,
        session_id: str | None = None,
        service_session_id: ServiceSessionId | None = None,
    ) -> None:
        self._session_id: str | None = session_id or None
        self.service_session_id = service_session_id
        self.state: dict[str, Any] = {}
        """Mutable; every context provider owns the part under its ``source_id``."""
        self._base: AgentSession | None = None

    @property
    def session_id(self) -> str:
        """The id that this session was made with, or got when it was first asked for."""
        if self._session_id is None:
            # Each run of a workflow makes sessions, and hardly ever asks for their ids.
            self._session_id = str(uuid.uuid4())
        return self._session_id

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.session_id}>"

    # ---------------------------------------------------------------------- as data

    def to_dict(self) -> dict[str, Any]:
        """Give the session as plain data, for JSON or a store."""
        return {
            "type": "session",
            "session_id": self.session_id,
            "service_session_id": self.service_session_id,
            "state": {str(key): encode_state(value) for key, value in self.state.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make a session of what ``to_dict`` gave.

        Raises:
            ValueError: the data is no session, or holds a type that isn't registered.
        """
        if data.get("type", "session") != "session" or "session_id" not in data:
            raise ValueError(
                "this is not the data of a session: it needs a session_id, and its type, if it "
                f"has one, is 'session', not {data.get('type')!r}"
            )
        session = cls(
            session_id=data["session_id"], service_session_id=data.get("service_session_id")
        )
        state = data.get("state") or {}
        session.state.update((key, decode_state(value)) for key, value in state.items())
        return session

    # ------------------------------------------------------------------- for one turn

    def working_copy(self) -> Self:
        """Give a session to work on; this one changes only when it adopts the copy.

        What can change is copied, what can't is shared, so the length of the history costs
        nothing.
        """
        work = self._duplicate()
        work._base = self._duplicate()  # noqa: SLF001 (its own class)
        return work

    def adopt(self, other: AgentSession) -> None:
        """Take over what was changed in a working copy; without an await, all at once.

        If another copy was adopted in between, the changes of both are kept, see
        ``_state_copy.merged``. A session that is no working copy is taken over as it is.
        """
        base = other._base
        state = other.state if base is None else merged(self.state, base.state, other.state)
        state = dict(state)
        # The dict itself stays: whoever holds on to session.state sees the new content.
        self.state.clear()
        self.state.update(state)
        if base is None or base.service_session_id != other.service_session_id:
            self.service_session_id = other.service_session_id
        other._base = None

    @property
    def is_working_copy(self) -> bool:
        """Whether this is a copy whose changes were not adopted yet."""
        return self._base is not None

    def held_messages(self) -> list[Message]:
        """Give the messages that history providers keep here and give to the model again."""
        if not self.state:
            return []
        return [
            message
            for part in self.state.values()
            if isinstance(part, Mapping) and not part.get(NOT_LOADED_KEY)
            for message in part.get(MESSAGES_KEY) or ()
            if isinstance(message, Message)
        ]

    def _duplicate(self) -> Self:
        _ = self.session_id  # one id for both
        other = copy(self)  # a subclass keeps its type and whatever else it has
        other.service_session_id = copied(self.service_session_id)
        other.state = copied(self.state)
        other._base = None  # noqa: SLF001 (its own class)
        return other
