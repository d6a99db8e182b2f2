"""Decides whose outputs are outputs of the workflow, whose are intermediate, whose are hidden.

The rules are a table (``docs/reference`` has it): without any designation every output counts;
with one, what isn't designated is hidden.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import attrs

from actors.workflows._graph._validation_errors import ValidationTypeEnum, WorkflowValidationError

if TYPE_CHECKING:
    from actors.workflows._graph._executor import Executor

OutputFrom: TypeAlias = Sequence[Any] | Literal["all"] | None
IntermediateFrom: TypeAlias = Sequence[Any] | Literal["all", "all_other"] | None

_log: Final = logging.getLogger(__name__)


@attrs.frozen
class Outputs:
    """Whose outputs count as what.

    Args:
        output_ids: outputs of the workflow; None where nothing was designated: everybody's.
        intermediate_ids: intermediate outputs; None where ``output_ids`` is.
        problems: what is wrong with the designation.
    """

    output_ids: tuple[str, ...] | None = None
    intermediate_ids: tuple[str, ...] | None = None
    problems: tuple[WorkflowValidationError, ...] = ()


def check_literals(output_from: OutputFrom, intermediate_from: IntermediateFrom) -> None:
    """Refuse words that no designation knows.

    Raises:
        ValueError: a text other than those allowed.
    """
    if isinstance(output_from, str) and output_from != "all":
        raise ValueError(f'output_from must be a list of executors or "all", not {output_from!r}')
    if isinstance(intermediate_from, str) and intermediate_from not in {"all", "all_other"}:
        raise ValueError(
            'intermediate_output_from must be a list of executors, "all" or "all_other", '
            f"not {intermediate_from!r}"
        )


def designate(
    output_from: Sequence[str] | None,
    intermediate_from: Sequence[str] | None,
    executors: Mapping[str, Executor],
) -> Outputs:
    """Work out a designation, and all that is wrong with it.

    Args:
        output_from: ids, or ``"all"``; None if not given.
        intermediate_from: ids, ``"all"`` or ``"all_other"``; None if not given.
        executors: those of the graph by id.
    """
    if output_from is None and intermediate_from is None:
        return Outputs()
    capable = [name for name, each in executors.items() if each.workflow_output_types]
    outputs = _ids(output_from, capable, capable)
    others = [name for name in capable if name not in outputs]
    intermediate = _ids(intermediate_from, capable, others)
    if output_from == "all" and not isinstance(intermediate_from, str):
        intermediate = _without(intermediate, outputs)
    problems = (
        *_listed_problems("output_from", output_from, executors),
        *_listed_problems("intermediate_output_from", intermediate_from, executors),
        *_shared_problems(output_from, intermediate_from, outputs, intermediate),
    )
    return Outputs(outputs, intermediate, problems)


def _ids(
    given: Sequence[str] | None, capable: Sequence[str], others: Sequence[str]
) -> tuple[str, ...]:
    if isinstance(given, str):
        return tuple(capable if given == "all" else others)
    return tuple(given or ())


def _without(intermediate: tuple[str, ...], outputs: tuple[str, ...]) -> tuple[str, ...]:
    both = [name for name in intermediate if name in outputs]
    if both:
        _log.warning(
            'output_from="all" makes the outputs of %s outputs of the workflow, although '
            "intermediate_output_from lists them; list the executors in output_from instead",
            ", ".join(map(repr, both)),
        )
    return tuple(name for name in intermediate if name not in both)


def _listed_problems(
    option: str, given: Sequence[str] | None, executors: Mapping[str, Executor]
) -> Iterator[WorkflowValidationError]:
    if given is None or isinstance(given, str):
        return
    for name in dict.fromkeys(given):
        if list(given).count(name) > 1:
            yield _problem(f"{option} lists {name!r} more than once")
        if name not in executors:
            yield _problem(f"{option} lists {name!r}, which isn't in the graph: add an edge to it")
        elif not executors[name].workflow_output_types:
            yield _problem(
                f"{option} lists {name!r}, which declares no output of the workflow: annotate a "
                "handler's context as WorkflowContext[T, U], where U is what it yields"
            )


def _shared_problems(
    output_from: Sequence[str] | None,
    intermediate_from: Sequence[str] | None,
    outputs: Sequence[str],
    intermediate: Sequence[str],
) -> Iterator[WorkflowValidationError]:
    by_word = isinstance(output_from, str) or isinstance(intermediate_from, str)
    if not outputs and not intermediate and not by_word:
        yield _problem(
            "output_from and intermediate_output_from are both empty, so the workflow could never "
            "give anything back: list executors, or leave both options out"
        )
    for name in outputs:
        if name in intermediate:
            yield _problem(
                f"{name!r} is in output_from and in intermediate_output_from; an output is one or "
                'the other ("all_other" means those that output_from doesn\'t list)'
            )


def _problem(message: str) -> WorkflowValidationError:
    return WorkflowValidationError(message, ValidationTypeEnum.OUTPUT_VALIDATION)
