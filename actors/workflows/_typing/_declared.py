"""Compares what a handler sends and yields with what it has declared.

It is asked for every message, so the answer is remembered by class, as long as the class decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from actors.workflows._typing._type_forms import describe_types
from actors.workflows._typing._types import type_test
from protocols._errors import WorkflowRunnerException

if TYPE_CHECKING:
    from collections.abc import Sequence

# Classes made on the fly must not fill memory for ever.
_MOST_CLASSES: Final = 4096


class UndeclaredTypeError(WorkflowRunnerException, TypeError):
    """An executor sent or yielded something of a type that its handler doesn't declare.

    Args:
        message: who, what, and what to do.
    """


class Declared:
    """The types that a handler sends, or yields.

    Args:
        types: as it declares them.

    Attributes:
        known: classes whose instances are all of these types.
    """

    __slots__ = ("_tests", "known", "types")

    def __init__(self, types: Sequence[Any]) -> None:
        self.types = tuple(types)
        self.known: set[type] = set()
        self._tests = [type_test(each) for each in types]

    def allows(self, value: object) -> bool:
        """Say whether *value* is of one of the types."""
        for test in self._tests:
            if test.matches(value):
                if not test.by_value and len(self.known) < _MOST_CLASSES:
                    self.known.add(type(value))
                return True
        return False


def describe_undeclared(executor_id: str, verb: str, value: object, declared: Declared) -> str:
    """Say who did what it doesn't declare.

    Args:
        executor_id: the executor.
        verb: ``sends`` or ``yields``.
        value: what it sent or yielded.
        declared: what it may.
    """
    place = "WorkflowContext[…]" if verb == "sends" else "WorkflowContext[…, …]"
    return (
        f"executor {executor_id!r} {verb} a {type(value).__name__}, and its handler declares "
        f"{describe_types(declared.types)} there: put the type into its {place}"
    )
