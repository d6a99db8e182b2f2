"""What a handler is given beside its message: the public face of a turn of a workflow.

The engine has the working class behind it; handlers, and fakes in tests, see this one.
"""

from __future__ import annotations

import abc
import types
from typing import TYPE_CHECKING, Any, Never, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager
    from typing import Generic

    from typing_extensions import TypeVar as TypeVarWithDefault

    from protocols._events import WorkflowEvent

    # Checkers must know that a bare `WorkflowContext` means "sends nothing, yields nothing".
    # They bring their own copy of typing_extensions, so it needn't be there at run time.
    OutT_contra = TypeVarWithDefault("OutT_contra", contravariant=True, default=Never)
    WOutT_contra = TypeVarWithDefault("WOutT_contra", contravariant=True, default=Never)

    class TypedContext(Generic[OutT_contra, WOutT_contra]): ...
else:
    OutT_contra = TypeVar("OutT_contra", contravariant=True)
    WOutT_contra = TypeVar("WOutT_contra", contravariant=True)

    class TypedContext:
        """Takes one or two type parameters, as ``typing.Generic`` can't before Python 3.13."""

        __slots__ = ()

        # Marks the classes that a handler's last parameter may be annotated with.
        __handler_context__ = True

        __class_getitem__ = classmethod(types.GenericAlias)


T = TypeVar("T")


class WorkflowContext(TypedContext[OutT_contra, WOutT_contra], abc.ABC):
    """What a handler of a workflow does besides computing: send, yield, ask, remember.

    ``WorkflowContext[int, str]`` sends ints to other executors and yields strings as output of
    the workflow; without the second parameter it yields nothing, without both it does neither.
    The graph is validated with these types when it is built.

    A handler's messages, requests and state are kept back until it returns, and then take
    effect together; a handler that raises or is cancelled leaves none of them behind.
    """

    __slots__ = ()

    @abc.abstractmethod
    async def send_message(self, message: OutT_contra, target_id: str | None = None) -> None:
        """Send *message* along the outgoing edges, when this handler has returned.

        Args:
            message: from now on nobody may change it.
            target_id: send to this executor only. Without an edge to it the message counts as
                undelivered, and the run says so.
        """

    @abc.abstractmethod
    async def yield_output(self, output: WOutT_contra) -> None:
        """Give *output* to whoever runs the workflow.

        Listeners of a stream get it at once, marked with turn and attempt; it enters the
        result when the handler has returned.
        """

    @abc.abstractmethod
    async def request_info(
        self, request_data: object, response_type: Any, *, request_id: str | None = None
    ) -> None:
        """Ask the world outside; returns at once.

        The answer comes to the ``@response_handler`` that takes both types, in a later turn.

        Args:
            request_data: what is asked; given back together with the answer.
            response_type: the type that the answer must have.
            request_id: names the request; a UUID if not given. If another open request has
                that name, this one gets another, by which it is answered; ``ctx.request_id`` in
                the response handler is the one given here.

        Raises:
            ValueError: the turn has asked something else under this name.
        """

    @abc.abstractmethod
    async def add_event(self, event: WorkflowEvent) -> None:
        """Put an event of the caller's own into the stream of the run.

        The types that the engine speaks with (``output``, ``status``, …) are its own; a
        ``warning`` takes the place of such an event.
        """

    async def enter(self, manager: AbstractAsyncContextManager[T]) -> T:
        """Enter a context manager that the executor keeps open over its turns.

        What belongs to a task (a nursery, a websocket session) can't simply be kept on the
        executor, since its turns may run in different tasks. It is entered in a task of its own
        and left when the run ends, the youngest first; or at once, if this turn fails.

        Returns:
            What the manager gives.
        """
        raise NotImplementedError(f"{type(self).__name__} keeps nothing open")

    @abc.abstractmethod
    def get_state(self, key: str, default: Any = None) -> Any:
        """Return the run's value under *key*: committed before this round, or set in this turn."""

    @abc.abstractmethod
    def set_state(self, key: str, value: Any) -> None:
        """Set the run's value under *key*, for everybody, when this handler has returned."""

    @property
    @abc.abstractmethod
    def state(self) -> Any:
        """The executor's own state, a frozen value; what is assigned counts from the commit on."""

    @state.setter
    @abc.abstractmethod
    def state(self, value: Any) -> None: ...

    @property
    @abc.abstractmethod
    def source_executor_ids(self) -> list[str]:
        """Who sent the message: several at a join, ``["internal:<id>"]`` for the run's input."""

    @abc.abstractmethod
    def get_source_executor_id(self) -> str:
        """Return who sent the message.

        Raises:
            RuntimeError: several did (see ``source_executor_ids``).
        """

    @property
    @abc.abstractmethod
    def request_id(self) -> str | None:
        """The id of the request that is being answered; None outside of a response handler."""

    @property
    @abc.abstractmethod
    def attempt(self) -> int:
        """Which try at this message this is, from 1."""

    @property
    def idempotency_key(self) -> str:
        """Names this message's turn: the same at every attempt at it, and nowhere else.

        Give it, together with a name of what you do, to services that take such keys.
        """
        raise NotImplementedError

    async def step(
        self,
        function: Callable[..., Any],
        *args: Any,
        key: str | None = None,
        idempotent: bool = False,
    ) -> Any:
        """Do something to the world outside, which is not done again when this turn is.

        The intent is stored before and the result after, where there is a store; a turn that is
        repeated gets the stored result. If the turn was broken off in between, nobody knows
        whether it was done, and the run says so (`UnknownOutcomeError`).

        Args:
            function: called with *args*; may be async. Its result must be one that can be stored.
            args: for the function.
            key: names the step in its turn; the function's name, and which call of it this is,
                if not given. Give one where calls are made at the same time.
            idempotent: doing it again does no harm, so after an interruption do it again.

        Raises:
            UnknownOutcomeError: it was begun by an earlier attempt, and is not idempotent.
        """
        raise NotImplementedError

    @abc.abstractmethod
    def is_streaming(self) -> bool:
        """Say whether somebody listens to the run while it goes on (``run(stream=True)``)."""

    def get_runtime_tools(self) -> list[Any] | None:
        """Return the tools that ``run(tools=…)`` got for all agents; None if it got none."""
        raise NotImplementedError

    @abc.abstractmethod
    def get_sent_messages(self) -> list[Any]:
        """Return a copy of what this turn has sent so far."""

    @abc.abstractmethod
    def get_yielded_outputs(self) -> list[Any]:
        """Return a copy of what this turn has yielded so far."""
