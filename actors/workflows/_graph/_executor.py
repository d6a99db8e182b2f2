"""``Executor``: what users derive from to take part in a workflow.

An executor is a definition as much as an object: its handlers are found on its class, once for
all instances, and the engine asks it who takes a message. The turns themselves, their order
and their failures are the engine's business.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, ClassVar, Final

import attrs

from actors.workflows._graph._declared_types import types_of
from actors.workflows._graph._handlers import MARK, HandlerSpec, ResponseHandlerSpec
from actors.workflows._graph._lookup import HandlerTable, ResponseTable
from protocols._events import MessageType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from protocols._events import WorkflowMessage

_log: Final = logging.getLogger(__name__)

# What every executor has, and no turn changes.
_OURS: Final = frozenset({"id", "type", "_handlers", "_responses", "_runs", "_torn"})

_NO_RESPONSES: Final = ResponseTable()


class RequestInfoMixin:
    """The part of an executor that asks the world outside and takes its answers."""

    _responses: ResponseTable = _NO_RESPONSES

    @property
    def is_request_response_capable(self) -> bool:
        """Whether there is any response handler."""
        return bool(self._responses.specs)

    def is_request_supported(self, request_type: Any, response_type: Any) -> bool:
        """Say whether answers of *response_type* to requests of *request_type* have a handler."""
        return self._responses.supports(request_type, response_type)

    def find_response_handler(
        self, request: object, response: object
    ) -> ResponseHandlerSpec | None:
        """Return the handler that this *response* to *request* goes to, or None."""
        return self._responses.find(request, response)


class Executor(RequestInfoMixin):
    """A participant of a workflow: handlers, and the state that they start with.

    Derive from it and decorate methods with ``@handler``. A message goes to the handler with
    the most specific type that matches, and among equals to the one declared first.

    Args:
        id: unique in the workflow; messages, events and checkpoints use it.
        type: what ``to_dict`` calls it; the name of the class if not given.
        type_: the same, for those who don't like to shadow a builtin.
        defer_discovery: don't look for handlers; for classes that install their own.
        ignored: MAF takes any other keyword and ignores it, and so do we.

    Raises:
        ValueError: the id is empty, there is no handler, or two take equal types.
    """

    # The frozen value that each run starts with; a turn that fails leaves it as it was. None
    # if the executor keeps mutable attributes instead.
    state: Any = None

    # Whether one instance may serve several runs at the same time without a frozen state.
    shareable: ClassVar[bool] = False

    # Whether what its turns do outside (model calls, tools, steps) is recorded, so that a turn
    # that is run again doesn't do it again. Only where turns may be run again.
    journal: bool = True

    # In how many runs the object takes part now; counted where that may be one only.
    _runs: int = 0

    # What its hooks are to put back before its next turn, in whichever run: a turn that came to
    # nothing has left something else on the object. None: nothing has.
    _torn: dict[str, Any] | None = None

    def __init__(
        self,
        id: str,  # noqa: A002 (MAF's keyword)
        *,
        type: str | None = None,  # noqa: A002 (MAF's keyword)
        type_: str | None = None,
        defer_discovery: bool = False,
        **ignored: Any,  # noqa: ARG002 (documented above)
    ) -> None:
        name = self.__class__.__name__
        _check_id(name, id)
        if not id:
            raise ValueError(f"{name}: the id of an executor must not be empty; pass id=...")
        _require_frozen(name, self.__class__.state)
        self.id = id
        self.type = type or type_ or name
        self._handlers = HandlerTable()
        if not defer_discovery:
            self._handlers, self._responses = _tables_of(self.__class__)
            _require_handlers(name, self._handlers)

    def find_handler(self, message: object) -> HandlerSpec | None:
        """Return the handler that *message* goes to, or None if none takes it."""
        return self._handlers.find(message)

    @property
    def finder(self) -> Callable[[object], HandlerSpec | None]:
        """``find_handler``, without the call in between where nobody overrides it.

        The engine asks twice per message: who takes it, and with which handler.
        """
        if type(self).find_handler is Executor.find_handler:
            return self._handlers.find
        return self.find_handler

    def can_handle_data(self, data: object) -> bool:
        """Say whether some handler takes *data*."""
        return self.find_handler(data) is not None

    def can_handle(self, message: WorkflowMessage) -> bool:
        """Say whether a handler takes what is in *message*, or the answer that it is."""
        if message.type is not MessageType.RESPONSE:
            return self.can_handle_data(message.data)
        asked = message.original_request_info_event
        if asked is None:
            _log.warning("an answer to %r came without the request that it answers", self.id)
            return False
        return self.find_response_handler(asked.data, message.data) is not None

    @property
    def first_state(self) -> Any:
        """The frozen value that runs start with; None if the object keeps attributes instead.

        One of them may well be called ``state``, in code that comes from Agent Framework.
        """
        state = self.state
        return None if _is_mutable(state) else state

    @property
    def kept_attributes(self) -> tuple[str, ...]:
        """The attributes that the subclass keeps on the object, outside of ``state``."""
        return tuple(sorted(vars(self).keys() - _OURS))

    @property
    def input_types(self) -> list[Any]:
        """What the handlers take, in order of declaration; a union is one entry."""
        return [spec.message_type for spec in self._handlers.specs]

    @property
    def output_types(self) -> list[Any]:
        """What all handlers, those of responses too, send to other executors."""
        return _distinct(spec.output_types for spec in self._all_specs())

    @property
    def workflow_output_types(self) -> list[Any]:
        """What all handlers, those of responses too, yield as output of the workflow."""
        return _distinct(spec.workflow_output_types for spec in self._all_specs())

    def declared_types(self) -> list[Any]:
        """Return the types that checkpoints of its workflow may hold because of this executor.

        Building the workflow makes them known to the codec.
        """
        found = types_of(self._all_specs())
        return found if self.state is None else [*found, type(self.state)]

    async def on_checkpoint_save(self) -> dict[str, Any]:
        """Return what a checkpoint must hold of this executor's mutable attributes."""
        return {}  # noqa: ASYNC910 (nothing to wait for)

    async def on_checkpoint_restore(self, state: dict[str, Any]) -> None:
        """Put back what ``on_checkpoint_save`` returned."""

    def wrong_answer(self, asked: Any, answer: Any) -> str | None:  # noqa: ARG002
        """Return what is wrong with an answer that has the right type; mostly nothing, None."""
        return None

    def completes(self, message: Any) -> tuple[Any, ...]:  # noqa: ARG002
        """Return what ``run`` gives a start executor behind its input; mostly nothing."""
        return ()

    def store_state(self, state: Any) -> Any:
        """Return what of a frozen ``state`` is stored: all of it, if you don't say otherwise."""
        return state

    def load_state(self, stored: Any) -> Any:
        """Return the ``state`` that ``store_state`` made this of."""
        return stored

    def to_dict(self) -> dict[str, Any]:
        """Return id and type, for descriptions of the graph."""
        return {"id": self.id, "type": self.type}

    def __repr__(self) -> str:
        return f"<{self.__class__.__name__} {self.id!r}>"

    def _all_specs(self) -> tuple[HandlerSpec | ResponseHandlerSpec, ...]:
        return (*self._handlers.specs, *self._responses.specs)


def _distinct(types: Iterable[tuple[Any, ...]]) -> list[Any]:
    return list(dict.fromkeys(each for some in types for each in some))


def _check_id(name: str, id_: object) -> None:
    if id_ is not None and not isinstance(id_, str):
        raise TypeError(f"{name}: the id of an executor is a str, not {id_!r}")


def _is_mutable(state: object) -> bool:
    # What can't be hashed can be changed: a list, a dict, a class with fields that change.
    return type(state).__hash__ is None


def _require_frozen(name: str, state: object) -> None:
    if _is_mutable(state):
        raise TypeError(
            f"{name}.state is a {type(state).__name__}, which a turn could change in place, and all "
            "runs would share: declare a frozen value (a tuple, a FrozenDict, a class with "
            "@attrs.frozen), and have turns assign another one to ctx.state"
        )


def _require_handlers(name: str, handlers: HandlerTable) -> None:
    if not handlers.specs:
        raise ValueError(
            f"{name} has no handler, so no message could ever reach it: decorate a method "
            "`async def f(self, message: T, ctx: WorkflowContext)` with @handler"
        )


def _tables_of(cls: type[Executor]) -> tuple[HandlerTable, ResponseTable]:
    # Kept on the class itself, so that they live as long as it does.
    found: tuple[HandlerTable, ResponseTable] | None = vars(cls).get("_tables")
    if found is None:
        specs = _specs_of(cls)
        found = (
            HandlerTable(_in_order(each for each in specs if isinstance(each, HandlerSpec))),
            ResponseTable(
                _in_order(each for each in specs if isinstance(each, ResponseHandlerSpec))
            ),
        )
        cls._tables = found  # type: ignore[attr-defined] # a cache, read three lines above
    return found


def _specs_of(cls: type) -> list[HandlerSpec | ResponseHandlerSpec]:
    # An override replaces what it overrides but keeps its place; without a decorator of its
    # own it takes the handler away.
    attributes: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        attributes.update(vars(base))
    marked = ((name, value, getattr(value, MARK, None)) for name, value in attributes.items())
    # A decorator above @handler has copied the mark; what it made is what must be called.
    return [
        attrs.evolve(spec, name=name, function=value)
        for name, value, spec in marked
        if isinstance(spec, HandlerSpec | ResponseHandlerSpec)
    ]


def _in_order(specs: Iterable[Any]) -> list[Any]:
    return [attrs.evolve(spec, order=order) for order, spec in enumerate(specs)]
