"""Which types the executors of a graph say that their messages, outputs, requests and answers are of.

Asked whenever a workflow is built, of graphs with thousands of executors, most of which have the
same few types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actors.workflows._graph._handlers import HandlerSpec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from actors.workflows._graph._executor import Executor
    from actors.workflows._graph._handlers import ResponseHandlerSpec


def declared_types(executors: Iterable[Executor]) -> tuple[Any, ...]:
    """Return each type once; those of workflows inside too."""
    found: dict[Any, Any] = {}
    for executor in executors:
        for hint in executor.declared_types():
            # Not everything that stands in annotations can be hashed.
            found[hint if isinstance(hint, type) else id(hint)] = hint
    return tuple(found.values())


def types_of(specs: Iterable[HandlerSpec | ResponseHandlerSpec]) -> list[Any]:
    """Return the types that handlers declare."""
    found: list[Any] = []
    for spec in specs:
        if isinstance(spec, HandlerSpec):
            found.append(spec.message_type)
        else:
            found += (spec.request_type, spec.response_type)
        found += spec.output_types
        found += spec.workflow_output_types
    return found
