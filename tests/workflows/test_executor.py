"""Which handlers an executor has, and which of them a message goes to."""

from __future__ import annotations

import functools
from typing import Any, Literal

import pytest
from hypothesis import given, strategies as st

from actors.workflows._graph._context_api import WorkflowContext
from actors.workflows._graph._executor import Executor
from actors.workflows._graph._handlers import HandlerSpec, handler, response_handler
from actors.workflows._graph._lookup import HandlerTable
from actors.workflows._typing._types import is_instance_of, is_narrower
from protocols._events import MessageType, WorkflowEvent, WorkflowMessage


class Animal: ...


class Dog(Animal): ...


class Puppy(Dog): ...


class Upper(Executor):
    @handler
    async def text(self, message: str, ctx: WorkflowContext[str]) -> None: ...

    @handler
    async def number(self, message: int, ctx: WorkflowContext[int, bytes]) -> None: ...


class Asking(Executor):
    @handler
    async def begin(self, message: str, ctx: WorkflowContext[str]) -> None: ...

    @response_handler
    async def any_animal(
        self, asked: Animal, answer: object, ctx: WorkflowContext[int]
    ) -> None: ...

    @response_handler
    async def dog(self, asked: Dog, answer: object, ctx: WorkflowContext[int, str]) -> None: ...

    @response_handler
    async def dog_said_yes(self, asked: Dog, answer: bool, ctx: WorkflowContext) -> None: ...


def taker(*declared: Any) -> Executor:
    """Return an executor with a handler for each type, named after its place."""

    def accepting(each: Any) -> Any:
        @handler(input=each)
        async def handle(self: Any, message: Any, ctx: WorkflowContext) -> None: ...

        return handle

    namespace = {f"h{place}": accepting(each) for place, each in enumerate(declared)}
    made = type("Taker", (Executor,), namespace)("taker")
    assert isinstance(made, Executor)
    return made


def name_for(executor: Executor, message: object) -> str | None:
    found = executor.find_handler(message)
    return None if found is None else found.name


# ---------------------------------------------------------------------------- discovery


def test_an_executor_lists_what_its_handlers_declare_in_order() -> None:
    upper = Upper("u")

    assert upper.input_types == [str, int]
    assert upper.output_types == [str, int]
    assert upper.workflow_output_types == [bytes]
    assert upper.to_dict() == {"id": "u", "type": "Upper"}
    assert repr(upper) == "<Upper 'u'>"


def test_response_handlers_count_among_the_outputs() -> None:
    asking = Asking("a")

    assert asking.output_types == [str, int]
    assert asking.workflow_output_types == [str]
    assert asking.input_types == [str]


@pytest.mark.parametrize("keywords", [{"type": "Custom"}, {"type_": "Custom"}])
def test_the_type_may_be_given(keywords: dict[str, Any]) -> None:
    assert Upper("u", **keywords, whatever=1).type == "Custom"


def test_an_empty_id_is_refused() -> None:
    with pytest.raises(ValueError, match="Upper: the id"):
        Upper("")


def test_an_id_that_is_no_text_is_refused() -> None:
    with pytest.raises(TypeError, match="Upper: the id of an executor is a str, not 3"):
        Upper(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("mutable", [[], {}, set(), bytearray()], ids=repr)
def test_a_state_that_turns_could_change_in_place_is_refused(mutable: Any) -> None:
    """Case A9 of the list: all runs would share it, and no failed turn be undone."""

    class Careless(Upper):
        state = mutable

    with pytest.raises(TypeError, match=f"Careless.state is a {type(mutable).__name__}"):
        Careless("u")


def test_an_executor_without_handlers_is_refused() -> None:
    class Idle(Executor): ...

    with pytest.raises(ValueError, match="Idle has no handler"):
        Idle("i")


def test_discovery_can_be_deferred() -> None:
    class Later(Executor): ...

    later = Later("l", defer_discovery=True)

    assert later.input_types == []
    assert later.find_handler("x") is None


def test_two_handlers_of_equal_types_are_refused() -> None:
    class Twice(Executor):
        @handler
        async def one(self, message: int | str, ctx: WorkflowContext) -> None: ...

        @handler
        async def two(self, message: str | int, ctx: WorkflowContext) -> None: ...

    with pytest.raises(ValueError, match="Duplicate handler: one and two"):
        Twice("t")


def test_two_response_handlers_of_equal_types_are_refused() -> None:
    class Twice(Asking):
        @response_handler
        async def again(self, asked: Dog, answer: bool, ctx: WorkflowContext) -> None: ...

    with pytest.raises(ValueError, match="Duplicate handler: dog_said_yes and again"):
        Twice("t")


def test_an_inherited_handler_counts_and_keeps_its_place() -> None:
    class Louder(Upper):
        @handler
        async def data(self, message: bytes, ctx: WorkflowContext) -> None: ...

        @handler
        async def text(  # type: ignore[override]  # it sends more than the overridden one
            self, message: str, ctx: WorkflowContext[str | bytes]
        ) -> None: ...

    louder = Louder("l")
    found = louder.find_handler("x")

    assert louder.input_types == [str, int, bytes]
    assert found is not None
    assert found.function is Louder.text
    assert found.order == 0
    assert louder.output_types == [str, bytes, int]
    assert Upper("u").output_types == [str, int], "the base class is as it was"


def test_an_override_without_the_decorator_takes_the_handler_away() -> None:
    class Quieter(Upper):
        async def text(self, message: str, ctx: WorkflowContext[str]) -> None: ...

    assert Quieter("q").input_types == [int]


def test_a_decorator_above_handler_is_called_too() -> None:
    calls = []

    def logged(method: Any) -> Any:
        @functools.wraps(method)
        async def call(*args: Any) -> None:
            calls.append(args[1])
            await method(*args)

        return call

    class Logged(Executor):
        @logged
        @handler
        async def text(self, message: str, ctx: WorkflowContext) -> None: ...

    found = Logged("l").find_handler("x")

    assert found is not None
    assert found.function is Logged.text


async def test_a_handler_is_called_as_a_function_of_executor_message_and_context() -> None:
    seen: list[Any] = []

    class Seeing(Executor):
        @handler
        async def see(self, message: str, ctx: WorkflowContext) -> None:
            seen.extend((self, message, ctx))

    seeing = Seeing("s")
    found = seeing.find_handler("x")
    assert found is not None
    await found.function(seeing, "x", "the context")

    assert seen == [seeing, "x", "the context"]


async def test_the_checkpoint_hooks_do_nothing_by_default() -> None:
    upper = Upper("u")

    assert await upper.on_checkpoint_save() == {}
    await upper.on_checkpoint_restore({"x": 1})

    assert upper.kept_attributes == ()


def test_attributes_of_the_subclass_are_known_by_name() -> None:
    class Counting(Upper):
        def __init__(self) -> None:
            super().__init__("c")
            self.n = 0

    assert Counting().kept_attributes == ("n",)
    assert Asking("a").kept_attributes == ()


# ----------------------------------------------------------------------------- dispatch


def test_a_message_goes_to_the_most_specific_handler_wherever_it_stands() -> None:
    executor = taker(object, Animal, Dog, Any)

    assert name_for(executor, Puppy()) == "h2"
    assert name_for(executor, Animal()) == "h1"
    assert name_for(executor, 5) == "h0"


def test_true_goes_to_the_handler_of_bools() -> None:
    assert name_for(taker(int, bool), True) == "h1"
    assert name_for(taker(int, bool | str), True) == "h1", "the member that matches counts"


def test_of_two_handlers_with_the_same_member_the_narrower_union_wins() -> None:
    assert name_for(taker(int | str, int), 5) == "h1"
    assert name_for(taker(int | str, int), "x") == "h0"


def test_among_equals_the_one_declared_first_wins() -> None:
    class Left: ...

    class Right: ...

    class Both(Left, Right): ...

    assert name_for(taker(Right, Left), Both()) == "h0"
    assert name_for(taker(list[int], list[str]), []) == "h0"


def test_values_decide_where_classes_cant() -> None:
    executor = taker(list, list[int], list[bool], Literal["go"], str, dict[str, int])

    assert name_for(executor, [1]) == "h1"
    assert name_for(executor, [True]) == "h2"
    assert name_for(executor, ["x"]) == "h0"
    assert name_for(executor, [1]) == "h1", "nothing was remembered of the list before"
    assert name_for(executor, "go") == "h3"
    assert name_for(executor, "stop") == "h4"
    assert name_for(executor, {"a": "b"}) is None
    assert name_for(executor, 1.5) is None


def test_the_answer_is_remembered_by_class() -> None:
    asked = []

    class Nosy(type):
        def __instancecheck__(cls, instance: object) -> bool:
            asked.append(instance)
            return True

    class Odd(metaclass=Nosy): ...

    executor = taker(Animal)
    for message in (Dog(), Dog(), "x", "x"):
        executor.find_handler(message)
    assert set(executor._handlers._found) == {Dog, str}

    # A metaclass that looks at the instance must be asked each time.
    odd = taker(Odd)
    assert name_for(odd, 1) == name_for(odd, 2) == "h0"
    assert asked == [1, 2]


TYPES = [int, bool, str, int | str, list[int], list, list[bool], Literal["go"], object, None]


@given(
    declared=st.lists(st.sampled_from(TYPES), min_size=1, max_size=6, unique_by=repr),
    messages=st.lists(st.sampled_from([1, True, "go", "x", [], [1], [True], None, 1.5])),
)
def test_whoever_gets_a_message_takes_it_and_no_memory_changes_that(
    declared: list[Any], messages: list[object]
) -> None:
    async def handle(*_: Any) -> None: ...

    specs = [HandlerSpec(str(order), each, (), (), handle) for order, each in enumerate(declared)]
    table = HandlerTable(specs)
    for message in messages:
        found = table.find(message)
        takers = [spec for spec in specs if is_instance_of(message, spec.message_type)]
        assert (found in takers) if takers else (found is None)
        assert found is None or not any(
            is_narrower(spec.message_type, found.message_type) for spec in takers
        )
        assert found == HandlerTable(specs).find(message)


# ---------------------------------------------------------------------------- responses


def test_an_answer_goes_to_the_handler_most_specific_for_question_and_answer() -> None:
    asking = Asking("a")

    def name(asked: object, answer: object) -> str | None:
        found = asking.find_response_handler(asked, answer)
        return None if found is None else found.name

    assert name(Animal(), True) == "any_animal"
    assert name(Dog(), "yes") == "dog"
    assert name(Puppy(), True) == "dog_said_yes"
    assert name("no animal", True) is None


def test_an_executor_says_which_requests_it_can_follow_up() -> None:
    asking = Asking("a")

    assert asking.is_request_response_capable
    assert asking.is_request_supported(Puppy, bool)
    assert not asking.is_request_supported(str, bool)
    assert not Upper("u").is_request_response_capable


def test_can_handle_looks_at_data_or_at_question_and_answer() -> None:
    asking = Asking("a")
    question = WorkflowEvent.request_info("r1", "a", Dog(), bool)

    def answer(to: WorkflowEvent[Any] | None) -> WorkflowMessage:
        return WorkflowMessage(True, type=MessageType.RESPONSE, original_request_info_event=to)

    assert asking.can_handle(WorkflowMessage("x"))
    assert not asking.can_handle(WorkflowMessage(1))
    assert asking.can_handle(answer(question))
    assert not Upper("u").can_handle(answer(question))


def test_an_answer_without_its_question_is_refused_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lost = WorkflowMessage(True, type=MessageType.RESPONSE)

    assert not Asking("a").can_handle(lost)
    assert "without the request" in caplog.text
