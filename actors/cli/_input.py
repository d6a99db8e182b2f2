"""The input of a run: where it comes from, and as what the start executor gets it."""

from __future__ import annotations

import contextlib
import json
import sys
from typing import TYPE_CHECKING, Any

from actors.cli._outcome import CommandError
from protocols._message import Message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from actors.workflows._workflow import Workflow


def read_input(text: str | None, file: Path | None) -> str:
    """Return the input of a run; one line break at the end of a file doesn't belong to it.

    Args:
        text: what was given as INPUT; ``"-"`` stands for standard input.
        file: what was given as --input-file.

    Raises:
        CommandError: there is no input or there are two, or it can't be read as UTF-8.
    """
    if text is not None and file is not None:
        raise CommandError("give either INPUT or --input-file, not both")
    if file is not None:
        return _decoded(_bytes_of(file), f"--input-file {file}")
    if text == "-":
        return _decoded(sys.stdin.buffer.read(), "standard input")
    if text is None:
        raise CommandError(
            "there is no input for the workflow; give it as INPUT, give - to read it from "
            "standard input, or name a file with --input-file"
        )
    try:
        text.encode()
    except UnicodeEncodeError:
        # Bytes of the command line that are no UTF-8 arrive as lone surrogates.
        raise CommandError("INPUT isn't UTF-8; give it in that encoding") from None
    return text


def _bytes_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise CommandError(f"--input-file {file} can't be read: {error.strerror}") from error


def _decoded(data: bytes, where: str) -> str:
    try:
        # With or without a byte order mark.
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(
            f"{where} isn't UTF-8 (byte {error.start} is 0x{data[error.start]:02x}); convert it, "
            "for example with iconv"
        ) from None
    return text.removesuffix("\n").removesuffix("\r")


def fit_input(workflow: Workflow, text: str) -> Any:
    """Return *text* as something that the start executor takes.

    That is the text itself; else what it says as JSON, where a pydantic model is wanted as that
    model; else a message of the user's.

    Raises:
        CommandError: the start executor takes none of these.
    """
    start = workflow.get_start_executor()
    for candidate in readings(start.input_types, text):
        if start.can_handle_data(candidate):
            return candidate
    names = ", ".join(getattr(each, "__name__", str(each)) for each in start.input_types)
    raise CommandError(
        f"the start executor {start.id!r} takes {names}, and the input is not one of these; give "
        "it as JSON, or let the workflow start with an executor that takes a str"
    )


def readings(types: list[Any], text: str) -> Iterator[Any]:
    """Yield what *text* may mean to somebody who takes these types, the plainest first.

    Raises:
        CommandError: one of them is a pydantic model, and it is none.
    """
    yield text
    with contextlib.suppress(ValueError, RecursionError):
        yield json.loads(text)
    for each in types:
        if validate := getattr(each, "model_validate_json", None):
            try:
                yield validate(text)
            except ValueError as error:
                raise CommandError(f"the input is no {each.__name__}: {error}") from error
    message = Message("user", [text])
    yield message
    yield [message]
