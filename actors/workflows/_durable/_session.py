"""The session of an agent, as it is stored."""

from __future__ import annotations

from typing import Any

import attrs

from protocols._codec._tags import default_registry


@attrs.frozen
class StoredSession:
    """What an agent remembers between runs, as data.

    Args:
        session_id: its id.
        service_session_id: the id under which a service keeps the conversation, if one does.
        state: what context providers keep, by their ids.
    """

    session_id: str
    service_session_id: Any
    state: dict[str, Any]


default_registry.register(StoredSession, "stored_session")
