"""What ``actors model fetch`` and ``actors model serve`` do, without a command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from actors.agents._local._files import fetch_model
from actors.agents._local._local_model import open_local_model

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from pathlib import Path
    from typing import NoReturn

    from actors.agents._local._files import ProgressCallback


async def fetch_command(
    path: str | os.PathLike[str] | None = None, progress: ProgressCallback | None = None
) -> Path:
    """Make sure that the model file is there, and return where.

    Args:
        path: where to put it instead of the cache directory.
        progress: called with a ``FetchProgress`` every now and then.

    Raises:
        ModelFileError: it isn't, and could not be fetched.
    """
    return await fetch_model(path, progress=progress)


async def serve_command(
    gguf: str | os.PathLike[str] | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    parallel: int = 4,
    context: int = 2048,
    say: Callable[[str], None],
) -> NoReturn:
    """Serve a model file until cancelled.

    Args:
        gguf: the file; by default what ``ACTORS_MODEL`` names, else what was fetched.
        host: the address to listen at, one that only this machine can reach.
        port: the port to listen at; 0 stands for any free one.
        parallel: how many requests are answered at once.
        context: tokens for each of them, prompt and answer together.
        say: gets the URL first, as a line of its own, and a sentence at each restart.

    Raises:
        ModelFileError: there is no such file, or it is no GGUF file.
        LocalModelError: the server didn't start, or kept dying.
    """
    async with open_local_model(
        gguf, parallel=parallel, context=context, host=host, port=port, on_restart=say
    ) as model:
        say(model.base_url)
        await trio.sleep_forever()
    raise AssertionError("sleep_forever doesn't return")  # pragma: no cover
