"""A user's folder that hides a package of ours is named, where our code runs at all."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def test_a_folder_named_protocols_beside_a_program_is_told_so(tmp_path: Path) -> None:
    """Python looks beside the program first, so `import actors` finds the user's protocols."""
    hiding = tmp_path / "protocols"
    hiding.mkdir()
    (hiding / "__init__.py").touch()
    program = tmp_path / "program.py"
    program.write_text("import actors\n")

    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert f"is hidden by yours at {hiding / '__init__.py'}; rename that" in done.stderr
