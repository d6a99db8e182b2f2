"""Questions to people: what is asked, what is recorded of it, and what an answer leads to.

Nothing here waits. A question is recorded in the session before anybody can see it.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from actors.agents._agent._run_link import RunLink
from actors.agents._loop._invoke import Outcome, Planned
from actors.agents._loop._pending import (
    REQUEST,
    RESPONSE,
    Decision,
    Pending,
    PendingCall,
    Question,
    is_hosted,
)
from protocols._content._item import Content
from protocols._message import Message

PATH_KEY: Final = "path"
"""In a request's ``additional_properties``: the agents and calls through which it came."""

_REJECTED: Final = "The user rejected this call, so it was not made."
_LOG: Final = logging.getLogger("actors.agents")


@attrs.frozen
class Resume:
    """What an agent that is used as a tool needs to go on.

    Args:
        session: what there is of its session.
        messages: the answers to what it has asked, in its own terms.
    """

    session: Mapping[str, Any]
    messages: Sequence[Message]


@attrs.frozen
class Desk:
    """Where one run's questions go out, and answers come in.

    Args:
        link: to the run.
    """

    link: RunLink

    @property
    def pending(self) -> Pending:
        """What the session has on record; nothing without a session."""
        session = self.link.session
        return Pending(None if session is None else session.state)

    # ---------------------------------------------------------------------- going out

    def ask_approval(self, call: Content, *, order: int, batch: str) -> Content:
        """Ask whether a call may be made."""
        return self._asked(Outcome(Planned(call, order), call), batch)[0]

    def ask_for_tool(self, outcome: Outcome, *, batch: str) -> list[Content]:
        """Ask what a tool needs to know before it has a result."""
        return self._asked(outcome, batch)

    def _asked(self, outcome: Outcome, batch: str) -> list[Content]:
        planned = outcome.planned
        call = PendingCall(
            occurrence=planned.occurrence or uuid.uuid4().hex,
            call=planned.call,
            batch=batch,
            order=planned.order,
            inner_session=outcome.inner_session,
        )
        questions = [
            Question(request=request, occurrence=call.occurrence, inner=inner)
            for request, inner in self._requests(outcome)
        ]
        ours = [one for one in questions if one.inner is not None or _is_approval(one.request)]
        if ours and (self.link.session is None or not self.link.is_lasting):
            _LOG.warning(
                "a call of %s waits for a person, and without a session nothing remembers it, so "
                "the answer will be ignored: pass session= to run()",
                planned.call.name,
            )
        if ours:
            self.pending.add(call, ours)
        return [one.request for one in questions]

    def _requests(self, outcome: Outcome) -> list[tuple[Content, Content | None]]:
        call = outcome.planned.call
        if not outcome.asks:
            path = [self._name, call.name or ""]
            request = Content.from_function_approval_request(
                uuid.uuid4().hex, call, additional_properties={PATH_KEY: path}
            )
            return [(request, None)]
        if outcome.inner_session is None:
            return [(_of_call(ask, call), None) for ask in outcome.asks]
        return [(self._passed_on(ask, call), ask) for ask in outcome.asks]

    def _passed_on(self, ask: Content, call: Content) -> Content:
        """Give a question of an inner agent as ours: the same, with a longer path."""
        path = ask.additional_properties.get(PATH_KEY) or [ask.name or ""]
        properties = {**ask.additional_properties, PATH_KEY: [self._name, call.call_id, *path]}
        asked = attrs.evolve(ask, additional_properties=properties)
        return asked if _is_approval(ask) else _of_call(asked, call)

    @property
    def _name(self) -> str:
        agent = self.link.agent
        return "" if agent is None else str(agent.name or agent.id)

    # ---------------------------------------------------------------------- coming in

    def accepted(self, decisions: Sequence[Decision], *, bound: bool) -> list[Decision]:
        """Use decisions up, and give those that nobody else has used; in call order.

        Args:
            decisions: what people have decided.
            bound: whether there has to be a record of it.
        """
        pending = self.pending
        mine = [one for one in decisions if not bound or pending.take(one)]
        return sorted(mine, key=lambda one: (one.call.batch, one.call.order))

    def open_requests(self, decisions: Sequence[Decision]) -> list[Content]:
        """Give what is still to be answered about the batches that these are about."""
        batches = dict.fromkeys(one.call.batch for one in decisions)
        pending = self.pending
        return [one.request for batch in batches for one in pending.questions(batch=batch)]


def _is_approval(item: Content) -> bool:
    return item.type == REQUEST and not is_hosted(item)


def _of_call(ask: Content, call: Content) -> Content:
    """Give a question as one of this call's."""
    if _is_approval(ask):
        return ask if ask.id else attrs.evolve(ask, id=uuid.uuid4().hex)
    data = ask.to_dict() | {"call_id": call.call_id, "user_input_request": True}
    return Content.from_dict(data | {"id": ask.id or uuid.uuid4().hex})


# ------------------------------------------------------------------------- what follows


def planned_of(decisions: Sequence[Decision]) -> list[Planned]:
    """Give the calls that decisions lead to; a call that several are about once."""
    found: dict[str, list[Decision]] = {}
    for one in decisions:
        found.setdefault(one.call.occurrence, []).append(one)
    return [_planned(those) for those in found.values()]


def _planned(decisions: Sequence[Decision]) -> Planned:
    call = decisions[0].call
    if call.inner_session is None:
        answer = decisions[0].answer
        return Planned(call.call, call.order, call.occurrence, approval=answer)
    messages = [_for_inner(one) for one in decisions]
    resume = Resume(call.inner_session, messages)
    return Planned(call.call, call.order, call.occurrence, resume=resume)


def _for_inner(decision: Decision) -> Message:
    inner = decision.question.inner
    assert inner is not None
    if inner.type == REQUEST:
        return Message("user", [inner.to_function_approval_response(decision.approved)])
    answer = decision.answer
    result = Content.from_function_result(
        inner.call_id or "", items=answer.items, exception=answer.exception
    )
    return Message("tool", [result])


def is_refusal(decision: Decision) -> bool:
    """Say whether a decision is that a call of ours isn't made."""
    return decision.call.inner_session is None and not decision.approved


def refusal(decision: Decision) -> Outcome:
    """Give the outcome of a call that a person has rejected."""
    call = decision.call
    result = Content.from_function_result(call.call.call_id or "", result=_REJECTED)
    return Outcome(Planned(call.call, call.order, call.occurrence), result)


def says_something(messages: Sequence[Message], decisions: Sequence[Decision]) -> bool:
    """Say whether messages have more to them than answers."""
    answers = {id(one.answer) for one in decisions}
    items = (item for message in messages for item in message.contents)
    return any(id(item) not in answers and item.type != RESPONSE for item in items)
