# This file is run as a program of its own, by its path, and imports nothing of the project:
# it starts in the time that Python and the native library need, and a folder of the user's
# that happens to be named like a module of ours can't get in between.
#
# Why a process, when the library can serve from a thread? Loading a model holds the GIL for
# about a second, and in that second no other task of a trio program would move.
"""The child process that serves a GGUF file over the OpenAI protocol, on llama.cpp.

On standard output it says one line of JSON, ``{"url": "http://127.0.0.1:PORT"}``, when it
listens. It ends when its standard input does, so it can't outlive the process that started it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Idle threads that spin, which is the default, take the cores from whoever else wants to run:
# twenty times slower answers on a busy machine of two cores.
PASSIVE_OPENMP: Final[Mapping[str, str]] = {
    "OMP_WAIT_POLICY": "passive",
    "GOMP_SPINCOUNT": "0",
}
# What keeping prompts of earlier requests may cost, in MiB; the library's own default is 8 GiB.
PROMPT_CACHE: Final = 256
# Tokens of prompts that are read in one go. It can't be interrupted in between, so this is how
# long a request that nobody waits for any more holds its slot, and everybody else's next token.
BATCH: Final = 32
# Threads that are there from the start. The library starts more on demand, but of requests that
# come together some get none, and wait until an answer to somebody else is complete: so would
# whoever asks which slots are busy. They cost next to nothing while they wait.
HTTP_THREADS: Final = 128
ERRORS_ONLY: Final = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until standard input ends; return the exit code of the process."""
    options = _parser().parse_args(arguments)
    ready = _claim_stdout()
    for name, value in PASSIVE_OPENMP.items():
        os.environ.setdefault(name, value)
    try:
        # Only now: the OpenMP library reads the environment when it is loaded.
        import xllamacpp
    except ImportError as error:
        return _complain(f"xllamacpp can't be imported: {error}")
    try:
        # The name keeps the server alive.
        server = xllamacpp.Server(_parameters(xllamacpp.CommonParams(), options))
    except RuntimeError as error:
        return _complain(f"{options.gguf} can't be served: {error}")
    # Nobody to hear it: then standard input has ended as well.
    with suppress(BrokenPipeError):
        os.write(ready, json.dumps({"url": server.listening_address}).encode() + b"\n")
    _wait_for_end_of_input()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m actors.agents._local._server")
    parser.add_argument("--gguf", required=True, help="the model file")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at")
    parser.add_argument("--port", type=int, default=0, help="0 stands for any free port")
    parser.add_argument("--parallel", type=int, default=4, help="requests answered at once")
    parser.add_argument("--context", type=int, default=2048, help="tokens for each of them")
    return parser


def _parameters(parameters: Any, options: argparse.Namespace) -> Any:
    """Fill in the parameters of the native library, and return them."""
    parameters.model.path = options.gguf
    parameters.model_alias = {"local"}
    parameters.hostnames = [options.host]
    parameters.port = options.port
    parameters.n_parallel = options.parallel
    parameters.n_ctx = options.context * options.parallel
    parameters.n_batch = BATCH
    parameters.n_ubatch = BATCH
    parameters.n_threads_http = HTTP_THREADS
    parameters.cache_ram_mib = PROMPT_CACHE
    parameters.ui = False
    # The default lets any page in the user's browser talk to the server.
    parameters.cors_origins = ""
    parameters.endpoint_slots = True
    parameters.verbosity = ERRORS_ONLY
    threads = _usable_cores()
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    return parameters


def _usable_cores() -> int:
    """Count the cores that we may use, which in a container can be fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _claim_stdout() -> int:
    """Keep standard output for our one line: native code that writes there reaches stderr."""
    ready = os.dup(1)
    os.dup2(2, 1)
    return ready


def _complain(problem: str) -> int:
    sys.stderr.write(problem + "\n")
    sys.stderr.flush()
    return 1


def _wait_for_end_of_input() -> None:
    while os.read(0, 4096):
        pass


if __name__ == "__main__":
    try:
        code = main()
    except KeyboardInterrupt:
        code = 130
    # Not sys.exit: taking the native server down in order would wait until it has generated
    # every answer it is at, minutes perhaps, for clients that are gone.
    os._exit(code)
