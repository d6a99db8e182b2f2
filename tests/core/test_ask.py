"""Every ask ends, once: by a reply, an error, a death, a circle, a timeout, a cancellation."""

from __future__ import annotations

import contextlib
import random
from typing import Any

import attrs
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    Actor,
    ActorContext,
    ActorRef,
    ActorStoppedError,
    AskTimeoutError,
    Backoff,
    Counters,
    DeadlockError,
    Restart,
    Supervision,
    UnhandledMessageError,
    handler,
    open_system,
)

TEMPORARY = Restart.TEMPORARY
FORGIVING = Supervision(max_restarts=1000)


@attrs.frozen
class Sleep:
    seconds: float


@attrs.frozen
class Fail:
    error: BaseException


@attrs.frozen
class AskFor:
    """Ask ``ref`` for ``message`` and return its reply."""

    ref: ActorRef[Any]
    message: Any
    timeout: float | None = None


@attrs.frozen
class Log:
    lines: tuple[str, ...] = ()


class Frozen(Actor):
    """Its state is frozen, so a turn may be cancelled by its asker."""

    state = Log()

    @handler
    async def sleep(self, message: Sleep, ctx: ActorContext) -> float:
        ctx.state = Log((*ctx.state.lines, "slept"))
        await trio.sleep(message.seconds)
        return message.seconds

    @handler
    async def fail(self, message: Fail, ctx: ActorContext) -> None:
        raise message.error

    @handler
    async def ask_for(self, message: AskFor, ctx: ActorContext) -> Any:
        return await message.ref.ask(message.message, timeout=message.timeout)

    @handler
    async def lines(self, message: None, ctx: ActorContext) -> tuple[str, ...]:
        lines: tuple[str, ...] = ctx.state.lines
        return lines


class Mutable(Actor):
    """Its attributes would be torn by a turn that is cancelled."""

    def __init__(self) -> None:
        self.log: list[str] = []

    @handler
    async def sleep(self, message: Sleep, ctx: ActorContext) -> float:
        self.log.append("begun")
        await trio.sleep(message.seconds)
        self.log.append("ended")
        return message.seconds

    @handler
    async def lines(self, message: str, ctx: ActorContext) -> list[str]:
        return self.log


class Willing(Mutable):
    interruptible = True


# ------------------------------------------------------------------ how an ask ends


async def test_it_ends_with_the_reply(autojump_clock: Any) -> None:
    async with open_system() as system:
        assert await system.spawn(Frozen).ask(Sleep(1)) == 1


async def test_it_ends_with_the_error_of_the_handler_itself(autojump_clock: Any) -> None:
    error = ValueError("from the handler")
    async with open_system() as system:
        ref = system.spawn(Frozen)
        with pytest.raises(ValueError, match="from the handler") as caught:
            await ref.ask(Fail(error))
        assert caught.value is error


async def test_one_error_comes_out_of_its_groups_and_several_stay_one(autojump_clock: Any) -> None:
    async with open_system(supervision=FORGIVING) as system:
        ref = system.spawn(Frozen)
        one = ExceptionGroup("", [ExceptionGroup("", [KeyError("one")])])
        with pytest.raises(KeyError, match="one"):
            await ref.ask(Fail(one))
        two = ExceptionGroup("two", [KeyError("one"), ValueError("other")])
        with pytest.raises(ExceptionGroup, match="two"):
            await ref.ask(Fail(two))


async def test_a_message_that_no_handler_takes_is_the_askers_mistake(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Frozen, name="frozen")
        with pytest.raises(UnhandledMessageError, match="system/frozen has no handler for a dict"):
            await ref.ask({})
        # The actor isn't hurt, and never had it.
        assert await ref.ask(Sleep(0)) == 0
        assert system.counters(ref) == Counters(accepted=1, handled=1, peak=1)
        assert not system.dead_letters


async def test_it_ends_at_the_timeout_with_the_outcome_unknown(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Frozen, name="slow")
        start = trio.current_time()
        with pytest.raises(AskTimeoutError, match=r"slow did not answer a Sleep within 2 s"):
            await ref.ask(Sleep(10), timeout=2)
        assert trio.current_time() == start + 2


async def test_a_timeout_is_a_timeout_error_too(autojump_clock: Any) -> None:
    async with open_system() as system:
        with pytest.raises(TimeoutError):
            await system.spawn(Frozen).ask(Sleep(10), timeout=0)


@pytest.mark.parametrize("timeout", [-1, float("nan")])
async def test_a_timeout_has_to_be_a_time(timeout: float, autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Frozen)
        with pytest.raises(ValueError, match="timeout must be a number of seconds"):
            await ref.ask(Sleep(1), timeout=timeout)
        assert system.counters(ref) == Counters()


@pytest.mark.parametrize("how", ["stop", "kill", "crash"])
async def test_the_death_of_the_target_ends_it_at_once(how: str, autojump_clock: Any) -> None:
    ended: list[float] = []
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = system.spawn(Frozen, restart=TEMPORARY)
        start = trio.current_time()

        async def ask() -> None:
            with pytest.raises(ActorStoppedError) as caught:
                await ref.ask(Sleep(0), timeout=1000)
            assert caught.value.undelivered == Sleep(0)
            ended.append(trio.current_time() - start)

        await ref.tell(Sleep(1))
        await wait_all_tasks_blocked()
        if how == "crash":
            ref.tell_nowait(Fail(ValueError("no")))
        for _ in range(3):
            nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        if how != "crash":
            getattr(ref, how)()
    assert ended == [0 if how == "kill" else 1] * 3


async def test_asking_the_dead_ends_at_once(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Frozen)
        ref.stop()
        with pytest.raises(ActorStoppedError, match="has stopped"):
            await ref.ask(Sleep(0))
    with pytest.raises(ActorStoppedError):
        await ref.ask(Sleep(0))


async def test_the_turn_that_is_killed_ends_its_ask(autojump_clock: Any) -> None:
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = system.spawn(Frozen)

        async def ask() -> None:
            with pytest.raises(ActorStoppedError):
                await ref.ask(Sleep(100))

        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        ref.kill()
        await ref.wait_stopped()
        assert system.counters(ref).cancelled == 1


async def test_a_queued_request_survives_a_restart_of_the_target(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Frozen)
        ref.tell_nowait(Fail(ValueError("crash")))
        assert await ref.ask(Sleep(3)) == 3


async def test_a_late_reply_is_nobodys(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Mutable)
        with pytest.raises(AskTimeoutError):
            await ref.ask(Sleep(10), timeout=1)
        # The next ask gets its own answer, not the late one of the first.
        assert await ref.ask(Sleep(2)) == 2
        assert system.counters(ref).handled == 2


async def test_the_timer_of_an_ask_that_is_answered_is_gone(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Frozen)
        for _ in range(300):
            await ref.ask(Sleep(0), timeout=1000)
        assert len(system.timers) == 0
        assert len(system.timers._heap) < 150


async def test_a_refused_ask_leaves_no_timer(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Frozen)
        ref.stop()
        with pytest.raises(ActorStoppedError):
            await ref.ask(Sleep(0), timeout=1000)
        assert len(system.timers) == 0


# ------------------------------------------------------------------ R21 and R23


async def test_an_ask_is_a_cancellation_point_before_it_sends(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Frozen)
        with trio.CancelScope() as scope:
            scope.cancel()
            await ref.ask(Sleep(0))
        assert scope.cancelled_caught
        assert system.counters(ref) == Counters()


@pytest.mark.parametrize("by_timeout", [True, False])
@pytest.mark.parametrize("kind", [Frozen, Mutable])
async def test_giving_up_an_ask_takes_back_a_queued_request(
    kind: type[Actor], by_timeout: bool, autojump_clock: Any
) -> None:
    async with open_system() as system:
        ref = system.spawn(kind)
        ref.tell_nowait(Sleep(10))
        await wait_all_tasks_blocked()
        await give_up_after(1, ref, by_timeout=by_timeout)
        where = {"dead_lettered" if by_timeout else "withdrawn": 1}
        assert system.counters(ref) == Counters(accepted=2, in_progress=1, peak=1, **where)
        await trio.sleep(20)
        assert system.counters(ref) == Counters(accepted=2, handled=1, peak=1, **where)


async def give_up_after(seconds: float, ref: ActorRef[Any], *, by_timeout: bool) -> None:
    if by_timeout:
        with pytest.raises(AskTimeoutError):
            await ref.ask(Sleep(5), timeout=seconds)
    else:
        with trio.move_on_after(seconds) as scope:
            await ref.ask(Sleep(5))
        assert scope.cancelled_caught


@pytest.mark.parametrize("by_timeout", [True, False])
async def test_a_running_turn_is_cancelled_if_its_state_is_frozen(
    by_timeout: bool, autojump_clock: Any
) -> None:
    async with open_system() as system:
        ref = system.spawn(Frozen)
        start = trio.current_time()
        await give_up_after(1, ref, by_timeout=by_timeout)
        assert await ref.ask(None) == ()  # the turn has left nothing
        assert trio.current_time() == start + 1
        assert system.counters(ref).cancelled == 1
        assert await ref.ask(Sleep(0)) == 0  # and nobody was restarted
        assert ref._cell.incarnation == 1


@pytest.mark.parametrize("by_timeout", [True, False])
async def test_a_running_turn_that_could_be_torn_goes_on(
    by_timeout: bool, autojump_clock: Any
) -> None:
    async with open_system() as system:
        ref = system.spawn(Mutable)
        await give_up_after(1, ref, by_timeout=by_timeout)
        assert await ref.ask("lines") == ["begun", "ended"]
        assert system.counters(ref) == Counters(accepted=2, handled=2, peak=1)


async def test_a_state_that_is_mutable_does_not_count_as_frozen(autojump_clock: Any) -> None:
    class Careless(Mutable):
        state: Any = bytearray(1)

    async with open_system() as system:
        ref = system.spawn(Careless)
        await give_up_after(1, ref, by_timeout=False)
        assert await ref.ask("lines") == ["begun", "ended"]


async def test_an_actor_may_opt_in_to_have_its_turns_cancelled(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Willing)
        await give_up_after(1, ref, by_timeout=False)
        assert await ref.ask("lines") == ["begun"]


async def test_a_cancelled_ask_in_a_handler_cancels_the_turn_behind_it(
    autojump_clock: Any,
) -> None:
    """The caller's time limit travels with the cancellation, however long the chain is."""
    async with open_system() as system:
        refs = [system.spawn(Frozen) for _ in range(5)]
        message: Any = Sleep(1000)
        for ref in refs[:-1]:
            message = AskFor(ref, message)
        with trio.move_on_after(1):
            await refs[-1].ask(message)
        for ref in refs:
            assert await ref.ask(None) == ()
            assert system.counters(ref).cancelled == 1


# ------------------------------------------------------------------ circles


async def test_an_actor_that_asks_itself_is_told(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Frozen, name="self", restart=TEMPORARY)
        with pytest.raises(DeadlockError, match="system/self waits for system/self: none"):
            await ref.ask(AskFor(ref, Sleep(0)))


async def test_a_circle_of_asks_is_reported_to_whoever_closes_it(autojump_clock: Any) -> None:
    async with open_system() as system:
        a, b, c = (system.spawn(Frozen, name=name, restart=TEMPORARY) for name in "abc")
        with pytest.raises(DeadlockError) as caught:
            await a.ask(AskFor(b, AskFor(c, AskFor(a, Sleep(0)))))
        assert caught.value.path == ("system/c", "system/a", "system/b", "system/c")


async def test_circles_are_found_over_separate_chains(autojump_clock: Any) -> None:
    """Nobody asked both; the circle closes when two chains meet."""

    class Asker(Actor):
        @handler
        async def ask_later(self, message: AskFor, ctx: ActorContext) -> Any:
            await trio.sleep(1)
            return await message.ref.ask(message.message)

        @handler
        async def answer(self, message: int, ctx: ActorContext) -> int:
            return message

    ends: list[str] = []

    async def ask(ref: ActorRef[Any], message: Any) -> None:
        try:
            ends.append(repr(await ref.ask(message)))
        except DeadlockError as exc:
            ends.append("-".join(name[-1] for name in exc.path))
        except ActorStoppedError:
            ends.append("stopped")

    async with open_system() as system, trio.open_nursery() as nursery:
        a, b, c = (system.spawn(Asker, name=name, restart=TEMPORARY) for name in "abc")
        for ref, other in ((a, b), (b, c), (c, a)):
            nursery.start_soon(ask, ref, AskFor(other, 7))
    # One of them closed the circle. It crashed, and that ended the wait of the others.
    assert len(ends) == 3
    assert sum(end.count("-") == 3 for end in ends) == 1
    assert ends.count("stopped") == 2


async def test_an_ask_from_a_child_task_of_a_handler_is_the_handlers(autojump_clock: Any) -> None:
    class Parallel(Actor):
        @handler
        async def both(self, message: AskFor, ctx: ActorContext) -> Any:
            results: list[Any] = []

            async def one(deeper: bool) -> None:
                if deeper:
                    async with trio.open_nursery() as inner:
                        inner.start_soon(one, False)
                else:
                    results.append(await message.ref.ask(message.message))

            async with trio.open_nursery() as nursery:
                nursery.start_soon(one, True)
                nursery.start_soon(one, False)
            return results

    async with open_system() as system:
        helper = system.spawn(Frozen, restart=TEMPORARY)
        ref = system.spawn(Parallel, restart=TEMPORARY)
        assert await ref.ask(AskFor(helper, Sleep(0))) == [0, 0]
        with pytest.raises(BaseExceptionGroup) as caught:
            await ref.ask(AskFor(helper, AskFor(ref, AskFor(helper, Sleep(0)))))
        assert caught.group_contains(DeadlockError, depth=1) or caught.group_contains(
            DeadlockError
        )


async def test_a_dedicated_actor_takes_part_in_the_graph(autojump_clock: Any) -> None:
    async with open_system() as system:
        a = system.spawn(Frozen, name="a", restart=TEMPORARY, dedicated_task=True)
        b = system.spawn(Frozen, name="b", restart=TEMPORARY)
        c = system.spawn(Frozen, name="c", restart=TEMPORARY, dedicated_task=True)
        with pytest.raises(DeadlockError):
            await a.ask(AskFor(b, AskFor(c, AskFor(a, Sleep(0)))))


async def test_who_has_been_answered_waits_no_more(autojump_clock: Any) -> None:
    """The target may ask back in the very step in which it answered."""

    class Answerer(Actor):
        @handler
        async def answer(self, message: ActorRef[Any], ctx: ActorContext) -> str:
            ctx.ref.tell_nowait(("ask back", message))
            return "answer"

        @handler
        async def ask_back(self, message: tuple[str, Any], ctx: ActorContext) -> None:
            replies.append(await message[1].ask(Sleep(0)))

    replies: list[Any] = []
    async with open_system() as system:
        asker, answerer = system.spawn(Frozen), system.spawn(Answerer)
        assert await asker.ask(AskFor(answerer, asker)) == "answer"
        await wait_all_tasks_blocked()
    assert replies == [0]


async def test_an_ask_that_failed_leaves_no_trace_in_the_graph(autojump_clock: Any) -> None:
    async with open_system(supervision=FORGIVING) as system:
        a, b = system.spawn(Frozen), system.spawn(Frozen)
        dead = system.spawn(Frozen)
        dead.stop()
        for request in (
            AskFor(dead, Sleep(0)),
            AskFor(b, Sleep(10), timeout=1),
            AskFor(b, Fail(ValueError("no"))),
            AskFor(b, {}),
            AskFor(b, Sleep(0), timeout=-1),
        ):
            with pytest.raises(
                (ActorStoppedError, AskTimeoutError, ValueError, UnhandledMessageError)
            ):
                await a.ask(request)
        with trio.move_on_after(1):
            await a.ask(AskFor(b, Sleep(10)))
        assert a._cell.family().waits_for == []
        assert await b.ask(AskFor(a, Sleep(0))) == 0


async def test_a_long_chain_of_asks_is_no_deep_recursion(autojump_clock: Any) -> None:
    async with open_system() as system:
        refs = [system.spawn(Frozen) for _ in range(1500)]
        start = trio.current_time()
        async with trio.open_nursery() as nursery:
            message: Any = Sleep(1)
            for ref in refs[:-1]:
                message = AskFor(ref, message)
            nursery.start_soon(refs[-1].ask, message)
        assert trio.current_time() == start + 1


def _request(chance: random.Random, refs: list[ActorRef[Any]], depth: int) -> Any:
    if not depth:
        return chance.choice([Sleep(0), Sleep(3), Fail(ValueError("no")), {}])
    inner = _request(chance, refs, depth - 1)
    return AskFor(chance.choice(refs), inner, chance.choice([None, None, 2]))


# The default waits up to 36 seconds before a restart, and the restarts of all children are one
# row: after a dozen failures actors are down for longer than any ask here may take.
SOON = Supervision(max_restarts=1000, backoff=Backoff(maximum=1))


async def _ask_around(seed: int) -> None:
    """Four actors that ask each other, time out, crash and are killed."""
    chance = random.Random(seed)

    async def ask(ref: ActorRef[Any], message: Any, timeout: float | None) -> None:
        limit = chance.choice([1, 100])
        with trio.move_on_after(limit) as scope, contextlib.suppress(Exception):
            await ref.ask(message, timeout=timeout)
        # At every moment somebody sleeps (8 requests, 3 seconds each) or waits for a restart (no
        # more than 32 turns fail, 1.2 seconds each): what isn't over after that never would be.
        assert not (limit == 100 and scope.cancelled_caught), (seed, message)

    async with open_system(supervision=SOON) as system, trio.open_nursery() as nursery:
        refs = [system.spawn(Frozen, dedicated_task=chance.random() < 0.1) for _ in range(4)]
        for _ in range(8):
            message = _request(chance, refs, chance.randrange(4))
            nursery.start_soon(ask, chance.choice(refs), message, chance.choice([None, 2]))
        if chance.random() < 0.3:
            await trio.sleep(chance.random())
            chance.choice(refs).kill()
    assert all(system.counters(ref).is_balanced for ref in refs)


async def test_no_ask_of_random_graphs_stays_pending(autojump_clock: Any) -> None:
    for seed in range(300):
        await _ask_around(seed)


@pytest.mark.long
async def test_no_ask_of_ten_thousand_graphs_stays_pending(autojump_clock: Any) -> None:
    for seed in range(10_000):
        await _ask_around(seed)
