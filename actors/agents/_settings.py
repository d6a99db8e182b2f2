"""Settings: given in code, else in a ``.env`` file, else in the environment."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from protocols._errors import SettingNotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping

_LINE: Final = re.compile(
    r"""\s*(?:export\s+)?(?P<name>[A-Za-z_]\w*)\s*=\s*
    (?:'(?P<raw>[^']*)'|"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>(?!\#).*?))\s*(?:(?:^|\s)\#.*)?""",
    re.VERBOSE,
)


class Settings:
    """Looks settings up by the names of their environment variables.

    Args:
        env_file_path: a file of ``NAME=value`` lines that wins over the environment.
        env_file_encoding: its encoding, if that isn't UTF-8.
        environ: stands in for the environment of the process.

    Raises:
        SettingNotFoundError: the file is given, but can't be read.
    """

    def __init__(
        self,
        env_file_path: str | os.PathLike[str] | None = None,
        env_file_encoding: str | None = None,
        *,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._file = (
            {}
            if env_file_path is None
            else _read(Path(env_file_path), env_file_encoding or "utf-8-sig")
        )
        self._environ = os.environ if environ is None else environ

    def find(self, *names: str) -> str | None:
        """The value of the first of the variables that has one; an empty one counts as unset."""
        for source in (self._file, self._environ):
            for name in names:
                if source.get(name):
                    return source[name]
        return None

    def require(self, what: str, argument: str, *names: str, hint: str = "") -> str:
        """The value of the first of the variables that has one.

        Raises:
            SettingNotFoundError: none has; the message says what to set.
        """
        value = self.find(*names)
        if value is None:
            raise SettingNotFoundError(
                f"{what} is missing: pass {argument}=…, or set {' or '.join(names)} "
                f"in the environment or in env_file_path{hint}"
            )
        return value


def parse_env(text: str) -> dict[str, str]:
    """The variables that the lines of a ``.env`` file set; other lines are passed over."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match is not None:
            quoted = match["quoted"]
            plain = match["raw"] or match["bare"] or ""
            value = plain if quoted is None else re.sub(r"\\(.)", _unescaped, quoted)
            found[match["name"]] = value
    return found


def _unescaped(match: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t", "r": "\r"}.get(match[1], match[1])


def _read(path: Path, encoding: str) -> dict[str, str]:
    try:
        return parse_env(path.read_text(encoding=encoding))
    except (OSError, UnicodeDecodeError, LookupError) as error:
        raise SettingNotFoundError(
            f"the settings file {path} can't be read ({error}); correct env_file_path",
            error,
        ) from error
