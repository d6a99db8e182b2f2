"""Which handler a message finds, and what a class of actors is refused for."""

from __future__ import annotations

from typing import Annotated, Any

import attrs
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from actors import (
    Actor,
    ActorContext,
    AskTimeoutError,
    MailboxPolicy,
    Supervision,
    WorkflowContext,
    handler,
    open_system,
)
from actors._core._actor import handler as actor_handler
from actors._core._supervision._kin import Options


class Animal:
    pass


class Dog(Animal):
    pass


class Puppy(Dog):
    pass


class Says(Actor):
    """Answers with the name of the handler that a message found."""

    @handler
    async def animal(self, message: Animal, ctx: ActorContext) -> str:
        return "animal"

    @handler
    async def dog(self, message: Dog, ctx: ActorContext) -> str:
        return "dog"

    @handler
    async def words(self, message: str | bytes | None, ctx: ActorContext) -> str:
        return "words"

    @handler
    async def numbers(self, message: list[int], ctx: ActorContext) -> str:
        return "numbers"

    @handler
    async def metres(self, message: Annotated[float, "m"], ctx: ActorContext) -> str:
        return "metres"


class SaysMore(Says):
    @handler
    async def dog(self, message: Dog, ctx: ActorContext) -> str:
        return "another dog"

    numbers = None  # type: ignore[assignment]  # such messages aren't taken any more

    @handler
    async def anything(self, message: Any, ctx: ActorContext) -> str:
        return "anything"


async def answers(kind: type[Actor], *messages: object) -> list[str]:
    """What an actor answers, to each message twice: the second time its class is known."""
    async with open_system() as system:
        ref = system.spawn(kind)
        first = [await ref.ask(message) for message in messages]
        assert [await ref.ask(message) for message in messages] == first
    return first


async def test_a_message_finds_the_handler_of_its_nearest_class() -> None:
    assert await answers(Says, Animal(), Dog(), Puppy()) == ["animal", "dog", "dog"]


async def test_a_handler_may_take_several_classes_and_says_no_more_of_them() -> None:
    found = await answers(Says, "", b"", None, [1], ["a"], 1.5)
    assert found == ["words", "words", "words", "numbers", "numbers", "metres"]


async def test_a_subclass_may_replace_add_and_remove_handlers() -> None:
    found = await answers(SaysMore, Animal(), Puppy(), [1], 1)
    assert found == ["animal", "another dog", "anything", "anything"]


async def test_messages_may_be_classes_that_only_a_function_knows() -> None:
    @attrs.frozen
    class Local:
        number: int

    class Takes(Actor):
        @attrs.frozen
        class Inner:
            number: int

        @handler
        async def local(self, message: Local | Inner, ctx: ActorContext) -> int:
            return message.number

    async with open_system() as system:
        ref = system.spawn(Takes)
        assert await ref.ask(Local(1)) == 1
        assert await ref.ask(Takes.Inner(2)) == 2


def test_a_handler_has_to_be_async() -> None:
    def handle(self: Any, message: int, ctx: ActorContext) -> None:
        pass

    with pytest.raises(TypeError, match=r"handle must be async to be a handler"):
        actor_handler(handle)


def test_a_handler_of_an_executor_is_none_of_an_actor() -> None:
    with pytest.raises(TypeError, match="annotate its context with ActorContext"):

        class Mistaken(Actor):
            @handler
            async def says(self, message: Dog, ctx: WorkflowContext) -> None: ...


@pytest.mark.parametrize("given", [Says(), "Says", None], ids=["instance", "name", "None"])
async def test_an_actor_is_spawned_by_its_class(given: Any) -> None:
    async with open_system() as system:
        with pytest.raises(
            TypeError, match="is made anew for each incarnation, so give its class"
        ):
            system.spawn(given)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: MailboxPolicy(overflow="drop"), "overflow is 'block' or 'reject'.*, not 'drop'"),
        (lambda: MailboxPolicy(capacity=0), "capacity is at least 1, not 0"),
        (lambda: Supervision(strategy="one_for_two"), "strategy is 'one_for_one' or .*_two'"),
        (lambda: Supervision(max_restarts=-1), "max_restarts is at least 0, not -1"),
        (
            lambda: Options(restart="always"),  # type: ignore[arg-type]
            r"restart is a Restart \(Restart.PERM.*, not 'always'",
        ),
        (lambda: Options(mailbox=10), "mailbox is a MailboxPolicy, not 10"),  # type: ignore[arg-type]
    ],
    ids=["overflow", "capacity", "strategy", "max_restarts", "restart", "mailbox"],
)
def test_what_is_wrong_with_an_option_is_said_in_one_line(make: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=f"^{words}$"):
        make()


def test_a_handler_takes_a_message_and_a_context() -> None:
    @actor_handler
    async def handle(self: Any, message: int, ctx: ActorContext, more: int) -> None:
        pass

    with pytest.raises(TypeError, match=r"handle must take \(self, message, ctx\)"):
        type("Wrong", (Actor,), {"handle": handle})


def test_a_message_has_to_have_a_type() -> None:
    @actor_handler
    async def handle(self, message, ctx):  # type: ignore[no-untyped-def]  # noqa: ANN001
        pass

    with pytest.raises(TypeError, match=r"handle: annotate message with its type"):
        type("Wrong", (Actor,), {"handle": handle})


def test_the_type_of_a_message_has_to_be_a_class() -> None:
    @actor_handler
    async def handle(self: Any, message: 5, ctx: ActorContext) -> None:  # type: ignore[valid-type]
        pass

    with pytest.raises(TypeError, match=r"a class or a union of classes, not 5"):
        type("Wrong", (Actor,), {"handle": handle})


def test_the_type_of_a_message_has_to_be_known() -> None:
    @actor_handler
    async def handle(self: Any, message: Later, ctx: ActorContext) -> None:  # type: ignore[name-defined]  # noqa: F821
        pass

    with pytest.raises(TypeError, match=r"can't resolve 'Later'.*before the actor"):
        type("Wrong", (Actor,), {"handle": handle})


async def test_a_context_says_whose_turn_it_is() -> None:
    class Keeps(Actor):
        @handler
        async def keep(self, message: list[Any], ctx: ActorContext) -> str:
            message.append(ctx)
            return repr(ctx)

    kept: list[Any] = []
    async with open_system() as system:
        assert await system.spawn(Keeps, name="k").ask(kept) == "<ActorContext of system/k>"
    assert repr(kept[0]) == "<ActorContext of a turn that is over>"


async def test_requests_that_expired_while_a_handler_hogged_the_cpu_are_not_handled(
    mock_clock: MockClock,
) -> None:
    gate = trio.Event()

    class Hog(Actor):
        @handler
        async def hog(self, message: int, ctx: ActorContext) -> None:
            await gate.wait()
            mock_clock.jump(message)

    async with open_system() as system:
        ref = system.spawn(Hog)
        ref.tell_nowait(5)

        async def ask() -> None:
            with pytest.raises(AskTimeoutError, match="within 1 s"):
                await ref.ask(1, timeout=1)

        async with trio.open_nursery() as nursery:
            for _ in range(2):
                nursery.start_soon(ask)
            await wait_all_tasks_blocked()
            gate.set()

        assert [letter.reason for letter in system.dead_letters] == ["expired"] * 2
        counters = system.counters(ref)
        assert (counters.handled, counters.dead_lettered, counters.queued) == (1, 2, 0)
