"""What becomes of the calls of a model turn, and when the loop ends; pure."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs

from actors.agents._loop._pending import has_approvals
from protocols._content._item import Content

if TYPE_CHECKING:
    from actors.agents._client._chat_call import ChatCall

BUDGET_KEY: Final = "_function_invocation_budget_state"
"""In a client's ``client_kwargs``: a dict that several loops count in, who share their limits."""

FALLBACK: Final = (
    "I stopped here: the limit of what may be done with tools for one request is reached."
)
"""What is answered if the model calls tools although it can't have any more."""


def needs_loop(call: ChatCall, config: Mapping[str, Any]) -> bool:
    """Say whether a call can come to tools at all."""
    if call.options.get("tools") or config["additional_tools"] or call.injects:
        return True
    return (call.link is not None and bool(call.link.decisions)) or has_approvals(call.messages)


def without_budget(call: ChatCall) -> ChatCall:
    """Take out of a call what is meant for the loop, and not for the model's client."""
    if BUDGET_KEY not in call.client_kwargs:
        return call
    kwargs = {key: value for key, value in call.client_kwargs.items() if key != BUDGET_KEY}
    return attrs.evolve(call, client_kwargs=kwargs)


@attrs.frozen
class Sorted:
    """The calls of one model turn, by what has to be done about them; each in call order."""

    run: tuple[Content, ...] = ()
    approve: tuple[Content, ...] = ()
    declared: tuple[Content, ...] = ()
    unknown: tuple[Content, ...] = ()


def sort_calls(calls: Sequence[Content], tools: Mapping[str, Any], declared: set[str]) -> Sorted:
    """Tell apart which calls can be made, need a person, are the caller's, or mean nothing.

    Args:
        calls: of one turn.
        tools: what we have, by name.
        declared: names of tools that a service was told of in its own form.
    """
    found: dict[str, list[Content]] = {"run": [], "approve": [], "declared": [], "unknown": []}
    for call in calls:
        found[_fate(tools.get(call.name or ""), call.name in declared)].append(call)
    return Sorted(**{fate: tuple(those) for fate, those in found.items()})


def _fate(tool: Any, is_declared: bool) -> str:
    if tool is None:
        return "declared" if is_declared else "unknown"
    if tool.declaration_only:
        return "declared"
    return "approve" if tool.approval_mode == "always_require" else "run"


@attrs.define
class Limits:
    """How far a loop has got, and how far it may go.

    Args:
        config: the client's ``FunctionInvocationConfiguration``, normalised.
        started: when the loop began, in seconds of trio's clock.
        budget: what several loops have used together, if they share their limits; counted on in
            here. It is the caller's, who gives it to each of them.
        turns: of this loop.
        executions: of calls, those of earlier loops included.
        errors_in_a_row: batches with an error, those of earlier loops included.
    """

    config: Mapping[str, Any]
    started: float
    budget: MutableMapping[str, Any] = attrs.field(factory=dict)
    turns: int = 0
    executions: int = 0
    errors_in_a_row: int = 0
    _turns_before: int = attrs.field(init=False, default=0)

    def __attrs_post_init__(self) -> None:
        budget = self.budget
        self.started = min(self.started, budget.setdefault("start_time", self.started))
        self._turns_before = budget.get("attempt_count", 0)
        self.executions = budget.get("total_function_calls", 0)
        self.errors_in_a_row = budget.get("errors_in_a_row", 0)

    @property
    def deadline(self) -> float:
        """When the time for tools is over."""
        seconds = self.config["max_duration_seconds"]
        return float("inf") if seconds is None else self.started + seconds

    def count_turn(self) -> None:
        """Count a turn of the model."""
        self.turns += 1
        self.budget["attempt_count"] = self._turns_before + self.turns

    def count(self, *, calls: int, errors: int) -> None:
        """Count a batch of calls that were made."""
        self.executions += calls
        self.errors_in_a_row = self.errors_in_a_row + 1 if errors else 0
        self.budget["total_function_calls"] = self.executions
        self.budget["errors_in_a_row"] = self.errors_in_a_row

    def reached(self, now: float) -> bool:
        """Say whether the next turn has to do without tools."""
        most = self.config["max_function_calls"]
        return (
            self._turns_before + self.turns >= self.config["max_iterations"]
            or (most is not None and self.executions >= most)
            or (
                self.errors_in_a_row > 0
                and self.errors_in_a_row >= self.config["max_consecutive_errors_per_request"]
            )
            or now >= self.deadline
        )


def next_options(
    options: Mapping[str, Any],
    *,
    tools: Sequence[Any],
    turn: int,
    without_tools: bool,
    conversation_id: str | None,
) -> dict[str, Any]:
    """Give the chat options of a turn.

    Args:
        options: of the run.
        tools: that there are now.
        turn: which one it is, from 0.
        without_tools: whether a limit was reached.
        conversation_id: under which the service keeps the conversation.
    """
    found = dict(options)
    if tools:
        found["tools"] = list(tools)
    else:
        found.pop("tools", None)
    if without_tools:
        found["tool_choice"] = "none"
    elif turn > 0 and _is_required(found.get("tool_choice")):
        # Or the model could never answer.
        del found["tool_choice"]
    if not tools and not without_tools and found.get("tool_choice") in {"auto", "required"}:
        del found["tool_choice"]  # services refuse a choice between nothing
    if conversation_id is not None:
        found["conversation_id"] = conversation_id
    return found


def _is_required(choice: Any) -> bool:
    mode = choice.get("mode") if isinstance(choice, Mapping) else choice
    return bool(mode == "required")
