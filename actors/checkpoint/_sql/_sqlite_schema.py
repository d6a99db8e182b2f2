"""The tables of a SQLite storage, and the statements on them.

Commits and parts have keys that grow: the run's number, then their own. So a commit changes the
last page of two tables and the row of its run, and nothing else, however large the file is.
"""

from __future__ import annotations

from typing import Final

#: Marks a file as ours ("trio").
APPLICATION_ID: Final = 0x7472696F
#: The version of the tables, in the file's ``user_version``.
SCHEMA_VERSION: Final = 1

TABLES: Final = """
create table if not exists runs(
    number integer primary key autoincrement,
    id text not null unique,
    workflow text not null,
    incarnation integer not null,
    last integer not null,
    opened integer not null,
    about blob not null
);
create table if not exists commits(id integer primary key, head blob not null, body blob not null);
create table if not exists parts(id integer primary key, body blob not null);
create table if not exists jobs(
    number integer primary key autoincrement,
    id text not null unique,
    queue text not null,
    state text not null,
    owner text not null,
    token integer not null,
    until real not null,
    body blob not null,
    result blob not null
);
create index if not exists waiting on jobs(queue, state, number);
create table if not exists notes(
    number integer primary key autoincrement,
    job text not null,
    kind text not null,
    body blob not null
);
create index if not exists notes_of on notes(job, number);
"""

#: From a version of the tables to the next one. There is one version so far.
MIGRATIONS: Final[dict[int, str]] = {}

OPEN: Final = """
insert into runs(id, workflow, incarnation, last, opened, about)
values (:id, :workflow, 1, 0, (select coalesce(max(opened), 0) + 1 from runs), :about)
on conflict(id) do update set
    incarnation = incarnation + 1, opened = (select coalesce(max(opened), 0) + 1 from runs)
"""

# The fence: it changes the run's row, or it doesn't.
ADVANCE: Final = """
update runs set last = :sequence
where number = :run and incarnation = :incarnation and last = :sequence - 1
"""
