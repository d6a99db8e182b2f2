"""A stream gives its updates once, then one final value; and it always cleans up."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import attrs
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors._core._streams._sources import spawn_closing
from actors._core._streams._stream import ResponseStream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


class Letters:
    """A source that says what happens to it."""

    def __init__(self, letters: str, *, fail: Exception | None = None, hang: bool = False) -> None:
        self.letters = list(letters)
        self.fail = fail
        self.hang = hang
        self.closed = 0

    def __aiter__(self) -> Letters:
        return self

    async def __anext__(self) -> str:
        await trio.lowlevel.checkpoint()
        if self.letters:
            return self.letters.pop(0)
        if self.hang:
            await trio.sleep_forever()
        raise self.fail or StopAsyncIteration

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()
        self.closed += 1


@attrs.frozen
class Word:
    text: str
    incomplete: bool = False


def spell(letters: list[str]) -> Word:
    return Word("".join(letters))


def _fail(*_: object) -> None:
    raise LookupError


async def _hang(*_: object) -> None:
    await trio.sleep_forever()


async def read(stream: ResponseStream[Any, Any]) -> list[Any]:
    return [update async for update in stream]


# --------------------------------------------------------------- updates and the end


async def test_updates_come_once_and_a_second_loop_is_empty() -> None:
    stream = ResponseStream(Letters("ab"), finalizer=spell)
    assert await read(stream) == ["a", "b"]
    assert await read(stream) == []
    assert stream.updates == ["a", "b"]
    assert await stream.get_final_response() == Word("ab")


async def test_without_a_finalizer_the_final_value_is_the_list_of_updates() -> None:
    assert await ResponseStream(Letters("ab")).get_final_response() == ["a", "b"]


async def test_a_transform_changes_what_the_reader_sees_but_not_the_final_value() -> None:
    """TV4: otherwise a hook that shortens the display would shorten the history as well."""
    stream = ResponseStream(Letters("ab"), finalizer=spell, transform_hooks=[str.upper])
    assert await read(stream) == ["A", "B"]
    assert await stream.get_final_response() == Word("ab")


async def test_a_hook_that_returns_none_keeps_the_update() -> None:
    async def look(update: str) -> None:
        await trio.lowlevel.checkpoint()
        seen.append(update)

    seen: list[str] = []
    stream = ResponseStream(Letters("ab")).with_transform_hook(look)
    assert await read(stream) == seen == ["a", "b"]


async def test_hooks_run_in_the_documented_order() -> None:
    """TV7."""
    log: list[str] = []

    def final(updates: list[str]) -> Word:
        log.append("finalizer")
        return spell(updates)

    stream = ResponseStream(
        Letters("ab"),
        finalizer=final,
        transform_hooks=[lambda _: log.append("transform")],
        cleanup_hooks=[lambda: log.append("cleanup")],
        result_hooks=[lambda _: log.append("result")],
    )
    async for _ in stream:
        pass
    expected = ["transform", "transform", "cleanup", "finalizer", "result"]
    assert log == expected
    await stream.get_final_response()
    assert log == expected


async def test_a_result_hook_may_replace_the_final_value() -> None:
    stream = ResponseStream(Letters("ab"), finalizer=spell)
    stream.with_result_hook(lambda word: attrs.evolve(word, text=word.text.upper()))
    first = await stream.get_final_response()
    assert first == Word("AB")
    assert await stream.get_final_response() is first


async def test_a_final_response_after_break_goes_on_where_the_loop_stopped() -> None:
    """R60: leaving a loop isn't leaving the stream."""
    source = Letters("abc")
    stream = ResponseStream(source, finalizer=spell)
    async for _ in stream:
        break
    assert await stream.get_final_response() == Word("abc")


@pytest.mark.parametrize("kind", ["transform", "cleanup", "result"])
async def test_a_hook_that_comes_too_late_is_refused(kind: str) -> None:
    """ST4: silently never running it would be worse, running all again worse still."""
    stream = ResponseStream(Letters(""), finalizer=spell)
    await stream.get_final_response()
    with pytest.raises(RuntimeError, match=f"add a {kind} before its end"):
        getattr(stream, f"with_{kind}_hook")(lambda *_: None)
    with pytest.raises(RuntimeError, match="map"):
        stream.map(str)


async def test_a_hook_that_waits_for_its_own_stream_is_told_so() -> None:
    stream = ResponseStream(Letters("a"), finalizer=spell)
    stream.with_cleanup_hook(stream.get_final_response)
    with pytest.raises(trio.BusyResourceError):
        await read(stream)


def test_a_source_that_is_no_source_is_refused() -> None:
    with pytest.raises(TypeError, match="not list"):
        ResponseStream([1, 2])  # type: ignore[call-overload]  # the point of the test


# ------------------------------------------------------------------------- failure


async def test_a_stream_that_failed_stays_failed() -> None:
    """TV5: half an answer must not pass for a whole one because somebody asks twice."""
    error = ValueError("the line is dead")
    log: list[str] = []
    source = Letters("a", fail=error)
    stream = ResponseStream(
        source,
        finalizer=spell,
        cleanup_hooks=[lambda: log.append("cleanup")],
        result_hooks=[lambda _: log.append("result")],
    )
    for again in (read, read, ResponseStream.get_final_response):
        with pytest.raises(ValueError, match="the line is dead") as caught:
            await again(stream)
        assert caught.value is error
    assert log == ["cleanup"]
    assert source.closed == 1


@pytest.mark.parametrize("where", ["transform_hooks", "cleanup_hooks", "result_hooks"])
async def test_a_hook_that_fails_fails_the_stream(where: str) -> None:
    def fail(*_: object) -> None:
        raise LookupError(where)

    hooks: dict[str, Any] = {where: [fail]}
    stream = ResponseStream(Letters("a"), finalizer=spell, **hooks)
    for again in (read, ResponseStream.get_final_response):
        with pytest.raises(LookupError, match=where):
            await again(stream)


async def test_all_cleanup_hooks_run_and_the_first_error_names_the_others() -> None:
    def fail(text: str) -> None:
        raise ValueError(text)

    stream = ResponseStream(Letters(""))
    stream.with_cleanup_hook(lambda: fail("one")).with_cleanup_hook(lambda: fail("two"))
    with pytest.raises(ValueError, match="one") as caught:
        await read(stream)
    assert "two" in caught.value.__notes__[0]


async def test_an_error_while_closing_does_not_hide_the_error_before() -> None:
    def fail() -> None:
        raise LookupError("cleanup too")

    stream = ResponseStream(Letters("", fail=ValueError("first")), cleanup_hooks=[fail])
    with pytest.raises(ValueError, match="first") as caught:
        await read(stream)
    assert "cleanup too" in caught.value.__notes__[0]


# ----------------------------------------------------------------------- leaving early


async def test_leaving_the_block_early_closes_the_source_and_runs_no_result_hooks() -> None:
    """TV6, case D6: nobody pays for an answer that nobody reads."""
    log: list[str] = []
    source = Letters("abc")
    stream = ResponseStream(
        source,
        finalizer=spell,
        cleanup_hooks=[lambda: log.append("cleanup")],
        result_hooks=[lambda _: log.append("result")],
    )
    async with stream:
        async for _ in stream:
            break
    assert (source.closed, log) == (1, ["cleanup"])
    assert await stream.get_final_response() == Word("a", incomplete=True)
    assert await read(stream) == []
    await stream.aclose()
    assert (source.closed, log) == (1, ["cleanup"])


async def test_leaving_the_block_at_the_end_closes_nothing_twice() -> None:
    source = Letters("a")
    async with ResponseStream(source, finalizer=spell) as stream:
        await read(stream)
    assert await stream.get_final_response() == Word("a")


async def test_a_final_value_without_a_mark_is_given_as_it_is() -> None:
    stream = ResponseStream(Letters("ab"))
    await anext(stream)
    await stream.aclose()
    assert await stream.get_final_response() == ["a"]


async def test_closing_reports_what_could_not_be_closed() -> None:
    def fail() -> None:
        raise ValueError("stuck")

    stream = ResponseStream(Letters("a"), cleanup_hooks=[fail])
    with pytest.raises(ValueError, match="stuck"):
        await stream.aclose()


async def test_the_error_of_a_block_is_not_replaced_by_one_of_its_closing() -> None:
    def fail() -> None:
        raise ValueError("stuck")

    with pytest.raises(LookupError):
        async with ResponseStream(Letters("a"), cleanup_hooks=[fail]):
            raise LookupError


async def test_a_cancelled_pull_closes_the_source_and_stays_cancelled() -> None:
    """ST3: cleanup that awaits must work although everything around it is cancelled."""
    log: list[str] = []

    async def clean() -> None:
        await trio.lowlevel.checkpoint()
        log.append("cleanup")

    source = Letters("a", hang=True)
    stream = ResponseStream(source, finalizer=spell, cleanup_hooks=[clean])
    with trio.CancelScope() as scope:
        async for _ in stream:
            scope.cancel()
    assert scope.cancelled_caught
    assert (source.closed, log) == (1, ["cleanup"])
    assert await stream.get_final_response() == Word("a", incomplete=True)


async def test_a_block_inside_a_cancelled_scope_still_closes_its_source() -> None:
    """Case D3."""
    source = Letters("ab")
    with trio.CancelScope() as scope:
        async with ResponseStream(source) as stream:
            await anext(stream)
            scope.cancel()
    assert source.closed == 1


async def test_a_source_that_never_closes_costs_its_budget_and_no_more(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    class Stubborn(Letters):
        async def aclose(self) -> None:
            await trio.sleep_forever()

    log: list[str] = []
    stream = ResponseStream(Stubborn("ab"), cleanup_hooks=[lambda: log.append("cleanup")])
    await anext(stream)
    start = trio.current_time()
    await stream.aclose()
    assert trio.current_time() - start == pytest.approx(stream.cleanup_budget)
    assert log == ["cleanup"]
    assert "given up" in caplog.text


async def test_a_result_hook_that_is_cancelled_leaves_an_incomplete_final_value() -> None:
    stream = ResponseStream(Letters("ab"), finalizer=spell)
    with trio.CancelScope() as scope:
        stream.with_result_hook(lambda _: scope.cancel()).with_result_hook(_hang)
        await stream.get_final_response()
    assert scope.cancelled_caught
    assert (await stream.get_final_response()).incomplete


async def test_a_coroutine_that_was_never_awaited_is_closed_quietly() -> None:
    async def later() -> Letters:
        await trio.lowlevel.checkpoint()
        return Letters("a")

    stream = ResponseStream(later())
    await stream.aclose()
    assert await stream.get_final_response() == []


# --------------------------------------------------------------------- dropped streams


async def test_a_stream_that_is_dropped_has_its_source_closed_by_trio() -> None:
    """R60: there is nobody left to await it, so a system task does."""
    log: list[str] = []
    source = Letters("ab")
    stream = ResponseStream(source, cleanup_hooks=[lambda: log.append("cleanup")])
    await anext(stream)
    drops = [stream]
    del stream
    with pytest.warns(ResourceWarning, match="dropped before its end"):
        drops.clear()
    await wait_all_tasks_blocked()
    assert (source.closed, log) == (1, ["cleanup"])


async def test_a_stream_dropped_in_another_thread_is_closed_as_well() -> None:
    source = Letters("ab")
    kept = [ResponseStream(source)]
    await anext(kept[0])
    with pytest.warns(ResourceWarning):
        await trio.to_thread.run_sync(kept.clear)
    await wait_all_tasks_blocked()
    assert source.closed == 1


async def test_a_source_that_fails_to_close_after_a_drop_is_logged_and_kills_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail() -> None:
        raise SystemExit("stuck")

    stream = ResponseStream(Letters("ab"), cleanup_hooks=[fail])
    stream.with_cleanup_hook(_fail)
    await anext(stream)
    drops = [stream]
    del stream
    with pytest.warns(ResourceWarning):
        drops.clear()
    await wait_all_tasks_blocked()
    assert "dropped failed" in caplog.text


async def test_an_ordinary_error_after_a_drop_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    stream = ResponseStream(Letters("ab"), cleanup_hooks=[_fail])
    await anext(stream)
    drops = [stream]
    del stream
    with pytest.warns(ResourceWarning):
        drops.clear()
    await wait_all_tasks_blocked()
    assert "dropped failed" in caplog.text


def test_a_stream_dropped_as_trio_ends_or_after_it_harms_nobody() -> None:
    kept: list[ResponseStream[str, Any]] = []

    async def main() -> None:
        stream = ResponseStream(Letters("ab"))
        await anext(stream)
        kept.append(ResponseStream(Letters("ab")))
        await anext(kept[0])

    with pytest.warns(ResourceWarning):
        trio.run(main)
    with pytest.warns(ResourceWarning):
        kept.clear()


def test_closing_after_the_end_of_trio_is_given_up_quietly() -> None:
    """The last callbacks of a run come when its system tasks are gone already."""
    log: list[str] = []
    spawn_closing([lambda: log.append("closed")], budget=1)
    assert log == []


def test_a_stream_that_never_began_is_dropped_without_a_word() -> None:
    source = Letters("ab")
    ResponseStream(source)
    assert source.closed == 0


async def test_a_pull_that_is_thrown_away_abandons_the_stream() -> None:
    source = Letters("", hang=True)
    stream = ResponseStream(source)
    pull = stream.__anext__()
    pull.send(None)
    pull.close()
    await wait_all_tasks_blocked()
    assert source.closed == 1


# ---------------------------------------------------------------- one reader at a time


async def test_two_tasks_cannot_read_one_stream() -> None:
    stream = ResponseStream(Letters("", hang=True))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(read, stream)
        await wait_all_tasks_blocked()
        for operation in (stream.__anext__, stream.aclose, stream.get_final_response):
            with pytest.raises(trio.BusyResourceError):
                await operation()
        nursery.cancel_scope.cancel()


# ------------------------------------------------------------------- streams of streams


async def test_a_mapped_stream_ends_the_inner_one_first() -> None:
    log: list[str] = []
    inner = ResponseStream(Letters("ab"), finalizer=spell)
    inner.with_result_hook(lambda word: log.append(f"inner {word.text}"))

    async def shout(letter: str) -> str:
        await trio.lowlevel.checkpoint()
        return letter.upper()

    outer = inner.map(shout, spell).with_result_hook(lambda word: log.append(f"outer {word.text}"))
    assert await outer.get_final_response() == Word("AB")
    assert log == ["inner ab", "outer AB"]


async def test_a_flat_map_makes_several_updates_or_none_of_one() -> None:
    inner = ResponseStream(Letters("abc"))
    outer = inner.flat_map(lambda letter: [] if letter == "b" else [letter, letter], spell)
    assert await read(outer) == ["a", "a", "c", "c"]
    assert await outer.get_final_response() == Word("aacc")


@pytest.mark.parametrize("way", ["map", "flat_map", "with_finalizer"])
async def test_closing_an_outer_stream_closes_the_inner_one(way: str) -> None:
    log: list[str] = []
    source = Letters("abc")
    inner = ResponseStream(source, cleanup_hooks=[lambda: log.append("inner")])
    outer: ResponseStream[Any, Any] = getattr(inner, way)(lambda update: update)
    await anext(outer)
    await outer.aclose()
    assert (source.closed, log) == (1, ["inner"])


async def test_another_finalizer_keeps_the_inner_one() -> None:
    log: list[str] = []
    inner = ResponseStream(Letters("ab"), finalizer=spell)
    inner.with_result_hook(lambda word: log.append(word.text))
    assert await inner.with_finalizer(len).get_final_response() == 2
    assert log == ["ab"]


async def test_an_awaitable_is_resolved_at_the_first_pull_and_gives_the_final_value() -> None:
    log: list[str] = []

    async def open_stream() -> ResponseStream[str, Word]:
        await trio.lowlevel.checkpoint()
        log.append("opened")
        return ResponseStream(Letters("ab"), finalizer=spell)

    stream = ResponseStream.from_awaitable(open_stream())
    assert log == []
    assert await anext(stream) == "a"
    assert await stream.get_final_response() == Word("ab")


async def test_awaiting_a_stream_resolves_its_source_and_gives_the_stream() -> None:
    async def refuse() -> Letters:
        await trio.lowlevel.checkpoint()
        raise ConnectionError("refused")

    stream = ResponseStream(Letters("ab"))
    assert await stream is stream
    assert await stream is stream
    await stream.aclose()
    failing: ResponseStream[str, Any] = ResponseStream(refuse())
    with pytest.raises(ConnectionError):
        await failing
    with pytest.raises(ConnectionError):
        await failing.get_final_response()


async def test_a_generator_is_a_source_and_its_finally_runs_at_an_early_end() -> None:
    log: list[str] = []

    async def generate() -> AsyncIterator[str]:
        try:
            yield "a"
            yield "b"
        finally:
            log.append("finally")

    async with ResponseStream(generate()) as stream:
        await anext(stream)
    assert log == ["finally"]


async def test_every_pull_has_a_context_manager_of_its_own() -> None:
    log: list[str] = []

    @contextmanager
    def span() -> Iterator[None]:
        log.append("in")
        yield
        log.append("out")

    stream = ResponseStream(Letters("ab")).with_pull_context_manager(span)
    await anext(stream)
    assert log == ["in", "out"]
    stream.with_pull_context_manager(span)
    await anext(stream)
    assert log == ["in", "out", "in", "in", "out", "out"]
    await stream.aclose()


async def test_resolving_the_source_happens_within_the_context_manager() -> None:
    log: list[str] = []

    @contextmanager
    def span() -> Iterator[None]:
        log.append("in")
        yield
        log.append("out")

    async def later() -> Letters:
        await trio.lowlevel.checkpoint()
        log.append("resolved")
        return Letters("")

    stream = ResponseStream(later()).with_pull_context_manager(span)
    assert await read(stream) == []
    assert log[:3] == ["in", "resolved", "out"]
