"""Finding the workflow in a module, and opening it."""

from __future__ import annotations

import inspect
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from actors.cli._outcome import CommandError
from actors.cli._shadow import did_you_mean
from actors.workflows._functional._workflow import FunctionalWorkflow
from actors.workflows._graph._builder import WorkflowBuilder
from actors.workflows._workflow import Workflow

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from types import ModuleType

DEFAULT_NAME: Final = "workflow"
_WORKFLOW: Final = re.compile(r"\bWorkflow\b")
_HOW_TO: Final = (
    "define `workflow = WorkflowBuilder(…).build()` at its top level, a function with `@workflow` "
    "above it, or one without parameters, `def workflow() -> Workflow:`"
)


def find_workflow(module: ModuleType, where: str, name: str | None) -> tuple[str, Any]:
    """Return the name and the value of what is to be run: a workflow, or what makes one.

    Args:
        module: where to look.
        where: what the user calls the module.
        name: the name that was asked for.

    Raises:
        CommandError: there is none, there are several, or the one asked for can't be run.
    """
    if name is not None:
        return name, _named(module, where, name)
    candidates = _candidates(module)
    if DEFAULT_NAME in candidates:
        return DEFAULT_NAME, candidates[DEFAULT_NAME]
    # Two names of one workflow are no choice.
    distinct = {id(value): key for key, value in candidates.items()}
    if len(distinct) == 1:
        (found,) = distinct.values()
        return found, candidates[found]
    if distinct:
        names = ", ".join(sorted(distinct.values()))
        first = min(distinct.values())
        raise CommandError(
            f"{where} has several workflows: {names}; say which one, for example {where}:{first}"
        )
    raise CommandError(f"{where} has no workflow; {_hint(module) or _HOW_TO}")


def _named(module: ModuleType, where: str, name: str) -> Any:
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            known = [*_candidates(module), *(key for key in vars(module) if key[0] != "_")]
            near = did_you_mean(name, dict.fromkeys(known))
            raise CommandError(f"{where} has no {name!r}{near or _what_there_is(module)}")
        value = getattr(value, part)
    if isinstance(value, Workflow | FunctionalWorkflow):
        return value
    if isinstance(value, WorkflowBuilder):
        raise CommandError(f"{where}:{name} is a WorkflowBuilder; call its build()")
    if not callable(value):
        raise CommandError(
            f"{where}:{name} is a {type(value).__name__}; it has to be a workflow, or a function "
            "without parameters that returns one"
        )
    if needed := _needed_parameters(value):
        raise CommandError(
            f"{where}:{name} needs {', '.join(needed)}, but `actors run` calls it without "
            "arguments; write a function without parameters that calls it"
        )
    return value


def _what_there_is(module: ModuleType) -> str:
    names = ", ".join(sorted(_candidates(module)))
    return f"; it has {names}" if names else f", and no other workflow; {_HOW_TO}"


def _candidates(module: ModuleType) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, Workflow | FunctionalWorkflow) or _makes_one(name, value, module)
    }


def _makes_one(name: str, value: Any, module: ModuleType) -> bool:
    """Say whether a function is there to make a workflow: by its name or its annotation."""
    # What was imported isn't meant: `workflow` may be a decorator.
    is_own = inspect.isfunction(value) and value.__module__ == module.__name__
    if not is_own or _needed_parameters(value):
        return False
    returned = inspect.get_annotations(value).get("return", "")
    said = returned if isinstance(returned, str) else repr(returned)
    return name == DEFAULT_NAME or (name[0] != "_" and _WORKFLOW.search(said) is not None)


def _needed_parameters(function: Any) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [
        each.name
        for each in parameters
        if each.default is each.empty and each.kind not in {each.VAR_POSITIONAL, each.VAR_KEYWORD}
    ]


def _hint(module: ModuleType) -> str:
    for name, value in vars(module).items():
        if isinstance(value, WorkflowBuilder):
            return f"{name} is a WorkflowBuilder; call its build()"
    return ""


@asynccontextmanager
async def opened(value: Any, label: str) -> AsyncIterator[Workflow]:
    """Open a workflow for the length of an ``async with`` block.

    Args:
        value: what ``find_workflow`` found.
        label: how the user calls it.

    Raises:
        CommandError: what makes the workflow made something else, or it is a function.
    """
    async with opened_of_any_kind(value, label) as made:
        if isinstance(made, FunctionalWorkflow):
            raise CommandError(f"{label} is a function, and this needs a workflow that is a graph")
        yield made


@asynccontextmanager
async def opened_of_any_kind(
    value: Any, label: str
) -> AsyncIterator[Workflow | FunctionalWorkflow[Any]]:
    """Open a workflow, which may be a function; otherwise as `opened`."""
    is_one = isinstance(value, Workflow | FunctionalWorkflow)
    made: Any = value if is_one else value()
    if inspect.isawaitable(made):
        made = await made
    if hasattr(made, "__aenter__"):
        async with made as entered:
            yield _checked(entered, label)
    else:
        yield _checked(made, label)


def _checked(made: Any, label: str) -> Workflow | FunctionalWorkflow[Any]:
    if isinstance(made, Workflow | FunctionalWorkflow):
        return made
    if inspect.isasyncgen(made):
        raise CommandError(f"{label} is an async generator; put @asynccontextmanager above it")
    raise CommandError(f"{label} returned {type(made).__name__}, not Workflow")
