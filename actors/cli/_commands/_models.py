"""The commands for the small language model."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from actors.cli._commands._shared import reporting, with_traceback


@click.group()
def model() -> None:
    """Fetch and serve a small language model, for use without an API key."""


@model.command()
@click.option(
    "--path", type=click.Path(path_type=Path), help="Where to put it, if not into the cache."
)
@with_traceback
def fetch(path: Path | None, traceback: bool) -> int:
    """Download the small model, check it, and print where it is."""
    from actors.cli._model import fetch_model_file

    return reporting(partial(fetch_model_file, path), traceback=traceback)


@model.command()
@click.option("--gguf", type=click.Path(path_type=Path), help="The model file to serve.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    help="The port to listen at; 0 takes any free one.",
)
@click.option(
    "--parallel",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    help="How many requests are answered at once.",
)
@click.option(
    "--context",
    type=click.IntRange(min=64),
    default=2048,
    show_default=True,
    help="Tokens for each request, prompt and answer together.",
)
@with_traceback
def serve(traceback: bool, **options: Any) -> int:
    """Serve a model to OpenAI clients on this machine until Ctrl-C; print the URL first."""
    from actors.cli._model import serve_model_file

    return reporting(partial(serve_model_file, **options), traceback=traceback)
