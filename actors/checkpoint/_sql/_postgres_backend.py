# psycopg is imported here and in `_postgres_lane.py`, on use: it is an extra.
#
# A commit locks the row of its run, and whoever takes the run over updates that row: so a writer
# that was overtaken either commits before the next one looks for the last sequence, or finds the
# new incarnation and is refused. There is no moment in between.
"""Rows in the tables of a PostgreSQL database."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final, final

from actors.checkpoint._log._fence import refusal
from actors.checkpoint._sql._sql_backend import RUN, SQLBackend
from protocols._checkpoint_errors import CheckpointVersionError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    import psycopg

    from actors.checkpoint._backend import Write
    from actors.checkpoint._log._format import Sealer
    from actors.checkpoint._types import RunInfo

SCHEMA: Final = "trio_actors"
SCHEMA_VERSION: Final = 1
#: Where waiting jobs are told of.
CHANNEL: Final = "trio_actors_jobs"
# Names our lock among those of everybody who uses the database.
_LOCK: Final = 0x7472696F

TABLES: Final = f"""
create schema if not exists {SCHEMA};
create table if not exists {SCHEMA}.about(version integer not null);
create sequence if not exists {SCHEMA}.openings;
create table if not exists {SCHEMA}.runs(
    number bigint generated always as identity primary key,
    id text not null unique,
    workflow text not null,
    incarnation bigint not null,
    last bigint not null,
    opened bigint not null,
    about bytea not null
);
create table if not exists {SCHEMA}.commits(
    id bigint primary key, head bytea not null, body bytea not null
);
create table if not exists {SCHEMA}.parts(id bigint primary key, body bytea not null);
create table if not exists {SCHEMA}.jobs(
    number bigint generated always as identity primary key,
    id text not null unique,
    queue text not null,
    state text not null,
    owner text not null,
    token bigint not null,
    until double precision not null,
    body bytea not null,
    result bytea not null
);
create index if not exists waiting on {SCHEMA}.jobs(queue, state, number);
create table if not exists {SCHEMA}.notes(
    number bigint generated always as identity primary key,
    job text not null,
    kind text not null,
    body bytea not null
);
create index if not exists notes_of on {SCHEMA}.notes(job, number);
"""

_TAKE_OVER: Final = """
insert into runs(id, workflow, incarnation, last, opened, about)
values (?, ?, 1, 0, nextval('openings'), ?)
on conflict(id) do update
set incarnation = runs.incarnation + 1, opened = nextval('openings')
"""
_LOCK_RUNS: Final = """
select number, incarnation, last from runs where number = any(?) order by number for update
"""
_ADVANCE: Final = "update runs set last = ? where number = ?"


def prepare(connection: psycopg.Connection[Any], place: str) -> None:
    """Make the tables if they aren't there.

    Raises:
        CheckpointVersionError: they were made by a newer version of this library.
    """
    with translating(place), connection.transaction():
        connection.execute("select pg_advisory_xact_lock(%s)", (_LOCK,))
        (found,) = connection.execute("select to_regclass(%s)", (f"{SCHEMA}.about",)).fetchone()  # type: ignore[misc]
        if found is None:
            connection.execute(TABLES)
            connection.execute(f"insert into {SCHEMA}.about values (%s)", (SCHEMA_VERSION,))  # noqa: S608
        row = connection.execute(f"select max(version) from {SCHEMA}.about").fetchone()  # noqa: S608
        version = row[0] if row else 0
        if version > SCHEMA_VERSION:
            raise CheckpointVersionError(
                f"{place} has tables of the version {version}, and this version of trio-actors "
                f"knows them up to {SCHEMA_VERSION}: use a newer version of it"
            )


@contextmanager
def translating(place: str) -> Iterator[None]:
    """Turn the database's errors into ours."""
    import psycopg

    try:
        yield
    except psycopg.Error as exc:
        raise StorageError(f"{place}: {_said(exc)}", exc) from exc


def _said(exc: psycopg.Error) -> str:
    import psycopg

    text = " ".join(str(exc).split()) or type(exc).__name__
    if isinstance(exc, psycopg.errors.ReadOnlySqlTransaction):
        return f"{text}: it is read-only; connect to the primary server"
    if isinstance(exc, psycopg.errors.InsufficientPrivilege):
        return f"{text}: the user needs the right to create the schema {SCHEMA!r} and to use it"
    if isinstance(exc, psycopg.errors.DiskFull):
        return f"{text}: make room, then open the run again"
    if isinstance(exc, psycopg.OperationalError):
        return f"{text}: check that the server runs and can be reached, then open the run again"
    return text


@final
class PostgresBackend(SQLBackend):
    """Keeps rows in PostgreSQL, over one connection, which is given back by `close`.

    Args:
        connection: the connection, in autocommit mode.
        place: how the database is called in messages.
        sealer: makes and reads its records.
    """

    def __init__(self, connection: psycopg.Connection[Any], place: str, sealer: Sealer) -> None:
        super().__init__(place, sealer)
        self.connection = connection

    LOCKED: ClassVar[str] = " for update"
    SKIP_LOCKED: ClassVar[str] = " for update skip locked"

    def now(self) -> float:
        """Return the time by which leases end: the server's."""
        ((found,),) = self.query("select extract(epoch from clock_timestamp())::float8")
        return float(found)

    def notify(self, queue: str) -> None:
        """Tell who waits for jobs."""
        self.do("select pg_notify(?, ?)", (CHANNEL, queue))

    def is_alive(self) -> bool:
        """Whether the connection can be used."""
        return not self.connection.closed

    def told(self) -> AbstractContextManager[None]:
        return translating(self.place)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self.connection.transaction():
            yield

    def query(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self.connection.execute(_marked(statement), values).fetchall()

    def do(self, statement: str, values: Sequence[Any] = ()) -> None:
        self.connection.execute(_marked(statement), values)

    def do_each(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        with self.connection.cursor() as cursor:
            cursor.executemany(_marked(statement), list(values))

    def _take_over(self, info: RunInfo, about: bytes) -> None:
        self.do(_TAKE_OVER, (info.run_id, info.workflow_name, about))

    def append(self, writes: Sequence[Write]) -> list[BaseException | None]:
        """Write commits in one transaction; one that is refused doesn't harm the others."""
        try:
            with self.told(), self.transaction():
                return self._append(writes)
        except StorageError as exc:
            return [exc] * len(writes)

    def _append(self, writes: Sequence[Write]) -> list[BaseException | None]:
        numbers = sorted({write.number for write in writes})
        known = {number: (now, last) for number, now, last in self.query(_LOCK_RUNS, (numbers,))}
        errors: list[BaseException | None] = []
        commits, parts = [], []
        for write in writes:
            number, run_id, row = write.number, write.run_id, write.row
            error = refusal(write, *known.get(number, (None, 0)))
            errors.append(error)
            if error is not None:
                continue
            sequence = row.head.sequence
            known[number] = (row.head.incarnation, sequence)
            low, seal = number * RUN, self.sealer
            commits.append((low + sequence, seal.head(run_id, row.head), seal.body(run_id, row)))
            parts += [(low + part, seal.part(run_id, part, body)) for part, body in row.parts]
        if commits:
            self.do_each(_ADVANCE, [(last, number) for number, (_, last) in known.items()])
            self.do_each("insert into commits(id, head, body) values (?, ?, ?)", commits)
        if parts:
            self.do_each("insert into parts(id, body) values (?, ?)", parts)
        return errors

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def _marked(statement: str) -> str:
    return statement.replace("?", "%s")
