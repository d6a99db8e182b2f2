"""A test that goes wrong shows what the actors were doing."""

from __future__ import annotations

import traceback
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import open_system
from actors.testing import cancel_everywhere, print_tree, seeds, stuck, tree_on_failure
from tests.core.kit import Recorder


async def busy(name: str) -> None:
    """Open a system with an actor that does nothing, and one that never answers."""
    async with open_system(name) as system:
        system.spawn(Recorder, name="idle")
        await system.spawn(stuck(10**6).actor, name="stuck", shutdown=0).ask("anybody there?")


def test_a_test_that_hangs_shows_what_all_actors_were_doing() -> None:
    @seeds(1, within=60)
    async def hangs() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(busy, "one")
            nursery.start_soon(busy, "two")

    with pytest.raises(trio.TooSlowError) as caught:
        hangs()
    text = str(caught.value)
    assert "one: running\n├─ idle  running\n└─ stuck  running" in text
    assert "60.0 s in str: 'anybody there?'" in text
    assert "two: running" in text


def test_a_test_that_fails_shows_what_the_actors_of_its_system_were_doing() -> None:
    @seeds(1)
    async def fails() -> None:
        async with open_system("one") as system:
            system.spawn(stuck(5).actor, name="stuck").tell_nowait(7)
            await wait_all_tasks_blocked()
            raise ValueError("the test's")

    with pytest.raises(ValueError, match="the test's") as caught:
        fails()
    text = "".join(traceback.format_exception(caught.value))
    assert "when its block failed:\none: running\n└─ stuck  running\n" in text
    assert "in int: 7" in text


def test_a_scenario_that_hangs_in_a_sweep_shows_it_too() -> None:
    async def hangs() -> None:
        await busy("one")

    with pytest.raises(trio.TooSlowError, match="stuck  running"):
        cancel_everywhere(hangs, within=60)


async def test_a_tree_is_printed_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    async with open_system("one") as system:
        system.spawn(Recorder, name="idle")
        print_tree()
        assert capsys.readouterr().out == "one: running\n└─ idle  running\n"
        print_tree(system)
        assert capsys.readouterr().out == "one: running\n└─ idle  running\n"


async def test_an_error_in_a_block_is_noted_with_the_tree() -> None:
    with pytest.raises(ValueError, match="no") as caught:
        async with open_system("one") as system:
            with tree_on_failure():
                system.spawn(Recorder, name="idle")
                raise ValueError("no")
    assert caught.value.__notes__ == ["the actors were:\none: running\n└─ idle  running"]


async def test_a_timeout_around_a_block_prints_the_tree(
    capsys: pytest.CaptureFixture[str], autojump_clock: Any
) -> None:
    async with open_system("one") as system:
        ref = system.spawn(stuck(10).actor, name="stuck")
        with pytest.raises(trio.TooSlowError):
            with trio.fail_after(2), tree_on_failure(system):
                await ref.ask(7)
    assert "└─ stuck  running\n      2.0 s in int: 7\n" in capsys.readouterr().err


async def test_a_block_that_ends_well_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    async with open_system():
        with tree_on_failure():
            pass
    assert capsys.readouterr() == ("", "")


async def test_without_a_system_there_is_no_tree() -> None:
    with pytest.raises(RuntimeError, match="no system here"):
        print_tree()
    with pytest.raises(RuntimeError, match="no system here"), tree_on_failure():
        pass
