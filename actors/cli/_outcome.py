"""How commands end: exit codes, and errors that are for the person at the keyboard."""

from __future__ import annotations

from typing import Final

DONE: Final = 0
FAILED: Final = 1
BAD_USAGE: Final = 2
WAITING: Final = 3
INTERRUPTED: Final = 130


class CommandError(Exception):
    """A command can't go on. Its message names what it is about and says what to do.

    Args:
        message: for a person; may have several lines.
        exit_code: ``BAD_USAGE`` if the command was wrong, ``FAILED`` if what it did was.
    """

    def __init__(self, message: str, exit_code: int = BAD_USAGE) -> None:
        super().__init__(message)
        self.exit_code = exit_code
