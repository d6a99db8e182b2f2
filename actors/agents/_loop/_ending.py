# A run that is cancelled by a cancel scope ends now, in the middle of whatever it does. Who wants
# it to end in order has no hold of it: a run is an awaitable, or a stream inside of streams. What
# he and the run have in common is the session. So it is the session that is told.
"""Ending a run of an agent after the turn that it is in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from actors.agents._sessions._session import AgentSession

# How often the runs of a session were told to end. It is of this process: it is no state.
_ENDINGS: Final[WeakKeyDictionary[AgentSession, int]] = WeakKeyDictionary()


def cancel_after_turn(session: AgentSession) -> None:
    """Have the run of a session end after the turn that it is in.

    That turn is made whole: the model's answer, and the results of all calls in it. The model
    isn't asked again; what there is by then is the response, and is kept in the session like
    that of any run that went well. Its ``finish_reason`` says that the model had more to do
    (``tool_calls``). A run that begins later isn't concerned. To end a run at once, cancel the
    scope that it runs in.

    Args:
        session: the one that the run was given.
    """
    _ENDINGS[session] = endings_of(session) + 1


def endings_of(session: AgentSession | None) -> int:
    """Say how often the runs of a session were told to end."""
    return 0 if session is None else _ENDINGS.get(session, 0)
