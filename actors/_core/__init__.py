"""The runtime proper. Everything here is public by way of ``actors``, and only so.

Loaded on use, as all front doors: who builds a workflow needs no actor system yet.
"""

from typing import TYPE_CHECKING

from protocols._lazy import lazy_names

if TYPE_CHECKING:
    from actors._core._actor import Actor as Actor
    from actors._core._context import ActorContext as ActorContext
    from actors._core._errors import (
        ActorRestartingError as ActorRestartingError,
        ActorStoppedError as ActorStoppedError,
        AskTimeoutError as AskTimeoutError,
        DeadlockError as DeadlockError,
        LeftOpenError as LeftOpenError,
        MailboxFullError as MailboxFullError,
        NameTakenError as NameTakenError,
        OutboxLimitError as OutboxLimitError,
        RemoteError as RemoteError,
        RestartLimitError as RestartLimitError,
        StashLimitError as StashLimitError,
        StrayCancelledError as StrayCancelledError,
        TimerLimitError as TimerLimitError,
        TurnOverError as TurnOverError,
        TurnTimeoutError as TurnTimeoutError,
        UnhandledMessageError as UnhandledMessageError,
    )
    from actors._core._introspection._happenings import (
        ActorFailed as ActorFailed,
        ActorRestarted as ActorRestarted,
        ActorStarted as ActorStarted,
        ActorStopped as ActorStopped,
        DeadLetter as DeadLetter,
        Missed as Missed,
        StalledTurn as StalledTurn,
        ZombieActor as ZombieActor,
    )
    from actors._core._introspection._inspect import (
        ActorFacts as ActorFacts,
        SystemFacts as SystemFacts,
    )
    from actors._core._mailbox import Counters as Counters, MailboxPolicy as MailboxPolicy
    from actors._core._reasons import (
        Crashed as Crashed,
        ExitReason as ExitReason,
        Finished as Finished,
        Killed as Killed,
        NotFound as NotFound,
        ShutDown as ShutDown,
        Terminated as Terminated,
    )
    from actors._core._ref import ActorRef as ActorRef
    from actors._core._streams._stream import ResponseStream as ResponseStream
    from actors._core._supervision._decide import (
        Backoff as Backoff,
        Restart as Restart,
        Supervision as Supervision,
    )
    from actors._core._system import (
        System as System,
        current_system as current_system,
        open_system as open_system,
    )
    from actors._core._turns._stalls import report_stalls as report_stalls

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "actors._core._actor": """
            Actor
        """,
        "actors._core._context": """
            ActorContext
        """,
        "actors._core._errors": """
            ActorRestartingError ActorStoppedError AskTimeoutError DeadlockError
            LeftOpenError MailboxFullError NameTakenError OutboxLimitError RemoteError
            RestartLimitError StashLimitError StrayCancelledError TimerLimitError
            TurnOverError TurnTimeoutError UnhandledMessageError
        """,
        "actors._core._introspection._happenings": """
            ActorFailed ActorRestarted ActorStarted ActorStopped DeadLetter Missed
            StalledTurn ZombieActor
        """,
        "actors._core._introspection._inspect": """
            ActorFacts SystemFacts
        """,
        "actors._core._mailbox": """
            Counters MailboxPolicy
        """,
        "actors._core._reasons": """
            Crashed ExitReason Finished Killed NotFound ShutDown Terminated
        """,
        "actors._core._ref": """
            ActorRef
        """,
        "actors._core._streams._stream": """
            ResponseStream
        """,
        "actors._core._supervision._decide": """
            Backoff Restart Supervision
        """,
        "actors._core._system": """
            current_system open_system System
        """,
        "actors._core._turns._stalls": """
            report_stalls
        """,
    },
)
