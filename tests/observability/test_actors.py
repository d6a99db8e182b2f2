"""What a listener hears of actors: who made them do what they do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs
import pytest
import trio
import trio.testing
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from actors import (
    Actor,
    ActorContext,
    ActorRef,
    Agent,
    MailboxFullError,
    MailboxPolicy,
    Restart,
    Supervision,
    handler,
    open_system,
)
from actors.observability import disable_instrumentation, enable_instrumentation
from actors.testing import ScriptedChatClient
from tests.observability.conftest import Heard


@attrs.frozen
class Say:
    text: str


@attrs.frozen
class Pass:
    to: ActorRef[Any]
    text: str


@attrs.frozen
class State:
    said: tuple[str, ...] = ()


class Speaker(Actor):
    state: State = State()

    @handler
    async def say(self, message: Say, ctx: ActorContext) -> tuple[str, int]:
        if message.text == "wait":
            await trio.sleep(1)
        if message.text == "hang":
            await trio.sleep_forever()
        if message.text == "break":
            raise KeyError(message.text)
        ctx.state = State((*ctx.state.said, message.text))
        return message.text, trace.get_current_span().get_span_context().span_id

    @handler
    async def passes(self, message: Pass, ctx: ActorContext) -> Any:
        return await message.to.ask(Say(message.text))


@contextmanager
def spanned(name: str) -> Iterator[Any]:
    with trace.get_tracer("test").start_as_current_span(name) as span:
        yield span


def attributes(span: Any) -> dict[str, Any]:
    return dict(span.attributes or {})


def turns(heard: Heard) -> list[Any]:
    return [span for span in heard.spans if span.name == "actor.process Speaker"]


async def test_a_turn_that_serves_a_request_is_a_part_of_what_the_asker_does(
    heard: Heard,
) -> None:
    async with open_system("s") as system:
        ref = system.spawn(Speaker, name="anna")
        with spanned("outside"):
            _, current = await ref.ask(Say("hi"))
    [turn] = turns(heard)
    assert heard.tree() == {"outside": None, "actor.process Speaker": "outside"}
    assert turn.kind is SpanKind.SERVER
    assert turn.context.span_id == current
    assert attributes(turn) == {
        "actor.name": "s/anna",
        "actor.type": "Speaker",
        "message.type": "ask",
        "message.payload_type": "Say",
    }


@pytest.mark.parametrize("nowait", [False, True])
async def test_a_turn_for_what_was_told_is_linked_to_where_that_was_told(
    heard: Heard, nowait: bool
) -> None:
    async with open_system("s") as system:
        with spanned("program"):
            ref = system.spawn(Speaker, name="anna")
        with spanned("outside") as outside:
            if nowait:
                ref.tell_nowait(Say("hi"))
            else:
                await ref.tell(Say("hi"))
        ref.drain()
        await ref.wait_stopped()
    [turn] = turns(heard)
    # It stands under what its actor was spawned in.
    assert heard.tree() == {"program": None, "outside": None, turn.name: "program"}
    assert [link.context.span_id for link in turn.links] == [outside.get_span_context().span_id]
    assert turn.kind is SpanKind.CONSUMER
    assert attributes(turn)["message.type"] == "tell"


async def test_a_trace_goes_on_from_actor_to_actor_and_into_agents(heard: Heard) -> None:
    class Thinker(Actor):
        @handler
        async def think(self, message: Say, ctx: ActorContext) -> str:
            agent = Agent(ScriptedChatClient("hm"), name="mind")
            return (await agent.run(message.text)).text

    async with open_system("s") as system:
        thinker = system.spawn(Thinker)
        with spanned("outside"):
            assert await system.spawn(Speaker).ask(Pass(thinker, "hi")) == "hm"
    tree = heard.tree()
    assert tree["actor.process Speaker"] == "outside"
    assert tree["actor.process Thinker"] == "actor.process Speaker"
    assert tree["invoke_agent mind"] == "actor.process Thinker"


async def test_what_is_sent_outside_of_any_span_begins_no_trace(heard: Heard) -> None:
    async with open_system("s") as system:
        ref = system.spawn(Speaker)
        _, current = await ref.ask(Say("hi"))
        await ref.tell(Say("you"))
        _, later = await ref.ask(Say("bye"))
    assert (current, later, heard.spans) == (0, 0, [])


async def test_a_turn_leaves_no_span_behind_for_the_next_one(heard: Heard) -> None:
    async with open_system("s") as system:
        ref = system.spawn(Speaker)
        with spanned("outside"):
            await ref.ask(Say("wait"))
        assert (await ref.ask(Say("hi")))[1] == 0
        assert (await system.spawn(Speaker).ask(Say("hi")))[1] == 0


async def test_a_turn_that_raises_is_an_error_of_its_span_and_each_try_has_its_own(
    heard: Heard,
) -> None:
    async with open_system("s") as system:
        ref = system.spawn(Speaker, redeliver=2)
        with spanned("outside"), pytest.raises(KeyError):
            await ref.ask(Say("break"))
    spans = turns(heard)
    assert [span.status.status_code for span in spans] == [StatusCode.ERROR] * 3
    assert {attributes(span)["error.type"] for span in spans} == {"KeyError"}
    assert {span.parent.span_id for span in spans} == {heard.named("outside").context.span_id}


async def test_a_cancelled_turn_has_an_ended_span_without_an_error(
    heard: Heard, autojump_clock: Any
) -> None:
    async with open_system("s") as system:
        ref = system.spawn(Speaker)
        with spanned("outside"), trio.move_on_after(1):
            await ref.ask(Say("hang"))
    [turn] = turns(heard)
    assert turn.status.status_code is StatusCode.UNSET


async def test_a_turn_that_takes_too_long_says_so_in_its_span(
    heard: Heard, autojump_clock: Any
) -> None:
    async with open_system("s", supervision=Supervision(turn_timeout=1)) as system:
        ref = system.spawn(Speaker, restart=Restart.TEMPORARY)
        with spanned("outside"), pytest.raises(Exception, match="1"):
            await ref.ask(Say("hang"))
    [turn] = turns(heard)
    assert attributes(turn)["error.type"] == "TurnTimeoutError"


async def test_a_killed_actor_leaves_no_span_open(heard: Heard, autojump_clock: Any) -> None:
    async with open_system("s") as system:
        ref = system.spawn(Speaker)
        with spanned("outside"):
            await ref.tell(Say("hang"))
        await trio.sleep(1)
        ref.kill()
        await ref.wait_stopped()
    assert len(turns(heard)) == 1


async def test_what_had_to_wait_for_room_keeps_the_span_that_it_was_told_in(
    heard: Heard, autojump_clock: Any
) -> None:
    async with open_system("s") as system:
        ref = system.spawn(Speaker, mailbox=MailboxPolicy(capacity=1))
        with spanned("outside") as outside:
            await ref.tell(Say("wait"))
            await trio.sleep(0.1)
            for text in "abc":
                await ref.tell(Say(text))
        ref.drain()
        await ref.wait_stopped()
    assert len(turns(heard)) == 4
    links = {link.context.span_id for span in turns(heard) for link in span.links}
    assert links == {outside.get_span_context().span_id}


@pytest.mark.parametrize("overflow", ["reject", "drop_oldest", "drop_newest"])
async def test_messages_that_are_lost_are_what_was_sent_not_what_carried_it(
    heard: Heard, overflow: str, autojump_clock: Any
) -> None:
    async with open_system("s") as system:
        ref = system.spawn(Speaker, mailbox=MailboxPolicy(capacity=1, overflow=overflow))
        with spanned("outside"):
            await ref.tell(Say("wait"))
            await trio.sleep(0.1)
            ref.tell_nowait(Say("a"))
            if overflow == "reject":
                with pytest.raises(MailboxFullError) as caught:
                    ref.tell_nowait(Say("b"))
                assert caught.value.undelivered == Say("b")
            else:
                ref.tell_nowait(Say("b"))
                lost = "a" if overflow == "drop_oldest" else "b"
                assert [letter.message for letter in system.dead_letters] == [Say(lost)]
        ref.drain()
        await ref.wait_stopped()
        assert system.counters(ref).is_balanced


async def test_a_message_that_was_set_aside_is_handled_in_the_trace_it_came_in(
    heard: Heard,
) -> None:
    class Later(Actor):
        is_open = False

        @handler
        async def say(self, message: Say, ctx: ActorContext) -> int:
            if message.text == "open":
                self.is_open = True
                ctx.unstash_all()
            elif not self.is_open:
                ctx.stash()
            return trace.get_current_span().get_span_context().trace_id

    async with open_system("s") as system:
        ref = system.spawn(Later)
        async with trio.open_nursery() as nursery:
            with spanned("outside") as outside:
                nursery.start_soon(ref.ask, Say("first"))
                await trio.testing.wait_all_tasks_blocked()
            await ref.ask(Say("open"))
    spans = [span for span in heard.spans if span.name == "actor.process Later"]
    assert [span.parent.span_id for span in spans if span.parent] == [
        outside.get_span_context().span_id
    ] * 2


async def test_timers_belong_to_no_trace(heard: Heard, autojump_clock: Any) -> None:
    class Clock(Actor):
        @handler
        async def set(self, message: str, ctx: ActorContext) -> None:
            ctx.start_timer("t", Say("tick"), 1)

        @handler
        async def tick(self, message: Say, ctx: ActorContext) -> None:
            assert not trace.get_current_span().get_span_context().is_valid

    async with open_system("s") as system:
        ref = system.spawn(Clock)
        with spanned("outside"):
            await ref.ask("go")
            await trio.sleep(2)
        assert system.counters(ref).handled == 2
    assert len([span for span in heard.spans if span.name == "actor.process Clock"]) == 1


async def test_a_system_that_nobody_listens_to_has_plain_actors(heard: Heard) -> None:
    disable_instrumentation()
    try:
        async with open_system("s") as system:
            ref = system.spawn(Speaker)
            assert type(ref) is ActorRef
            with spanned("outside"):
                # What stands outside is seen by nobody inside: it was not there at the spawn.
                assert (await ref.ask(Say("hi")))[1] == 0
    finally:
        enable_instrumentation(force=True)
    assert turns(heard) == []


async def test_listening_may_end_while_actors_live(heard: Heard) -> None:
    async with open_system("s") as system:
        ref = system.spawn(Speaker)
        disable_instrumentation()
        try:
            with spanned("outside"):
                assert (await ref.ask(Say("hi")))[0] == "hi"
        finally:
            enable_instrumentation(force=True)
    assert turns(heard) == []
