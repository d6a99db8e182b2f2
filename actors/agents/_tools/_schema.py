"""What a tool takes: its signature as a schema, and arguments checked against it.

A schema comes from the signature, or from a pydantic class, or is given as JSON schema. Of the
last kind only what stands at its top is checked: which arguments there are, and their types.
"""

from __future__ import annotations

import builtins
import inspect
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args, get_origin, get_type_hints

from protocols._errors import ToolException

if TYPE_CHECKING:
    from pydantic import BaseModel

_CONTEXT: Final = "FunctionInvocationContext"
_VARIADIC: Final = frozenset({inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD})
_PRIMITIVES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (Mapping,),
    "null": (type(None),),
}


def parameters_of(func: Callable[..., Any] | None) -> list[inspect.Parameter]:
    """Give the parameters of a function; none where it can't say."""
    if func is None:
        return []
    try:
        return list(inspect.signature(func).parameters.values())
    except ValueError:  # a builtin
        return []


def context_parameter(
    func: Callable[..., Any] | None, *, has_explicit_schema: bool = False
) -> str | None:
    """Give the name of the parameter that wants the context of the call, if there is one.

    Raises:
        ValueError: there are two.
    """
    parameters = parameters_of(func)
    names = [one.name for one in parameters if _is_context(one.annotation)]
    if not names and has_explicit_schema:
        names = [one.name for one in parameters if one.name == "ctx" and _is_bare(one)]
    if len(names) > 1:
        raise ValueError(
            f"{getattr(func, '__name__', func)} has several parameters for the context: "
            f"{', '.join(names)}; leave one"
        )
    return names[0] if names else None


def _is_context(annotation: Any) -> bool:
    # By name, because it is often imported for type checkers only.
    if isinstance(annotation, str):
        words = annotation.replace("|", " ").replace('"', " ").replace("'", " ").split()
        return any(word.rpartition(".")[2] == _CONTEXT for word in words)
    if any(_is_context(one) for one in get_args(annotation)):
        return True
    return isinstance(annotation, type) and annotation.__name__ == _CONTEXT


def _is_bare(parameter: inspect.Parameter) -> bool:
    return parameter.annotation is inspect.Parameter.empty


def takes_any_keyword(func: Callable[..., Any] | None) -> bool:
    """Say whether a function has ``**kwargs``."""
    return any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters_of(func))


def enclosing_names(func: Callable[..., Any] | None) -> dict[str, Any]:
    """Give what the annotations of a local function name in the function around it.

    Annotations that are strings can be resolved later; what is local there is gone by then.
    """
    enclosing, found, _ = getattr(func, "__qualname__", "").rpartition(".<locals>.")
    unknown = _names_not_global(func) if found else []
    if not unknown:  # to look into a frame keeps what is in it alive for as long as the frame
        return {}
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_qualname != enclosing:
        frame = frame.f_back
    local = {} if frame is None else frame.f_locals
    return {name: local[name] for name in unknown if name in local}


def _names_not_global(func: Any) -> list[str]:
    annotations = getattr(func, "__annotations__", {})
    texts = [one for name, one in annotations.items() if name != "return" and isinstance(one, str)]
    known = getattr(func, "__globals__", {})
    names = re.findall(r"[^\W\d]\w*", " ".join(texts))
    return [one for one in names if one not in known and not hasattr(builtins, one)]


def model_of_signature(
    func: Callable[..., Any], name: str, names: Mapping[str, Any] | None = None
) -> type[BaseModel]:
    """Make a pydantic class of what a function takes.

    Args:
        func: the function.
        name: of the tool.
        names: what ``enclosing_names`` gave, when there was still something to give.

    Raises:
        ToolException: an annotation can't be resolved, or pydantic can't use it.
    """
    from pydantic import create_model
    from pydantic.errors import PydanticUserError

    context = context_parameter(func)
    given = [
        one
        for one in parameters_of(func)
        if one.kind not in _VARIADIC and one.name not in {"self", "cls", context}
    ]
    hints = _hints(func, [one.name for one in given], names or {})
    fields = {one.name: _field(one, hints) for one in given}
    try:
        model: type[BaseModel] = create_model(f"{name}_input", **fields)  # type: ignore[call-overload]  # made at run time
    except PydanticUserError as error:
        raise ToolException(
            f"no schema can be made of the signature of tool {name}: {error}. Give it a schema=",
            error,
        ) from error
    return model


def _hints(func: Callable[..., Any], names: list[str], local: Mapping[str, Any]) -> dict[str, Any]:
    target = inspect.unwrap(func)
    target = getattr(target, "func", target)  # of a partial
    if not inspect.isroutine(target):
        target = type(target).__call__
    try:
        return get_type_hints(target, localns=dict(local), include_extras=True)
    except (NameError, TypeError):
        # One that nobody looks at mustn't spoil the others: the context's, or the result's.
        annotations = getattr(target, "__annotations__", {})
        names_in_scope = {**getattr(target, "__globals__", {}), **_closure(target), **local}
        return {
            name: _resolved(annotations[name], names_in_scope, target, name)
            for name in names
            if name in annotations
        }


def _closure(func: Any) -> dict[str, Any]:
    try:
        return dict(inspect.getclosurevars(func).nonlocals)
    except (TypeError, ValueError):
        return {}


def _resolved(annotation: Any, scope: dict[str, Any], func: Any, name: str) -> Any:
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, scope)  # noqa: S307 (an annotation of the program's own)
    except Exception as error:
        raise ToolException(
            f"{func.__qualname__}: the annotation {annotation!r} of parameter {name} can't be "
            "resolved. Import what it names at run time, or give the tool a schema=",
            error,
        ) from error


def _field(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> tuple[Any, Any]:
    from pydantic import Field

    hint = hints.get(parameter.name, str)
    if get_origin(hint) is Annotated:
        kind, *notes = get_args(hint)
        texts = [note for note in notes if isinstance(note, str)]
        kept = [note for note in notes if not isinstance(note, str)]
        if texts:
            kept.append(Field(description=texts[0]))
        hint = Annotated[(kind, *kept)]
    default = parameter.default
    return hint, ... if default is inspect.Parameter.empty else default


# ------------------------------------------------------------------------- checking


def checked_by_model(model: type[BaseModel], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Give the arguments as a pydantic class makes them: those that were set.

    Raises:
        TypeError: they are not what the class wants.
    """
    from pydantic import ValidationError

    try:
        made = model.model_validate(arguments)
    except ValidationError as error:
        raise TypeError(_told(error)) from error
    # By field name, in the order in which the function has them.
    return {
        name: getattr(made, name) for name in model.model_fields if name in made.model_fields_set
    }


def _told(error: Any) -> str:
    problems = [
        f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}"
        for one in error.errors(include_url=False, include_input=False)
    ]
    return "; ".join(problems)


def checked_by_schema(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Give the arguments if the top of a JSON schema allows them.

    Raises:
        TypeError: it doesn't, and the message says why.
    """
    properties: Mapping[str, Any] = schema.get("properties", {})
    missing = [name for name in schema.get("required", ()) if name not in arguments]
    if missing:
        raise TypeError(f"missing: {', '.join(missing)}")
    if schema.get("additionalProperties") is False:
        extra = [name for name in arguments if name not in properties]
        if extra:
            raise TypeError(f"unknown: {', '.join(extra)}")
    for name, value in arguments.items():
        _check_value(name, value, properties.get(name, {}))
    return dict(arguments)


def _check_value(name: str, value: Any, schema: Any) -> None:
    if not isinstance(schema, Mapping):
        return
    if "enum" in schema and value not in schema["enum"]:
        raise TypeError(f"{name} is one of {schema['enum']!r}, not {value!r}")
    kinds = schema.get("type", ())
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is_a(value, kind) for kind in kinds):
        raise TypeError(f"{name} is {' or '.join(kinds)}, not {type(value).__name__}")


def _is_a(value: Any, kind: str) -> bool:
    if kind not in _PRIMITIVES:
        return True
    if isinstance(value, bool) and kind in {"integer", "number"}:
        return False
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _PRIMITIVES[kind])
