"""The libraries that we are measured beside, each in a virtual environment of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent / "peers"
INSTALL_SECONDS: Final = 900

PINS: Final[dict[str, tuple[str, ...]]] = {
    "maf": ("agent-framework-core==1.23.0",),
    "langgraph": ("langgraph==1.2.24", "langgraph-checkpoint-sqlite==3.1.2"),
    "autogen": ("autogen-core==0.7.5",),
    "pykka": ("pykka==4.5.0",),
    "dbos": ("dbos==3.4.0",),
}


class PeerMissingError(Exception):
    """A peer can't be installed here. Its figures are left out."""


def python_of(peer: str | None) -> str:
    """Return the interpreter that figures of *peer* run in; None means our own.

    Installs the peer when it is used for the first time, or when its pins have changed.

    Raises:
        PeerMissingError: it can't be installed.
    """
    if peer is None:
        return sys.executable
    place = HERE / peer
    python, marker = place / "bin" / "python", place / ".installed"
    pins = PINS[peer]
    if not marker.exists() or marker.read_text(encoding="utf-8").split() != [*pins]:
        print(f"installing {', '.join(pins)}", file=sys.stderr, flush=True)
        _run(peer, sys.executable, "-m", "venv", "--clear", str(place))
        _run(peer, str(python), "-m", "pip", "install", "--quiet", *pins)
        marker.write_text("\n".join(pins), encoding="utf-8")
    return str(python)


def _run(peer: str, *command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired as exc:
        raise PeerMissingError(f"{peer}: not installed in {INSTALL_SECONDS} s") from exc
    except (OSError, subprocess.CalledProcessError) as exc:
        output = (getattr(exc, "stderr", b"") or b"").decode(errors="replace").strip()
        raise PeerMissingError(f"{peer}: {output.splitlines()[-1] if output else exc}") from exc
