"""``@tool``: makes a tool of a function, or of a method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, Self, TypeVar, overload

from actors.agents._tools._function_tool import FunctionTool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import BaseModel

    from actors.agents._tools._declaration import ApprovalMode

ReturnT = TypeVar("ReturnT")
P = ParamSpec("P")


if TYPE_CHECKING:

    class ToolOf(FunctionTool[ReturnT], Generic[P, ReturnT]):
        """A tool as type checkers see it: it is called as its function is.

        At run time there are no such objects, only ``FunctionTool``s.
        """

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> ReturnT: ...

        @overload
        def __get__(self, instance: None, owner: type | None = None) -> Self: ...
        @overload
        def __get__(
            self, instance: object, owner: type | None = None
        ) -> FunctionTool[ReturnT]: ...
        def __get__(self, instance: Any, owner: Any = None) -> Any: ...

    class MakesTool(Protocol):
        """What ``@tool(...)`` gives."""

        def __call__(self, func: Callable[P, ReturnT], /) -> ToolOf[P, ReturnT]: ...


@overload
def tool(func: Callable[P, ReturnT], /) -> ToolOf[P, ReturnT]: ...
@overload
def tool(
    func: None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    schema: type[BaseModel] | Mapping[str, Any] | None = None,
    approval_mode: ApprovalMode | None = None,
    kind: str | None = None,
    max_invocations: int | None = None,
    max_invocation_exceptions: int | None = None,
    additional_properties: Mapping[str, Any] | None = None,
    result_parser: Any = None,
    idempotent: bool = False,
    abandon_on_cancel: bool = False,
) -> MakesTool: ...
@overload
def tool(
    func: Callable[P, ReturnT],
    *,
    name: str | None = None,
    description: str | None = None,
    schema: type[BaseModel] | Mapping[str, Any] | None = None,
    approval_mode: ApprovalMode | None = None,
    kind: str | None = None,
    max_invocations: int | None = None,
    max_invocation_exceptions: int | None = None,
    additional_properties: Mapping[str, Any] | None = None,
    result_parser: Any = None,
    idempotent: bool = False,
    abandon_on_cancel: bool = False,
) -> ToolOf[P, ReturnT]: ...
def tool(func: Any = None, *, schema: Any = None, **options: Any) -> Any:
    """Make a tool of a function; ``@tool``, ``@tool(...)`` and ``tool(function, ...)`` all do.

    Args:
        func: the function.
        schema: what it takes, see ``input_model`` of ``FunctionTool``.
        **options: the other arguments of ``FunctionTool``.
    """

    def made(function: Callable[..., Any]) -> FunctionTool[Any]:
        return FunctionTool(func=function, input_model=schema, **options)

    return made if func is None else made(func)
