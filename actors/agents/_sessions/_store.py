"""Where sessions are kept between runs of a program: in memory, in files, in SQLite."""

from __future__ import annotations

import hashlib
import json
import logging
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

import msgspec
import trio

from actors.agents._sessions._session import AgentSession
from actors.checkpoint._files._files import write_whole

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

SNAPSHOT_VERSION: Final = "1.0"
SerializationFormat = Literal["json", "msgpack"]

_LOG: Final = logging.getLogger("actors.agents.sessions")
_READABLE: Final = 40


class SessionStore:
    """Keeps sessions in memory. What it gives and takes are copies that share nothing mutable."""

    MAX_SESSION_ID_LENGTH: ClassVar[int] = 128

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    async def get(self, session_id: str) -> AgentSession | None:
        """Give a copy of the session, or None if there is none of this id.

        Raises:
            ValueError: that is no id of a session, or the session holds a type that isn't
                registered here.
        """
        data = self._kept.get(self._checked(session_id))
        await trio.lowlevel.checkpoint()
        return None if data is None else _session_of(data, "json")

    async def set(self, session_id: str, session: AgentSession) -> None:
        """Keep a copy of the session as it is now; the last one who does so wins.

        Raises:
            ValueError: that is no id of a session, or its state holds a number that isn't finite.
            TypeError: that is no `AgentSession`, or its state holds what can't be written.
        """
        self._kept[self._checked(session_id)] = _data_of(session, "json")
        await trio.lowlevel.checkpoint()

    async def delete(self, session_id: str) -> None:
        """Forget a session; one that isn't there is forgotten already."""
        self._kept.pop(self._checked(session_id), None)
        await trio.lowlevel.checkpoint()

    def _checked(self, session_id: object) -> str:
        if not isinstance(session_id, str) or not session_id:
            raise ValueError(f"the id of a session is a text, not {session_id!r}")
        if len(session_id) > self.MAX_SESSION_ID_LENGTH:
            raise ValueError(
                f"the id of a session has at most {self.MAX_SESSION_ID_LENGTH} characters, "
                f"not {len(session_id)}"
            )
        return session_id


class FileSessionStore(SessionStore):
    """Keeps each session in a file of its own, which is always either the old or the new one.

    A file that can't be read is put aside under another name, with an error in the log, and its
    session counts as not there.

    Args:
        storage_path: the folder; it is made if it isn't there.
        serialization_format: ``json``, which people can read, or ``msgpack``, which is shorter.
    """

    def __init__(
        self,
        storage_path: str | os.PathLike[str],
        serialization_format: SerializationFormat = "json",
    ) -> None:
        super().__init__()
        if serialization_format not in ("json", "msgpack"):
            raise ValueError(
                f"serialization_format is 'json' or 'msgpack', not {serialization_format!r}"
            )
        self.storage_path = Path(storage_path)
        self.serialization_format = serialization_format

    async def get(self, session_id: str) -> AgentSession | None:
        """Give the session as it was kept last, or None if there is none of this id."""
        path = self._path_of(session_id)
        return await trio.to_thread.run_sync(self._read, path, session_id)

    async def set(self, session_id: str, session: AgentSession) -> None:
        """Keep the session as it is now; the last one who does so wins."""
        path = self._path_of(session_id)
        data = _data_of(session, self.serialization_format)
        await trio.to_thread.run_sync(self._write, path, data)

    async def delete(self, session_id: str) -> None:
        """Forget a session; one that isn't there is forgotten already."""
        path = self._path_of(session_id)
        await trio.to_thread.run_sync(lambda: path.unlink(missing_ok=True))

    def _path_of(self, session_id: str) -> Path:
        name = file_stem(self._checked(session_id))
        return self.storage_path / f"{name}.{self.serialization_format}"

    def _read(self, path: Path, session_id: str) -> AgentSession | None:
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            return _session_of(data, self.serialization_format)
        except _MalformedError as error:
            aside = path.with_name(f"{path.name}.malformed")
            path.replace(aside)
            _LOG.error(
                "session %r can't be read (%s); its file is now %s", session_id, error, aside
            )
            return None

    def _write(self, path: Path, data: bytes) -> None:
        self.storage_path.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)


class SQLiteSessionStore(SessionStore):
    """Keeps sessions in one SQLite file.

    Args:
        path: the file; it is made if it isn't there.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__()
        self.path = Path(path)
        # Statements of one process take turns; those of others wait for SQLite's own lock.
        self._limiter = trio.CapacityLimiter(1)

    async def get(self, session_id: str) -> AgentSession | None:
        """Give the session as it was kept last, or None if there is none of this id."""
        key = self._checked(session_id)
        rows = await self._do("SELECT data FROM sessions WHERE id = ?", (key,))
        return _session_of(rows[0][0], "msgpack") if rows else None

    async def set(self, session_id: str, session: AgentSession) -> None:
        """Keep the session as it is now; the last one who does so wins."""
        row = (self._checked(session_id), _data_of(session, "msgpack"))
        await self._do("INSERT OR REPLACE INTO sessions(id, data) VALUES (?, ?)", row)

    async def delete(self, session_id: str) -> None:
        """Forget a session; one that isn't there is forgotten already."""
        await self._do("DELETE FROM sessions WHERE id = ?", (self._checked(session_id),))

    async def _do(self, statement: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return await trio.to_thread.run_sync(
            self._execute, statement, values, limiter=self._limiter
        )

    def _execute(self, statement: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.path)) as database, database:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute(
                "CREATE TABLE IF NOT EXISTS sessions(id TEXT PRIMARY KEY, data BLOB NOT NULL)"
            )
            return database.execute(statement, values).fetchall()


def file_stem(session_id: str) -> str:
    """A name for a file that no other id has, on file systems without capital letters either."""
    readable = re.sub(r"[^a-z0-9]+", "-", session_id.lower()).strip("-")[:_READABLE]
    digest = hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{readable}-{digest}" if readable else digest


class _MalformedError(ValueError):
    """Bytes are no session of ours."""


def _data_of(session: AgentSession, form: SerializationFormat) -> bytes:
    if type(session) is not AgentSession:
        raise TypeError(
            f"a store keeps an AgentSession, not a {type(session).__name__}: a subclass may have "
            "more to it than the store would give back"
        )
    snapshot = {"version": SNAPSHOT_VERSION, "session": session.to_dict()}
    text = json.dumps(snapshot, allow_nan=False, ensure_ascii=False)
    if form == "json":
        return text.encode("utf-8", "surrogatepass")
    # By way of JSON, so that both forms refuse, and turn into something else, the same values.
    return msgspec.msgpack.encode(json.loads(text))


def _session_of(data: bytes, form: SerializationFormat) -> AgentSession:
    decode: Callable[[bytes], Any] = json.loads if form == "json" else msgspec.msgpack.decode
    try:
        snapshot = decode(data)
    except (ValueError, RecursionError) as error:
        raise _MalformedError(f"it is no {form}") from error
    if not isinstance(snapshot, dict) or "session" not in snapshot:
        raise _MalformedError("it is no snapshot of a session")
    if snapshot.get("version") != SNAPSHOT_VERSION:
        raise _MalformedError(
            f"its version is {snapshot.get('version')!r}, and this program reads {SNAPSHOT_VERSION!r}"
        )
    found = snapshot["session"]
    if not isinstance(found, dict) or "session_id" not in found:
        raise _MalformedError("it is no session")
    return AgentSession.from_dict(found)
