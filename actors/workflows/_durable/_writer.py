# Three ways to wait (`durability`): `sync` lets news out when they are safe; `async` at once, and
# waits at the end of the run; `end` writes once, when the run ends. Under `async` and `end` the
# world may have seen more than the store has.
#
# The store calls back in the trio thread, outside of any task of ours. Nothing may be raised
# there: what goes wrong fails the run. Where failures only warn, the run goes on without its
# store, and tries to open it anew; what it writes then is everything.
"""Writes the commits of a run to its log, and lets news out in their order."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import trio

from actors.checkpoint._types import CheckpointFacts, Commit
from actors.workflows._durable._prefix import DurablePrefix
from protocols._checkpoint_errors import StaleWriterError, StorageError
from protocols._events import WorkflowErrorDetails, WorkflowEvent

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from actors.checkpoint._types import CommitKind, RunLog
    from actors.workflows._durable._changes import Changes
    from actors.workflows._durable._prefix import Ticket
    from actors.workflows._graph._settings import Durability
    from actors.workflows._running._conductor import Conductor
    from actors.workflows._running._run import Run

    _Ticket: TypeAlias = Ticket[Callable[[], object]]

# Seconds between two attempts to open a log anew.
_PAUSE: Final = 0.1

_log: Final = logging.getLogger(__name__)


class CommitWriter:
    """Writes the commits of one run.

    Args:
        changes: what each commit writes.
        reopen: opens the log of a run anew, after a failure.
        whole: returns everything that there is to store of a run.
        durability: what news wait for.
        warns: whether a failed write only warns; otherwise it fails the run.
    """

    def __init__(
        self,
        changes: Changes,
        reopen: Callable[[str], Awaitable[RunLog]],
        whole: Callable[[Run], dict[str, Any]],
        *,
        durability: Durability,
        warns: bool,
    ) -> None:
        self._changes = changes
        self._reopened = reopen
        self._whole = whole
        self._durability = durability
        self._warns = warns
        self._prefix: DurablePrefix[Callable[[], object]] = DurablePrefix()
        self._log: RunLog | None = None
        self._run: Run | None = None
        self._is_reopening = False
        self.is_broken = False
        """Whether the log takes nothing any more."""

    def begin(self, run: Run, log: RunLog) -> None:
        """Write *run* to *log* from now on."""
        self._run, self._log = run, log

    @property
    def is_open(self) -> bool:
        """Whether there is a log."""
        return self._log is not None

    @property
    def log(self) -> RunLog:
        """Where it writes to."""
        assert self._log is not None, "a run is opened before it starts"
        return self._log

    @property
    def run(self) -> Run:
        """Whose commits it writes."""
        assert self._run is not None, "a run is opened before it starts"
        return self._run

    @property
    def writes_at_end(self) -> bool:
        """Whether nothing is written before the end."""
        return self._durability == "end"

    def write(
        self,
        kind: CommitKind,
        facts: CheckpointFacts | None,
        release: Callable[[], object] | None,
    ) -> None:
        """Append a commit. *release* lets out what follows from it.

        Raises:
            CodecError: what changed can't be stored; unless failures only warn.
        """
        if self._durability == "end" and kind not in {"final", "cancel"}:
            if release is not None:
                release()
            return
        ticket = self._prefix.add(release or _nothing)
        if self.is_broken:
            self._go_on_without(ticket)
            return
        changes = self._changes
        commit = Commit(changes.values, changes.removed, kind, facts)
        try:
            is_safe = self.log.append(commit, partial(self._saved, ticket))
        except Exception as exc:
            if not self._is_warned_of(ticket, exc):
                # Whoever catches it could only wait for ever: nothing is let out any more.
                self._not_saved(ticket, exc)
                raise
            return
        changes.clear()
        if is_safe or self._durability == "async":
            self._saved(ticket, None)

    def _saved(self, ticket: _Ticket, error: BaseException | None) -> None:
        """Hear from the store that a commit is safe, or isn't. Must not raise."""
        if error is not None:
            self._not_saved(ticket, error)
            return
        try:
            for release in self._prefix.saved(ticket):
                release()
        except Exception as exc:  # noqa: BLE001  (it is the run's error, raised at its end)
            self.run.fail(exc)

    # ------------------------------------------------------------------ what goes wrong

    def _is_only_warned_of(self, error: BaseException) -> bool:
        """Whether the run goes on after *error*. Never if another process has gone on with it."""
        return self._warns and not isinstance(error, StaleWriterError)

    def _is_warned_of(self, ticket: _Ticket, error: Exception) -> bool:
        """A commit was refused at once: go on without it, unless that fails the run."""
        if not self._is_only_warned_of(error):
            return False
        if isinstance(error, StorageError):  # its log has a hole now
            self._not_saved(ticket, error)
            return True
        # What is not stored now is, with the next commit.
        self._warn(error)
        self._saved(ticket, None)
        return True

    def _not_saved(self, ticket: _Ticket, error: BaseException) -> None:
        self.note_failure(error)
        if self._is_only_warned_of(error):
            self._go_on_without(ticket)
        else:
            self._prefix.failed()

    def note_failure(self, error: BaseException) -> None:
        """Warn of *error*, or fail the run with it."""
        self.is_broken = True
        if self._is_only_warned_of(error):
            self._warn(error)
        elif self.run.error is None:
            self.run.fail(error)

    def _warn(self, error: BaseException) -> None:
        _log.warning("run %s: a checkpoint could not be stored: %r", self.run.run_id, error)
        details = WorkflowErrorDetails.from_exception(error)
        self.run.reports.emit(WorkflowEvent("checkpoint_failed", str(error), details=details))

    # ------------------------------------------------------------------ a store that comes back

    def _go_on_without(self, ticket: _Ticket) -> None:
        """Let news out although they aren't stored, and try to get the store back."""
        self._saved(ticket, None)
        if not (self._is_reopening or self.run.is_over):
            self._is_reopening = True
            self.run.nursery.start_soon(self._reopen)

    async def try_to_reopen(self) -> None:  # noqa: ASYNC910  (waits for stores only)
        """See whether the store is back: nothing comes any more that tries."""
        if self.is_broken and self._warns:
            await self._reopen()

    async def _reopen(self) -> None:  # noqa: ASYNC910  (waits for stores only)
        """Open the run anew, and write everything."""
        run = self.run
        try:
            before, self._log = self.log, await self._reopened(run.run_id)
            _require_next(before, self._log)
            self._write_whole(self._log)
        except Exception as exc:  # noqa: BLE001  (the next commit tries again)
            self.is_broken = True
            if isinstance(exc, StaleWriterError):
                run.fail(exc)
            else:
                await trio.sleep(_PAUSE)
        finally:
            self._is_reopening = False

    def _write_whole(self, log: RunLog) -> None:
        whole = self._whole(self.run)
        self._changes.clear()
        commit = Commit(whole, (), "round", facts_of(self.run.conductor, ""), is_whole=True)
        self.is_broken = False
        ticket = self._prefix.add(_nothing)
        try:
            is_safe = log.append(commit, partial(self._saved, ticket))
        except Exception:
            self.is_broken = True
            self._saved(ticket, None)  # nothing waits behind it
            raise
        if is_safe:
            self._saved(ticket, None)


def facts_of(conductor: Conductor, status: str) -> CheckpointFacts:
    """Return what makes of a commit a checkpoint."""
    return CheckpointFacts(iteration=conductor.schedule.number, status=status)


def _require_next(before: RunLog, now: RunLog) -> None:
    """Make sure that nobody else has opened the run in between."""
    if now.incarnation > before.incarnation + 1:
        run_id = now.run.run_id
        raise StaleWriterError(
            f"another process has gone on with the run {run_id!r} while its storage could not be "
            "reached from here",
            run_id=run_id,
            incarnation=before.incarnation,
        )


def _nothing() -> None:
    """Let nothing out."""
