"""The leak oracle: it sees what is left behind, and only that."""

from __future__ import annotations

import threading
import warnings
from pathlib import Path
from typing import Any

import pytest
import trio

from actors import Actor, ActorContext, handler, open_system
from actors.testing import LeakError, leaks


class Echo(Actor):
    @handler
    async def echo(self, message: int, ctx: ActorContext) -> int:
        return message


async def test_a_system_leaves_nothing_behind() -> None:
    async with leaks():
        async with open_system() as system:
            assert await system.spawn(Echo).ask(1, timeout=5) == 1


async def test_tasks_that_go_on_are_found() -> None:
    async with trio.open_nursery() as nursery:
        with pytest.raises(LeakError, match="tasks 'left'") as caught:
            async with leaks():
                nursery.start_soon(trio.sleep_forever, name="left")
        nursery.cancel_scope.cancel()

    assert caught.value.found == ("tasks 'left'",)


async def test_tasks_that_are_about_to_end_are_waited_for() -> None:
    async with trio.open_nursery() as nursery:
        async with leaks():
            nursery.start_soon(trio.lowlevel.checkpoint)


async def test_a_busy_program_is_not_waited_for_forever(autojump_clock: Any) -> None:
    async def spin() -> None:
        while True:
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(spin)
        began = trio.current_time()
        autojump_clock.rate = 100.0
        async with leaks():
            pass
        assert trio.current_time() - began >= 1
        nursery.cancel_scope.cancel()


def test_threads_that_go_on_are_found() -> None:
    end = threading.Event()
    thread = threading.Thread(target=end.wait, name="left")
    with pytest.raises(LeakError, match="threads 'left'"):
        with leaks():
            thread.start()
    end.set()
    thread.join()


async def test_threads_that_trio_keeps_for_later_are_no_leak() -> None:
    async with leaks():
        await trio.to_thread.run_sync(lambda: None)


def test_open_files_are_found_and_closed_ones_are_not(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with leaks():
        path.write_text("closed")
    with pytest.raises(LeakError, match=f"files .*{path}"):
        with leaks():
            file = path.open()
    file.close()


async def test_open_sockets_are_found() -> None:
    with pytest.raises(LeakError, match="socket:"):
        async with leaks():
            listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    for listener in listeners:
        await listener.aclose()


def test_files_that_nobody_closed_are_found_though_they_are_gone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    with pytest.raises(LeakError, match="unclosed file"):
        with leaks():
            path.open()


def test_coroutines_that_nobody_awaited_are_found_with_where_they_were_made() -> None:
    async def forgotten() -> None: ...

    with pytest.raises(LeakError, match=r"(?s)forgotten.*never awaited.*test_leaks\.py"):
        with leaks():
            forgotten()  # type: ignore[unused-coroutine]  # that is the mistake


async def test_timers_of_the_system_are_found(autojump_clock: Any) -> None:
    async with open_system("bank") as system:
        with pytest.raises(LeakError, match="timers of bank"):
            async with leaks():
                timer = system.timers.at(trio.current_time() + 5, lambda: None)
        timer.cancel()
        await trio.sleep(6)
        async with leaks(system):
            timer = system.timers.at(trio.current_time() + 5, lambda: None)
            timer.cancel()
            await trio.sleep(6)


def test_an_error_of_the_block_is_more_important_and_gets_a_note() -> None:
    async def forgotten() -> None: ...

    with pytest.raises(KeyError) as caught:
        with leaks():
            forgotten()  # type: ignore[unused-coroutine]  # that is the mistake
            raise KeyError("real")

    assert "besides, it left behind" in caught.value.__notes__[0]


def test_other_warnings_go_where_they_went_before() -> None:
    with pytest.warns(UserWarning, match="mine"):
        with leaks():
            warnings.warn("mine", stacklevel=1)
