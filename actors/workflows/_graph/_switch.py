"""Switches: edges of which each message takes the first that wants it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

import attrs

from actors.workflows._graph._edges import Condition, Edge, EdgeGroup, name_of, require_two

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_log: Final = logging.getLogger(__name__)


@attrs.frozen
class Case:
    """One case of ``WorkflowBuilder.add_switch_case_edge_group``.

    Args:
        condition: gets the message. It may be async.
        target: the executor, agent or factory that gets what the condition wants.
    """

    condition: Condition
    target: Any


@attrs.frozen
class Default:
    """What ``WorkflowBuilder.add_switch_case_edge_group`` does with all other messages.

    Args:
        target: the executor, agent or factory that gets them.
    """

    target: Any


@attrs.frozen
class SwitchCaseEdgeGroupCase:
    """One case of a switch: the message goes to the target if the condition says so.

    Args:
        condition: gets the message. It may be async.
        target_id: the receiver.
    """

    condition: Condition
    target_id: str

    def to_dict(self) -> dict[str, Any]:
        """Return target and name of the condition."""
        return {
            "type": "Case",
            "target_id": self.target_id,
            "condition_name": name_of(self.condition),
        }


@attrs.frozen
class SwitchCaseEdgeGroupDefault:
    """Where a message goes that no case wants.

    Args:
        target_id: the receiver.
    """

    target_id: str

    def to_dict(self) -> dict[str, Any]:
        """Return the target."""
        return {"type": "Default", "target_id": self.target_id}


@attrs.frozen(eq=False, init=False)
class SwitchCaseEdgeGroup(EdgeGroup):
    """From one executor to the target of the first case that wants the message.

    Args:
        source_id: the sender.
        cases: asked in this order, with exactly one default, which should be the last.
        id: made of kind and ends if not given.

    Raises:
        ValueError: there are fewer than two entries, or not exactly one default.
    """

    cases: tuple[SwitchCaseEdgeGroupCase | SwitchCaseEdgeGroupDefault, ...] = ()

    def __init__(
        self,
        source_id: str,
        cases: Iterable[SwitchCaseEdgeGroupCase | SwitchCaseEdgeGroupDefault],
        *,
        id: str = "",  # noqa: A002 (the name of the field)
    ) -> None:
        cases = tuple(cases)
        require_two("switch", "cases, the default included,", cases)
        _require_one_default(source_id, cases)
        targets = dict.fromkeys(case.target_id for case in cases)
        edges = tuple(Edge(source_id, target_id) for target_id in targets)
        self.__attrs_init__(edges=edges, id=id, cases=cases)

    @property
    def is_conditional(self) -> bool:
        """Whether the message decides who gets it."""
        return True

    def to_dict(self) -> dict[str, Any]:
        """Return kind, id, edges and cases."""
        return {**super().to_dict(), "cases": [case.to_dict() for case in self.cases]}


def resolved(
    given: Case | Default, target_id: str
) -> SwitchCaseEdgeGroupCase | SwitchCaseEdgeGroupDefault:
    """Return the entry of a switch for one that was given to the builder, by its target's id."""
    if isinstance(given, Default):
        return SwitchCaseEdgeGroupDefault(target_id)
    return SwitchCaseEdgeGroupCase(given.condition, target_id)


def _require_one_default(
    source_id: str, cases: Sequence[SwitchCaseEdgeGroupCase | SwitchCaseEdgeGroupDefault]
) -> None:
    defaults = [isinstance(case, SwitchCaseEdgeGroupDefault) for case in cases]
    if sum(defaults) != 1:
        raise ValueError(
            f"the switch at {source_id!r} has {sum(defaults)} defaults; it needs exactly one, "
            "so that every message has a way to go"
        )
    if not defaults[-1]:
        _log.warning(
            "the default of the switch at %r is not its last case: those behind it never get "
            "a message; put it at the end",
            source_id,
        )
