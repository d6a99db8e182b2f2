# The local model is a process under supervision, as an `async with` block.
#
# What the block owes to its caller: the body's errors come out as they are, not in a group;
# a server that can't be kept alive cancels the body and comes out as one LocalModelError; and
# when the block is left, in whatever way, there is no process any more. So the nursery that
# owns the process is shielded while it is taken down (its children stop within their own
# budgets), and the body runs in a cancel scope of its own.
"""A language model on this machine: ``async with open_local_model() as model``."""

from __future__ import annotations

import importlib.util
import ipaddress
import ssl
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from actors.agents._local._files import model_path, require_gguf
from actors.agents._local._late_endpoint import LateEndpoint
from actors.agents._local._process import ServerOptions
from actors.agents._local._supervision import ServerStatus, keep_running
from actors.agents._without_group import without_group
from protocols._model_errors import LocalModelError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from types import TracebackType

    from actors.agents._openai._client import OpenAIChatCompletionClient

_SLOTS_BUDGET: Final = 5.0
# Loading the certificates, of which none is used, would hold up every task for a while.
_NO_CERTIFICATES: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
# Makes the server send something after each piece of a prompt that it has read, so that it
# looks whether anybody is still there.
_SIGNS_OF_LIFE: Final = {"return_progress": True}


@attrs.frozen
class Slot:
    """One of the places where the server works at a request."""

    id: int
    is_busy: bool


@attrs.define(eq=False)
class LocalModel:
    """A model that is served on this machine.

    Args:
        model: the name that the server knows it by.
    """

    _status: ServerStatus
    model: str = "local"
    _endpoint: LateEndpoint = attrs.field(
        default=attrs.Factory(lambda self: LateEndpoint(self._busy, _SIGNS_OF_LIFE), True),
        init=False,
    )

    @property
    def base_url(self) -> str:
        """Where an OpenAI client finds it; a restart of the server doesn't change it."""
        return f"{self._status.url}/v1"

    @property
    def pid(self) -> int | None:
        """The process id of the server, None while it is being restarted."""
        return self._status.pid

    @property
    def restarts(self) -> int:
        """How often the server had to be started again."""
        return self._status.restarts

    async def wait_ready(self) -> None:
        """Wait until the server listens; it always does, but for the time of a restart."""
        await self._status.ready.wait()

    async def slots(self) -> list[Slot]:
        """Ask the server which of its slots are busy.

        Raises:
            LocalModelError: it doesn't answer.
        """
        with trio.move_on_after(_SLOTS_BUDGET):
            return await self._slots()
        raise LocalModelError(
            f"the model server at {self.base_url} doesn't say within {_SLOTS_BUDGET:g} s which "
            "slots are busy; is this machine very busy with something else?"
        )

    async def _slots(self) -> list[Slot]:
        import httpx2

        url = f"{self._status.url}/slots"
        try:
            # A proxy from the environment has no business between us and this machine.
            async with httpx2.AsyncClient(
                trust_env=False, timeout=None, verify=_NO_CERTIFICATES
            ) as http:
                answer = (await http.get(url)).raise_for_status().json()
            return [Slot(slot["id"], slot["is_processing"]) for slot in answer]
        except (httpx2.HTTPError, ValueError, LookupError, TypeError) as error:
            raise LocalModelError(
                f"the model server at {self.base_url} doesn't say which slots are busy "
                f"({error}); if it is being restarted, try again"
            ) from error

    async def _busy(self) -> int:
        try:
            # Whoever asks has a budget. A time limit here would make a slow server look free.
            return sum(slot.is_busy for slot in await self._slots())
        except LocalModelError:
            # A server that is down works at nothing.
            await trio.lowlevel.checkpoint()
            return 0

    def client(self, **kwargs: Any) -> OpenAIChatCompletionClient:
        """Return a chat client for this model; *kwargs* go to its constructor.

        Whoever leaves an answer of it early, by a cancellation or otherwise, goes on only when
        the server has stopped working at it, which it does within some milliseconds. Nobody
        waits longer than two seconds for that.
        """
        from actors.agents._openai._client import OpenAIChatCompletionClient

        settings: dict[str, Any] = {
            "model": self.model,
            "base_url": self.base_url,
            "api_key": "none",
            "late_endpoint": self._endpoint,
        }
        return OpenAIChatCompletionClient(**(settings | kwargs))


def open_local_model(
    path: str | os.PathLike[str] | None = None,
    *,
    parallel: int = 4,
    context: int = 2048,
    host: str = "127.0.0.1",
    port: int = 0,
    start_budget: float = 60.0,
    stop_budget: float = 5.0,
    on_restart: Callable[[str], None] | None = None,
) -> OpenLocalModel:
    """Serve a model file in a process of its own, for the length of an ``async with`` block.

    The process is started again, at the same address, if it dies; if it dies more than three
    times within a minute, then the body of the block is cancelled and the block raises.

    Args:
        path: a GGUF file; by default what ``ACTORS_MODEL`` names, else what was fetched.
        parallel: how many requests are answered at once; more of them wait.
        context: tokens for each request, prompt and answer together.
        host: the address to listen at; it has to be one that only this machine can reach.
        port: the port to listen at; 0 stands for any free one.
        start_budget: seconds that the server gets to load the model.
        stop_budget: seconds that the server gets to end by itself, before it is terminated.
        on_restart: called with a sentence when the server has died and is started again.

    Raises:
        ModelFileError: there is no such file, or it is no GGUF file (on entering).
        LocalModelError: xllamacpp isn't installed, *host* can be reached from elsewhere, the
            server didn't start (all on entering), or it kept dying (on leaving).
    """
    options = ServerOptions(
        gguf=model_path(path),
        host=host,
        port=port,
        parallel=parallel,
        context=context,
        start_budget=start_budget,
        stop_budget=stop_budget,
    )
    return OpenLocalModel(options, on_restart)


class OpenLocalModel:
    """What ``open_local_model`` returns: enter it, once, to get the ``LocalModel``."""

    def __init__(
        self, options: ServerOptions, on_restart: Callable[[str], None] | None = None
    ) -> None:
        self._options = options
        self._on_restart = on_restart
        self._status = ServerStatus()
        self._nursery_manager = trio.open_nursery()
        self._body = trio.CancelScope()
        self._decided = trio.Event()
        self._failure: LocalModelError | None = None

    async def __aenter__(self) -> LocalModel:
        _require_loopback(self._options.host)
        _require_xllamacpp()
        await trio.to_thread.run_sync(require_gguf, self._options.gguf)
        async with AsyncExitStack() as stack:
            self._nursery = await self._nursery_manager.__aenter__()
            stack.push_async_callback(self._take_down)
            self._nursery.start_soon(self._serve)
            await self._decided.wait()
            if self._failure is not None:
                raise self._failure
            stack.enter_context(self._body)
            self._leave = stack.pop_all()
        return LocalModel(self._status)

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        # It shields itself, see _take_down; a shield out here would cross the nursery's scope.
        gave_up = await self._leave.__aexit__(exc_type, exc, traceback)  # noqa: ASYNC102
        if self._failure is None:
            return False
        if gave_up:
            raise self._failure
        if exc is not None:
            exc.add_note(str(self._failure))
        return False

    async def _take_down(self) -> None:
        # A cancellation from outside must not interrupt this. It is bounded all the same:
        # the one child ends within the stop budget and what terminating it takes.
        self._nursery.cancel_scope.shield = True
        self._nursery.cancel_scope.cancel()
        with without_group():
            await self._nursery_manager.__aexit__(None, None, None)

    async def _serve(self) -> None:
        self._failure = await keep_running(
            self._options,
            self._status,
            started=self._decided.set,
            on_restart=self._on_restart,
        )
        self._decided.set()
        self._body.cancel()


def _require_loopback(host: str) -> None:
    if host == "localhost":
        return
    try:
        if ipaddress.ip_address(host).is_loopback:
            return
    except ValueError:
        pass
    raise LocalModelError(
        f"the model server would listen at {host}, for everybody: it asks nobody for a key; use "
        "127.0.0.1, and for other machines put a proxy before it that does"
    )


def _require_xllamacpp() -> None:
    if importlib.util.find_spec("xllamacpp") is None:
        raise LocalModelError(
            "serving a model on this machine needs xllamacpp; install it with "
            "`pip install 'trio-actors[local]'`"
        )
