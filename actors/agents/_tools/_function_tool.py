"""A function that a model can call, as an object: what ``@tool`` makes."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

from actors.agents._middleware._contexts import FunctionInvocationContext
from actors.agents._tools._calling import ToolUse, call_function
from actors.agents._tools._declaration import ToolDeclaration
from actors.agents._tools._results import SKIP_PARSING, parsed_result
from actors.agents._tools._schema import context_parameter, enclosing_names, takes_any_keyword
from protocols._content._item import Content
from protocols._errors import ToolException, UserInputRequiredException

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import BaseModel

    from actors.agents._tools._declaration import ApprovalMode

ReturnT = TypeVar("ReturnT")
RESERVED: Final = frozenset({"middleware", "conversation_id"})
"""Names of what is never passed on to a tool."""


class FunctionTool(ToolDeclaration, Generic[ReturnT]):
    """A function that a model can call, with what the model is told about it.

    Calling the tool calls the function. ``await tool.invoke(arguments={...})`` does what a
    model's call does: it checks the arguments and gives the result as content items.
    ``invocation_count`` and ``invocation_exception_count`` say how often it was run in all, and
    how often that failed; limits don't look at them, but at the run.

    Args:
        name: what the model calls it; the function's name if not given.
        description: what it is for; the function's docstring if not given.
        func: what to run; without it the tool is only declared, and whoever runs the agent
            answers its calls. A function that isn't async runs in a thread.
        input_model: what it takes, if the signature doesn't say it well: a pydantic class, or a
            JSON schema.
        approval_mode: ``"always_require"`` asks a person before each call.
        kind: what kind of tool it is, for whoever wants to know.
        max_invocations: calls per run, at least 1; None for no limit.
        max_invocation_exceptions: failed calls per run after which it isn't tried again.
        additional_properties: metadata.
        result_parser: makes what the model reads of what the function returned;
            ``SKIP_PARSING`` leaves it as it is.
        idempotent: whether running it twice does no more than running it once. A durable run
            that was cut off in the middle of a call repeats such a tool, and no other.
        abandon_on_cancel: of a function that runs in a thread. False, and a run that is
            cancelled waits for the function, whose result is kept: nothing goes on behind its
            back. True, and the thread is left to itself, whatever it may still do.

    Raises:
        ValueError: there is no name, or a limit is less than 1.
    """

    def __init__(
        self,
        *,
        name: str | None = None,
        description: str | None = None,
        func: Callable[..., Any] | None = None,
        input_model: type[BaseModel] | Mapping[str, Any] | None = None,
        approval_mode: ApprovalMode | None = None,
        kind: str | None = None,
        max_invocations: int | None = None,
        max_invocation_exceptions: int | None = None,
        additional_properties: Mapping[str, Any] | None = None,
        result_parser: Any = None,
        idempotent: bool = False,
        abandon_on_cancel: bool = False,
    ) -> None:
        found = name or getattr(func, "__name__", None) or type(func).__name__
        if func is None and not name:
            raise ValueError("a tool without a function needs a name")
        if inspect.isasyncgenfunction(func):
            raise ValueError(
                f"tool {found} has a `yield` in it, so that a call of it would run nothing: have "
                "it return its result"
            )
        self.name: str = found
        self.description: str = description or (inspect.getdoc(func) if func else None) or ""
        self.func = func
        self.approval_mode: ApprovalMode = approval_mode or "never_require"
        self.kind = kind
        self.max_invocations = _at_least_one("max_invocations", max_invocations)
        self.max_invocation_exceptions = _at_least_one(
            "max_invocation_exceptions", max_invocation_exceptions
        )
        self.additional_properties = dict(additional_properties or {})
        self.result_parser = result_parser
        self.idempotent = idempotent
        self.abandon_on_cancel = abandon_on_cancel
        self.use = ToolUse()
        self.invocation_count = 0
        self.invocation_exception_count = 0
        self.records_effect = True
        self._given_model = input_model
        self._model: Any = input_model
        self._schema: dict[str, Any] | None = None
        self._context_parameter = context_parameter(
            func, has_explicit_schema=input_model is not None
        )
        self._names = enclosing_names(func)
        self._takes_more = takes_any_keyword(func)
        self._attribute: str | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    # -------------------------------------------------------------------- calling it

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself."""
        function = self._function()
        self.invocation_count += 1
        return function(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Self | FunctionTool[ReturnT]:
        """As an attribute of an object it is a tool of that object's method, always the same."""
        if instance is None or self.func is None:
            return self
        bound = self._bound_to(instance)
        # As cached_property does it: from now on the object has it as an attribute of its own.
        if self._attribute is not None and hasattr(instance, "__dict__"):
            instance.__dict__[self._attribute] = bound
        return bound

    def __set_name__(self, owner: type, name: str) -> None:
        self._attribute = name

    def _bound_to(self, instance: Any) -> FunctionTool[ReturnT]:
        return self.with_changes(func=self._function().__get__(instance))

    def with_changes(self, **changes: Any) -> FunctionTool[ReturnT]:
        """Make a tool like this one, which has been called by nobody yet.

        Args:
            **changes: what is to be different, as arguments of ``FunctionTool``.
        """
        known = {
            "name": self.name,
            "description": self.description,
            "func": self.func,
            "input_model": self._given_model,
            "approval_mode": self.approval_mode,
            "kind": self.kind,
            "max_invocations": self.max_invocations,
            "max_invocation_exceptions": self.max_invocation_exceptions,
            "additional_properties": self.additional_properties,
            "result_parser": self.result_parser,
            "idempotent": self.idempotent,
            "abandon_on_cancel": self.abandon_on_cancel,
        }
        made: FunctionTool[ReturnT] = FunctionTool(**(known | changes))
        made._names = self._names
        made.records_effect = self.records_effect
        return made

    async def invoke(
        self,
        *,
        arguments: Any = None,
        context: FunctionInvocationContext | None = None,
        tool_call_id: str | None = None,
        skip_parsing: bool = False,
        **named: Any,
    ) -> Any:
        """Run the tool as a model's call does, outside of any run.

        Its limits count all such calls together; in a run they count those of the run.

        Args:
            arguments: by name: a mapping, or an instance of its pydantic class.
            context: for a function that wants it, and for more keywords of it.
            tool_call_id: of the call, if it has one.
            skip_parsing: give what the function returned, as it is.
            **named: further arguments.

        Returns:
            A list of content items, or, unparsed, anything.

        Raises:
            TypeError: the arguments are not what the tool takes.
            ToolException: the tool is only declared, or has been called often enough.
        """
        values = self.checked(self._gathered(arguments, context, named))
        if context is None:
            context = FunctionInvocationContext(function=self)
        context.arguments = values
        if tool_call_id is not None:
            context.metadata.setdefault("call_id", tool_call_id)
        self._function()
        self.use.take(self)
        raw = await self.run(context, self.use)
        return raw if skip_parsing or self.result_parser is SKIP_PARSING else self.parsed(raw)

    def _gathered(
        self, arguments: Any, context: FunctionInvocationContext | None, named: dict[str, Any]
    ) -> dict[str, Any]:
        unknown = named.keys() - self.parameters().get("properties", {}).keys()
        if unknown:
            raise TypeError(f"tool {self.name} takes no {', '.join(sorted(unknown))}")
        if arguments is None:
            arguments = {} if context is None or named else context.arguments
        if hasattr(arguments, "model_dump"):
            arguments = arguments.model_dump(exclude_unset=True)
        return {**arguments, **named}

    async def run(self, context: FunctionInvocationContext, use: ToolUse) -> Any:
        """Run the function with the arguments in the context, which have been checked.

        Args:
            context: of the call.
            use: where an exception is counted; the call has been.

        Raises:
            ToolException: the tool is only declared.
        """
        func = self._function()
        self.invocation_count += 1
        arguments = dict(context.arguments)
        if self._context_parameter is not None:
            arguments[self._context_parameter] = context
        if self._takes_more:
            more = {key: value for key, value in context.kwargs.items() if key not in RESERVED}
            arguments = {**more, **arguments}
        try:
            return await call_function(func, arguments, abandon=self.abandon_on_cancel)
        except UserInputRequiredException:
            raise
        except Exception:
            use.errors += 1
            self.invocation_exception_count += 1
            raise

    def _function(self) -> Callable[..., Any]:
        if self.func is None:
            raise ToolException(
                f"tool {self.name} is only declared: it has no function that could be run"
            )
        return self.func

    def parsed(self, raw: Any) -> list[Content]:
        """Give what the function returned as the model is to read it."""
        if self.result_parser is None or self.result_parser is SKIP_PARSING:
            return self.parse_result(raw)
        try:
            return parsed_result(self.result_parser(raw))
        except Exception:  # noqa: BLE001 (the tool has run: its result mustn't be lost)
            return [Content.from_text(str(raw))]

    @staticmethod
    def parse_result(result: Any) -> list[Content]:
        """Give a result as content items: text as it is, anything else as JSON."""
        return parsed_result(result)

    # ----------------------------------------------------------------------- as data

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], *, dependencies: Mapping[str, Any] | None = None
    ) -> FunctionTool[Any]:
        """Make a tool of what ``to_dict`` gave.

        Args:
            data: the declaration.
            dependencies: ``{"function_tool": {"func": ...}}``, or ``"name:..."`` instead of the
                first key's value for one tool of several; without it the tool is declared only.

        Raises:
            ValueError: the data is of something else.
        """
        if data.get("type", cls.TYPE) != cls.TYPE:
            raise ValueError(f"this is the data of a {data['type']}, not of a {cls.TYPE}")
        given = (dependencies or {}).get(cls.TYPE, {})
        func = given.get("func") or given.get(f"name:{data['name']}", {}).get("func")
        known = inspect.signature(cls.__init__).parameters
        fields = {key: value for key, value in data.items() if key in known}
        return cls(**fields | {"func": func})


def _at_least_one(name: str, limit: int | None) -> int | None:
    if limit is not None and limit < 1:
        raise ValueError(f"{name} must be at least 1, not {limit!r}")
    return limit
