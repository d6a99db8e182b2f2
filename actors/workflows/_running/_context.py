"""The turn of an executor, as its handler sees it; all that it does is kept back here.

Outputs are the exception: they reach listeners live, and enter the result at the commit.
"""

from __future__ import annotations

import inspect
import uuid
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from actors._core._errors import TurnOverError
from actors.workflows._durable._journal import Journal
from actors.workflows._durable._where import place_of
from actors.workflows._graph._context_api import WorkflowContext
from actors.workflows._running._deliveries import Delivery, Rare, Request
from actors.workflows._running._resources import Resources
from actors.workflows._typing._declared import Declared, UndeclaredTypeError, describe_undeclared
from protocols._effects import Effect, effect_key, effects_under, perform
from protocols._events import WorkflowEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from actors.workflows._durable._journal import JournalEntry
    from actors.workflows._running._cell import ExecutorCell

T = TypeVar("T")

# Where a checkpoint that is written out has the states of executors.
RESERVED_KEY: Final = "_executor_state"
RESERVED: Final = frozenset(
    {"started", "status", "failed", "output", "intermediate", "inner_output", "request_info"}
)


class TurnContext(WorkflowContext[Any, Any]):
    """The context of one attempt at one delivery."""

    __slots__ = (
        "attempt",
        "cell",
        "delivery",
        "is_open",
        "outputs",
        "rare",
        "sends",
        "sent",
        "state",
        "writes",
        "yields",
    )

    # Slots, where the base declares properties for the reader.
    state: Any
    attempt: int

    def __init__(self, cell: ExecutorCell, delivery: Delivery, attempt: int) -> None:
        self.cell = cell
        self.delivery = delivery
        self.attempt = attempt
        self.state = cell.state
        self.sent: list[tuple[Any, str | None]] = []
        self.outputs: list[Any] = []
        # Made when they are first needed.
        self.writes: dict[str, Any] | None = None
        self.rare: Rare | None = None
        self.is_open = True
        # What its handler declares; None lets everything pass.
        self.sends: Declared | None = None
        self.yields: Declared | None = None

    @property
    def has_returned(self) -> bool:
        """Whether the handler has; what then still goes on is the asking of conditions."""
        return self.rare is not None and self.rare.chosen is not None

    @property
    def was_seen(self) -> bool:
        """Whether listeners have seen anything of what it yields."""
        return bool(self.outputs) or (self.rare is not None and self.rare.has_previews)

    def more(self) -> Rare:
        """Return what only some turns have, made when it is first needed."""
        if self.rare is None:
            self.rare = Rare()
        return self.rare

    def _undeclared(self, verb: str, value: Any, declared: Declared) -> None:
        """Refuse, or tell once of, what the handler doesn't declare."""
        target, conductor = self.delivery.target, self.cell.conductor
        text = describe_undeclared(target, verb, value, declared)
        if conductor.settings.strict_types:
            raise UndeclaredTypeError(text)
        if text not in conductor.warned:
            conductor.warned.add(text)
            conductor.emit(WorkflowEvent("warning", text, executor_id=target, path=conductor.path))

    def require_open(self) -> None:
        """Refuse what comes too late.

        Raises:
            TurnOverError: the turn is over.
        """
        if not self.is_open:
            raise TurnOverError(self.delivery.target)

    async def send_message(  # noqa: ASYNC910  (kept back: there is nothing to wait for)
        self, message: Any, target_id: str | None = None
    ) -> None:
        """See `WorkflowContext.send_message`."""
        if not self.is_open:
            raise TurnOverError(self.delivery.target)
        sends = self.sends
        if sends is not None and type(message) not in sends.known and not sends.allows(message):
            self._undeclared("sends", message, sends)
        self.sent.append((message, target_id))

    async def yield_output(self, output: Any) -> None:  # noqa: ASYNC910  (waits for slow readers only)
        """See `WorkflowContext.yield_output`."""
        if not self.is_open:
            raise TurnOverError(self.delivery.target)
        yields = self.yields
        if yields is not None and type(output) not in yields.known and not yields.allows(output):
            self._undeclared("yields", output, yields)
        self.outputs.append(output)
        if self._show(output):
            await self.cell.conductor.room()

    async def preview_output(self, output: Any) -> None:  # noqa: ASYNC910  (as yield_output)
        """Show listeners a part of what `keep_output` will bring as a whole."""
        self.require_open()
        self.more().has_previews = True
        if self._show(output):
            await self.cell.conductor.room()

    def keep_output(self, output: Any) -> None:
        """Have *output* in the result without an event, since listeners have seen it."""
        self.require_open()
        self.outputs.append(output)

    def _show(self, output: Any) -> bool:
        """Tell listeners of an output. True: they are far behind."""
        cell = self.cell
        kind = cell.shown_as
        if kind is None:
            return False  # nobody sees it
        seq, target = self.delivery.seq, self.delivery.target
        # By position: this is made once per token.
        conductor, attempt = cell.conductor, self.attempt
        event = WorkflowEvent(
            kind, output, True, None, None, target, None, seq, attempt, conductor.path
        )
        return conductor.reports.emit(event)

    async def request_info(  # noqa: ASYNC910  (as send_message)
        self, request_data: object, response_type: Any, *, request_id: str | None = None
    ) -> None:
        """See `WorkflowContext.request_info`."""
        self.require_open()
        if isinstance(response_type, str):
            raise TypeError(
                f"the response type of a request is a type, and {response_type!r} is a text"
            )
        self._check_answerable()
        request_id = request_id or str(uuid.uuid4())
        requests, who = self.more().requests, self.delivery.target
        if request_id in requests:
            raise ValueError(
                f"{who!r} asks two questions under the id {request_id!r}, so that an answer could "
                "be to either: give each its own request_id, or none"
            )
        requests[request_id] = Request(
            request_id, who, request_data, response_type, self.delivery.scope
        )

    def _check_answerable(self) -> None:
        """Say so if no answer could ever reach this executor."""
        cell, who = self.cell, self.delivery.target
        if cell.executor.is_request_response_capable or f"asks {who}" in cell.conductor.warned:
            return
        cell.conductor.warned.add(f"asks {who}")
        cell.conductor.emit(
            WorkflowEvent(
                "warning",
                f"executor {who!r} asks something, and has no @response_handler for the answer",
                executor_id=who,
                path=cell.conductor.path,
            )
        )

    async def add_event(self, event: WorkflowEvent) -> None:  # noqa: ASYNC910  (as yield_output)
        """See `WorkflowContext.add_event`."""
        self.require_open()
        if not isinstance(event, WorkflowEvent):
            raise TypeError(f"{event!r} is no event; make one, WorkflowEvent('my_type', data=...)")
        if event.type in RESERVED:
            event = WorkflowEvent.warning(
                f"executor {self.delivery.target!r} made an event of type {event.type!r}, which "
                "only the engine makes; give it a type of your own"
            )
        conductor = self.cell.conductor
        if conductor.emit(msgspec.structs.replace(event, from_executor=True, path=conductor.path)):
            await conductor.room()

    def said(self) -> list[Any] | None:
        """Return what it has sent and yielded; None if it was silent."""
        sent, outputs = self.sent, self.outputs
        if not outputs and len(sent) == 1:  # as in a chain
            return [sent[0][0]]
        return [message for message, _ in sent] + outputs or None

    def forget(self) -> None:
        """Forget all that this attempt has done: it failed, and the run goes on."""
        self.sent, self.outputs, self.writes, self.rare = [], [], None, None

    async def enter(self, manager: AbstractAsyncContextManager[T]) -> T:
        """See `WorkflowContext.enter`."""
        self.require_open()
        run = self.cell.conductor.run
        if run.resources is None:
            run.resources = Resources(run)
        resource = await run.resources.enter(manager, self.delivery.target)
        self.more().entered.append(resource)
        return resource.value  # type: ignore[no-any-return]

    def get_state(self, key: str, default: Any = None) -> Any:
        """See `WorkflowContext.get_state`."""
        if self.writes is not None and key in self.writes:
            return self.writes[key]
        conductor = self.cell.conductor
        return conductor.schedule.read(conductor, self, key, default)

    def set_state(self, key: str, value: Any) -> None:
        """See `WorkflowContext.set_state`."""
        self.require_open()
        given: Any = key
        if not isinstance(given, str) or given == RESERVED_KEY:
            raise ValueError(
                f"{self.delivery.target!r} can't set {key!r} in the workflow's state: a key is a "
                f"text, and {RESERVED_KEY!r} is where a checkpoint has the states of executors"
            )
        if self.writes is None:
            self.writes = {}
        self.writes[key] = value

    @property
    def source_executor_ids(self) -> list[str]:
        """See `WorkflowContext.source_executor_ids`."""
        return list(self.delivery.sources)

    def get_source_executor_id(self) -> str:
        """See `WorkflowContext.get_source_executor_id`."""
        sources = self.delivery.sources
        if len(sources) != 1:
            raise RuntimeError(
                f"{self.delivery.target!r} got a message from several executors "
                f"({', '.join(sources)}); use source_executor_ids"
            )
        return sources[0]

    @property
    def request_id(self) -> str | None:
        """See `WorkflowContext.request_id`."""
        request = self.delivery.request
        return None if request is None else request.asked_as or request.id

    def is_streaming(self) -> bool:
        """See `WorkflowContext.is_streaming`."""
        return self.cell.conductor.reports.feed is not None

    def get_sent_messages(self) -> list[Any]:
        """See `WorkflowContext.get_sent_messages`."""
        return [message for message, _ in self.sent]

    def get_yielded_outputs(self) -> list[Any]:
        """See `WorkflowContext.get_yielded_outputs`."""
        return list(self.outputs)

    @property
    def wants_whole(self) -> bool:
        """Whether outputs must be whole even if somebody listens: they become messages."""
        return self.cell.conductor.wants_whole

    def get_run_kwargs(self) -> tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]:
        """Return what the caller of ``run`` gave for the tools and the client of this executor.

        Returns:
            ``function_invocation_kwargs`` and ``client_kwargs``, each None if not given.
        """
        return self.cell.conductor.kwargs_of(self.delivery.target)

    def get_runtime_tools(self) -> list[Any] | None:
        """See `WorkflowContext.get_runtime_tools`."""
        tools = self.cell.conductor.kwargs.tools
        return None if tools is None else list(tools)

    async def step(  # noqa: ASYNC910  (waits as long as the function does)
        self,
        function: Callable[..., Any],
        *args: Any,
        key: str | None = None,
        idempotent: bool = False,
    ) -> Any:
        """See `WorkflowContext.step`."""
        self.require_open()
        name = str(key or getattr(function, "__name__", type(function).__name__))
        place = f"step {name}"
        effect = Effect(kind="step", name=name, key=effect_key(place), idempotent=idempotent)

        async def call() -> Any:  # noqa: ASYNC910  (as above)
            result = function(*args)
            return await result if inspect.isawaitable(result) else result  # noqa: ASYNC910  (waits as long as the function does)

        with effects_under(place):
            return await perform(lambda: effect, call)

    @property
    def idempotency_key(self) -> str:
        """See `WorkflowContext.idempotency_key`."""
        conductor = self.cell.conductor
        # By the message that began it, too: one executor may begin a workflow several times.
        path = "".join(f"{part}/" for part in place_of(conductor))
        return f"{conductor.run.run_id}/{path}{self.delivery.target}/{self.delivery.seq}"

    def journal(self) -> Journal:
        """Return what this turn has done outside, over all attempts at it."""
        journals = self.cell.conductor.journals
        assert journals is not None, "nothing is recorded here"
        seq = self.delivery.seq
        found = journals.get(seq)
        if found is None:
            found = journals[seq] = Journal()
        return found

    async def record(self, at: int, entry: JournalEntry) -> None:  # noqa: ASYNC910  (see its gate)
        """Have an entry of the journal stored, and wait until it is safe."""
        conductor = self.cell.conductor
        if conductor.run.gate is not None:
            await conductor.run.gate.record(conductor, self.delivery.seq, at, entry)

    def _at_commit(self, action: Callable[[], None]) -> None:
        """Have *action*, which must neither wait nor raise, called when this turn takes effect."""
        self.require_open()
        self.more().actions.append(action)
