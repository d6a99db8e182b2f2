# One file per session, to which a line is added for each message. A program that is killed in
# the middle of a line leaves a torn one: what comes next begins on a line of its own, and the
# torn one is left out when the file is read, with a warning. All other lines must be readable.
"""A history provider that keeps conversations in files."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec
import trio

from actors.agents._compaction._groups import is_excluded
from actors.agents._sessions._history import HistoryProvider
from actors.agents._sessions._store import SerializationFormat, file_stem
from protocols._errors import AgentException
from protocols._message import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_LOG: Final = logging.getLogger("actors.agents.history")
_LENGTH: Final = 4
_NO_SESSION: Final = "default"


class FileHistoryProvider(HistoryProvider):
    """Keeps each session's messages in a file that only grows: a line, or a record, a message.

    Args:
        storage_path: the folder; it is made if it isn't there.
        source_id: see ``HistoryProvider``; ``"file_history"`` unless given.
        skip_excluded: don't give back messages that compaction has marked as excluded.
        serialization_format: ``json`` for lines of JSON, ``msgpack`` for records with their
            length before them.
        dumps: writes a message's mapping, in place of the format's own.
        loads: reads what ``dumps`` wrote.
        **flags: those of ``HistoryProvider``.
    """

    DEFAULT_SOURCE_ID: ClassVar[str] = "file_history"

    def __init__(
        self,
        storage_path: str | os.PathLike[str],
        *,
        source_id: str | None = None,
        skip_excluded: bool = False,
        serialization_format: SerializationFormat = "json",
        dumps: Callable[[Any], str | bytes] | None = None,
        loads: Callable[[Any], Any] | None = None,
        **flags: Any,
    ) -> None:
        super().__init__(source_id or self.DEFAULT_SOURCE_ID, **flags)
        is_json = serialization_format == "json"
        self.storage_path = Path(storage_path)
        self.skip_excluded = skip_excluded
        self.serialization_format = serialization_format
        self.dumps = dumps or (_json_line if is_json else msgspec.msgpack.encode)
        self.loads = loads or (json.loads if is_json else msgspec.msgpack.decode)
        self._frame, self._split = (_lined, _lines) if is_json else (_sized, _records)
        # One at a time, or the messages of two runs would be mixed.
        self._limiter = trio.CapacityLimiter(1)
        self._mended: set[Path] = set()

    async def get_messages(
        self,
        session_id: str | None,
        *,
        state: dict[str, Any] | None = None,  # noqa: ARG002 (the provider API's)
        **kwargs: Any,  # noqa: ARG002
    ) -> Sequence[Message]:
        """Give the messages of the session's file.

        Raises:
            AgentException: a line in the midst of it can't be read.
        """
        path = self.path_of(session_id)
        found = await trio.to_thread.run_sync(self._read, path, limiter=self._limiter)
        return [m for m in found if not (self.skip_excluded and is_excluded(m))]

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,  # noqa: ARG002 (the provider API's)
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        """Add messages to the session's file; they are on the disk when this returns."""
        dumped = [self.dumps(message.to_dict()) for message in messages]
        data = b"".join(self._frame(d.encode() if isinstance(d, str) else d) for d in dumped)
        path = self.path_of(session_id)
        await trio.to_thread.run_sync(self._append, path, data, limiter=self._limiter)

    def path_of(self, session_id: str | None) -> Path:
        """The file of a session."""
        stem = file_stem(session_id) if session_id else _NO_SESSION
        suffix = "jsonl" if self.serialization_format == "json" else "msgpack"
        return self.storage_path / f"{stem}.{suffix}"

    def _append(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b") as file:
            if path not in self._mended:  # a look at all of it, once
                _mend(file, self.serialization_format, self.loads)
                self._mended.add(path)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def _read(self, path: Path) -> list[Message]:
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return []
        found: list[Message] = []
        for number, (piece, is_last) in enumerate(self._split(data), 1):
            try:
                found.append(Message.from_dict(self.loads(piece)))
            except Exception as error:
                if not is_last:
                    raise AgentException(
                        f"message {number} of {path} can't be read: {error}. Mend or remove it"
                    ) from error
                _LOG.warning("the last message of %s is torn, and left out", path)
        return found


def _json_line(tree: Any) -> str:
    return json.dumps(tree, ensure_ascii=False)


def _lined(data: bytes) -> bytes:
    return data.replace(b"\n", b" ") + b"\n"


def _lines(data: bytes) -> Iterator[tuple[bytes, bool]]:
    *whole, torn = data.split(b"\n")
    for line in whole:
        if line.strip():
            yield line, False
    if torn.strip():
        yield torn, True


def _sized(data: bytes) -> bytes:
    return len(data).to_bytes(_LENGTH, "big") + data


def _records(data: bytes) -> Iterator[tuple[bytes, bool]]:
    at = 0
    while at < len(data):
        end = at + _LENGTH + int.from_bytes(data[at : at + _LENGTH], "big")
        yield data[at + _LENGTH : end], end > len(data) or at + _LENGTH > len(data)
        at = end


def _mend(file: Any, form: SerializationFormat, loads: Callable[[Any], Any]) -> None:
    """Cut off what a program that was killed left of its last message."""
    file.seek(0)
    data = file.read()
    if form == "json":
        whole = data.rfind(b"\n") + 1
        if data[whole:].strip() and _is_readable(data[whole:], loads):
            file.write(b"\n")  # only its end is missing
            return
    else:
        whole = sum(_LENGTH + len(piece) for piece, is_torn in _records(data) if not is_torn)
    if whole < len(data):
        _LOG.warning("a torn message at the end of a history was cut off")
        file.truncate(whole)


def _is_readable(piece: bytes, loads: Callable[[Any], Any]) -> bool:
    try:
        Message.from_dict(loads(piece))
    except Exception:  # noqa: BLE001  (a user's own function may raise anything)
        return False
    return True
