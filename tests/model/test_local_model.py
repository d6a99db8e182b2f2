"""The real server with the real model: what it answers, and that it never stays behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio

from actors.agents._local._commands import serve_command
from actors.agents._local._local_model import LocalModel, Slot, open_local_model
from protocols._model_errors import LocalModelError
from tests.model.conftest import is_alive, processes_with

pytestmark = pytest.mark.model


async def complete(base_url: str, prompt: str, **options: Any) -> Any:
    body = {"model": "local", "messages": [{"role": "user", "content": prompt}], **options}
    async with httpx2.AsyncClient(trust_env=False, timeout=60) as http:
        answer = await http.post(f"{base_url}/chat/completions", json=body)
    return answer.raise_for_status().json()


class Restarts:
    """Lets a test wait until the server has been found dead."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self._heard = trio.Event()

    def __call__(self, sentence: str) -> None:
        self.said.append(sentence)
        self._heard.set()

    async def kill_and_wait(self, model: LocalModel) -> None:
        assert model.pid is not None
        self._heard = trio.Event()
        os.kill(model.pid, signal.SIGKILL)
        await self._heard.wait()

    async def kill_for_ever(self, model: LocalModel) -> None:
        while True:
            await self.kill_and_wait(model)
            await model.wait_ready()

    async def kill_until_it_hurts(self, model: LocalModel) -> None:
        try:
            await self.kill_for_ever(model)
        finally:
            # As a request would that was under way.
            raise ConnectionError


async def test_it_answers_over_http_and_all_its_slots_are_free_again(real_gguf: Path) -> None:
    async with open_local_model(real_gguf, parallel=2) as model:
        answer = await complete(model.base_url, "Say hello.", max_tokens=8)
        slots = await model.slots()

    assert answer["choices"][0]["message"]["content"]
    assert 0 < answer["usage"]["completion_tokens"] <= 8
    assert slots == [Slot(0, is_busy=False), Slot(1, is_busy=False)]


async def test_its_client_asks_the_model(real_gguf: Path) -> None:
    async with open_local_model(real_gguf) as model, model.client() as client:
        response = await client.get_response("Say hello.", options={"max_tokens": 8})
    assert response.text


async def test_a_server_that_died_is_back_at_the_same_address(real_gguf: Path) -> None:
    restarts = Restarts()
    async with open_local_model(real_gguf, on_restart=restarts) as model:
        before = (model.base_url, model.pid)
        await restarts.kill_and_wait(model)
        assert model.pid is None
        with pytest.raises(LocalModelError, match="being restarted"):
            await model.slots()
        await model.wait_ready()

        assert model.base_url == before[0]
        assert model.pid != before[1]
        assert model.restarts == 1
        assert await complete(model.base_url, "Say hello.", max_tokens=2)
    assert "died (by SIGKILL)" in restarts.said[0]


async def test_a_server_that_keeps_dying_cancels_the_body_and_is_given_up(
    real_gguf: Path,
) -> None:
    restarts = Restarts()
    with pytest.raises(LocalModelError, match="4th time within 60 s") as caught:
        async with open_local_model(real_gguf, on_restart=restarts) as model:
            await restarts.kill_for_ever(model)
    assert caught.value.returncode == -signal.SIGKILL
    assert len(restarts.said) == 3


async def test_an_error_of_the_body_wins_over_the_server_being_given_up(real_gguf: Path) -> None:
    restarts = Restarts()
    with pytest.raises(ConnectionError) as caught:
        async with open_local_model(real_gguf, on_restart=restarts) as model:
            await restarts.kill_until_it_hurts(model)
    assert "is given up" in caught.value.__notes__[0]


async def test_no_process_is_left_at_the_end(real_gguf: Path) -> None:
    async with open_local_model(real_gguf) as model:
        pid = model.pid
        assert is_alive(pid)
    assert not is_alive(pid)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
async def test_the_bodys_error_comes_out_as_it_is_and_no_process_is_left(
    linked_gguf: Path, error: type[BaseException]
) -> None:
    with pytest.raises(error):
        async with open_local_model(linked_gguf):
            raise error
    assert processes_with(linked_gguf) == []


async def test_no_process_is_left_when_the_body_is_cancelled_amid_an_answer(
    real_gguf: Path,
) -> None:
    pid = None
    with trio.CancelScope() as scope:
        async with open_local_model(real_gguf, stop_budget=30) as model:
            pid = model.pid
            async with trio.open_nursery() as nursery:
                nursery.start_soon(complete, model.base_url, "Tell a long story.")
                while not any(slot.is_busy for slot in await model.slots()):
                    pass
                started = trio.current_time()
                scope.cancel()
    assert scope.cancelled_caught
    assert not is_alive(pid)
    assert trio.current_time() - started < 10


async def test_a_start_that_takes_too_long_is_a_typed_error(linked_gguf: Path) -> None:
    with pytest.raises(LocalModelError, match=r"not ready within 0.01 s"):
        async with open_local_model(linked_gguf, start_budget=0.01):
            raise AssertionError
    assert processes_with(linked_gguf) == []


async def test_a_truncated_model_file_is_told_with_the_servers_own_words(
    real_gguf: Path, tmp_path: Path
) -> None:
    truncated = tmp_path / "truncated.gguf"
    with real_gguf.open("rb") as whole:
        truncated.write_bytes(whole.read(20_000_000))
    with pytest.raises(LocalModelError, match="corrupted or incomplete") as caught:
        async with open_local_model(truncated):
            raise AssertionError
    assert caught.value.returncode == 1
    assert str(truncated) in caught.value.message
    assert processes_with(truncated) == []


async def test_a_garbage_model_file_is_a_typed_error(tmp_path: Path) -> None:
    garbage = tmp_path / "garbage.gguf"
    garbage.write_bytes(b"GGUF" + bytes(range(255, 0, -1)) * 100)
    with pytest.raises(LocalModelError, match="can't be served"):
        async with open_local_model(garbage):
            raise AssertionError
    assert processes_with(garbage) == []


async def test_a_port_that_is_taken_is_a_typed_error(linked_gguf: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with pytest.raises(LocalModelError, match="ended before it was ready"):
            async with open_local_model(linked_gguf, port=taken.getsockname()[1]):
                raise AssertionError
    assert processes_with(linked_gguf) == []


async def test_a_server_that_does_not_react_is_killed(real_gguf: Path) -> None:
    async with open_local_model(real_gguf, stop_budget=0.1) as model:
        pid = model.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
    assert not is_alive(pid)


async def test_an_error_of_the_restart_callback_comes_out_and_nothing_stays(
    real_gguf: Path,
) -> None:
    def fail(_: str) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        async with open_local_model(real_gguf, on_restart=fail) as model:
            await Restarts().kill_and_wait(model)


async def test_serving_says_the_address_and_ends_when_cancelled(real_gguf: Path) -> None:
    said: list[str] = []
    with trio.CancelScope() as scope:

        def say(line: str) -> None:
            said.append(line)
            scope.cancel()

        await serve_command(real_gguf, "localhost", say=say)
    assert scope.cancelled_caught
    assert [line.startswith("http://localhost:") for line in said] == [True]


PROGRAM_OF_A_USER = """
import sys, trio
from actors.agents._local._local_model import open_local_model

async def main():
    async with open_local_model(sys.argv[1]) as model:
        print(model.pid, flush=True)
        await trio.sleep_forever()

trio.run(main)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_the_server_does_not_outlive_the_program(real_gguf: Path, how: signal.Signals) -> None:
    command = [sys.executable, "-c", PROGRAM_OF_A_USER, str(real_gguf)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        pid = int(program.stdout.readline())
        program.send_signal(how)
        # Ends when the last process that has this pipe does; the server has one of its own.
        complaint = program.stderr.read().decode()
    trio.run(_wait_until_gone, pid)
    assert ("KeyboardInterrupt" in complaint) == (how is signal.SIGINT)
    assert "ExceptionGroup" not in complaint


def test_the_program_run_by_hand_ends_with_ctrl_c(real_gguf: Path) -> None:
    command = [sys.executable, "-m", "actors.agents._local._server", "--gguf", str(real_gguf)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert b"http://127.0.0.1:" in program.stdout.readline()
        program.send_signal(signal.SIGINT)
        assert program.wait(10) == 130


async def _wait_until_gone(pid: int) -> None:
    with trio.fail_after(10):
        while is_alive(pid):
            await trio.lowlevel.checkpoint()


async def test_the_servers_of_a_test_run_answer_and_tell_their_slots(
    real_model_url: str, busy_slots: Any
) -> None:
    answer = await complete(real_model_url, "Say hello.", max_tokens=4)
    assert answer["model"] == "local"
    assert await busy_slots() == 0
