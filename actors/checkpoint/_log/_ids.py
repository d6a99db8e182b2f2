"""Ids of runs and checkpoints: text that can stand in a file's name, a URL and a terminal."""

from __future__ import annotations

from typing import Final

from protocols._checkpoint_errors import CheckpointIdError
from protocols._codec._trouble import short

MAX_LENGTH: Final = 150


def checked_id(given: object) -> str:
    """Return *given* if it can be an id.

    Raises:
        CheckpointIdError: it is no text, empty, longer than 150 characters, leads to another
            directory, or holds what can't be printed.
    """
    if type(given) is not str or not given:
        raise CheckpointIdError(f"{short(given)} is no id: an id is a text that isn't empty")
    if len(given) > MAX_LENGTH:
        raise CheckpointIdError(
            f"the id {short(given)} has {len(given)} characters; {MAX_LENGTH} are allowed"
        )
    if not given.isprintable() or "/" in given or "\\" in given or given[0] == ".":
        raise CheckpointIdError(
            f"{short(given)} can't be an id: an id consists of printable characters, without "
            "slashes, and doesn't begin with a dot"
        )
    return given
