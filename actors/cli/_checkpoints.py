"""Looking at stored runs, and changing what is stored of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit
from uuid import uuid4

import attrs
import trio

from actors.checkpoint._log._plain_form import MISSING, differences, plain_entries
from actors.checkpoint._log._retention import keep_every, keep_last
from actors.checkpoint._open import open_storage
from actors.checkpoint._types import CheckpointFacts, Commit
from actors.cli._outcome import DONE, CommandError
from actors.cli._plain import without_controls
from actors.cli._shadow import did_you_mean
from actors.workflows._durable._keys import parse
from protocols._codec._codec import default_codec
from protocols._errors import CodecError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from actors.checkpoint._log._retention import Retention
    from actors.checkpoint._storage import LogStore
    from actors.checkpoint._types import CheckpointInfo

_WIDTH: Final = 100
_MOST: Final = 200


@attrs.frozen
class CheckpointsCommand:
    """A command on a storage.

    Args:
        store: the URL of the storage.
        key_file: holds the key that it is signed with.
        as_json: print JSON, for programs.
    """

    store: str
    key_file: Path | None = None
    as_json: bool = False

    def list(self, workflow: str | None, run_id: str | None) -> int:
        """Print the checkpoints, each run in the order of its lineage."""

        async def work(storage: LogStore) -> None:
            infos = await storage.list_infos(workflow_name=workflow, run_id=run_id)
            if self.as_json:
                _out(_json([_told(info) for info in infos]))
            elif infos:
                _table(infos)
            else:
                _out("No checkpoints." + await _hint(storage, workflow, run_id))

        return self._run(work)

    def show(self, checkpoint_id: str, entry: str | None) -> int:
        """Print one checkpoint, with all of its entries or one."""

        async def work(storage: LogStore) -> None:
            stored = await storage.read_checkpoint(checkpoint_id)
            entries = plain_entries(stored)
            if entry is not None:
                if entry not in entries:
                    known = ", ".join(entries) or "none"
                    raise CommandError(f"{checkpoint_id} has no entry {entry!r}; it has: {known}")
                _out(_json(entries[entry]))
                return
            if self.as_json:
                run = attrs.asdict(stored.run)
                _out(_json({"checkpoint_id": checkpoint_id, "run": run, "entries": entries}))
                return
            _out(f"{checkpoint_id}: workflow {stored.run.workflow_name!r}, commit "
                f"{stored.position.sequence}, incarnation {stored.heads[-1].incarnation}")  # fmt: skip
            for key, value in entries.items():
                _out(f"  {key}: {_short(value, _MOST)}")

        return self._run(work)

    def diff(self, old: str, new: str) -> int:
        """Print where two checkpoints differ."""

        async def work(storage: LogStore) -> None:
            before = plain_entries(await storage.read_checkpoint(old))
            after = plain_entries(await storage.read_checkpoint(new))
            found = list(differences(before, after))
            if self.as_json:
                _out(_json([attrs.asdict(one) for one in found]))
                return
            for one in found:
                if one.old == MISSING:
                    _out(f"+ {one.path}: {_short(one.new)}")
                elif one.new == MISSING:
                    _out(f"- {one.path}: {_short(one.old)}")
                else:
                    _out(f"~ {one.path}: {_short(one.old)} -> {_short(one.new)}")
            if not found:
                _out("No difference.")

        return self._run(work)

    def fork(
        self, checkpoint_id: str, run_id: str | None, edits: Iterable[str], removed: Iterable[str]
    ) -> int:
        """Begin a new run as another one was at a checkpoint, with changes."""
        changes = dict(map(_edit, edits))
        name = run_id or uuid4().hex

        gone = tuple(removed)

        async def work(storage: LogStore) -> None:
            origin = await storage.read_checkpoint(checkpoint_id)
            _require_entries(origin.values(), changes, gone)
            log = await storage.open_run(name, workflow_name="", fork_of=checkpoint_id)
            if changes or gone:
                facts = origin.heads[-1].checkpoint or CheckpointFacts()
                commit = Commit(changes, gone, "fork", attrs.evolve(facts, label="edited"))
                log.append(commit, lambda error: None)  # noqa: ARG005  (flush tells it)
                await log.flush()
            _out(f"{log.checkpoint_id or f'{name}@1'}")

        return self._run(work)

    def prune(
        self,
        last: int | None,
        every: int | None,
        workflow: str | None,
        run_id: str | None,
        *,
        dry: bool,
    ) -> int:
        """Forget the checkpoints that aren't to be kept."""
        retention = _retention(last, every)

        async def work(storage: LogStore) -> None:
            report = await storage.prune(retention, workflow_name=workflow, run_id=run_id, dry=dry)
            if self.as_json:
                _out(_json(attrs.asdict(report)))
                return
            for gone in report.checkpoints:
                _out(f"{'would forget' if dry else 'forgot'} {gone}")
            what = "would be forgotten" if dry else "forgotten"
            _out(f"{len(report.checkpoints)} checkpoints of {report.runs} runs {what}.")

        return self._run(work)

    def _run(self, work: Callable[[LogStore], Awaitable[None]]) -> int:
        _require_there(self.store)
        key = None if self.key_file is None else _key(self.key_file)

        async def main() -> None:
            async with open_storage(self.store, key=key) as storage:
                await work(storage)

        trio.run(main)
        return DONE


def _out(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _require_there(store: str) -> None:
    """A storage makes what isn't there; who wants to look at it has mistyped its name."""
    parts = urlsplit(store)
    path = unquote(parts.path)
    if parts.scheme == "sqlite":
        path = path.removeprefix("/")
    if parts.scheme in {"sqlite", "file"} and path and not Path(path).exists():
        raise CommandError(f"there is nothing at {path}: check the URL {store!r}")
    if parts.scheme == "memory":
        raise CommandError("memory: is empty in each new process; give the URL of a file")


def _key(path: Path) -> bytes:
    try:
        return path.read_bytes().strip()
    except OSError as exc:
        raise CommandError(f"the key can't be read: {exc}") from exc


def _edit(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise CommandError(
            f"--set takes ENTRY=JSON, such as 'shared/topic=\"cats\"', not {text!r}"
        )
    try:
        return key, default_codec.decode(value.encode())
    except CodecError as exc:
        raise CommandError(
            f"--set {key}: the value must be JSON, a text in quotation marks: {exc}"
        ) from exc


def _require_entries(
    there: Mapping[str, Any], changed: Iterable[str], removed: Iterable[str]
) -> None:
    """Make sure that an edit does something.

    Raises:
        CommandError: it names an entry that isn't there, and that nobody would look at.
    """
    new = [key for key in changed if parse(key).kind not in {"shared", "executor"}]
    for key in (*new, *removed):
        if key not in there:
            near = did_you_mean(key, there) or "; `actors checkpoints show` lists them"
            raise CommandError(
                f"the checkpoint has no entry {key!r}{near} (what set_state sets is shared/NAME)"
            )


def _retention(last: int | None, every: int | None) -> Retention:
    chosen = [
        make(number)
        for make, number in ((keep_last, last), (keep_every, every))
        if number is not None
    ]
    if not chosen:
        raise CommandError("say what to keep: --keep-last 10, --keep-every 100, or both")
    return chosen[0] if len(chosen) == 1 else chosen[0] | chosen[1]


async def _hint(storage: LogStore, workflow: str | None, run_id: str | None) -> str:
    runs = await storage.list_runs()
    if not runs:
        return " No run has been stored there yet."
    if workflow is None and run_id is None:
        return f" {len(runs)} runs are stored without any."
    names = sorted({run.workflow_name for run in runs})
    return f" There are runs of: {', '.join(names)}."


def _table(infos: list[CheckpointInfo]) -> None:
    rows = [("CHECKPOINT", "GREW FROM", "WORKFLOW", "STEPS", "ASKS", "STATUS", "TIME", "LABEL")]
    rows += [
        (
            info.run.run_id if info.kind == "saved" else info.checkpoint_id,
            info.previous_checkpoint_id or "-",
            info.run.workflow_name,
            str(info.facts.iteration),
            str(info.open_requests or "-"),
            info.facts.status or info.kind,
            info.timestamp[:19].replace("T", " "),
            info.facts.label,
        )
        for info in infos
    ]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        _out(without_controls(line.rstrip()))


def _told(info: CheckpointInfo) -> dict[str, Any]:
    return attrs.asdict(info, value_serializer=lambda _, __, value: value)


def _short(value: Any, width: int = _WIDTH) -> str:
    text = value if value == MISSING else json.dumps(value, ensure_ascii=False, default=repr)
    text = without_controls(" ".join(str(text).split()))
    return text if len(text) <= width else f"{text[: width - 3]}..."


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, default=_as_json)


def _as_json(value: Any) -> Any:
    return dict(value) if hasattr(value, "keys") else repr(value)
