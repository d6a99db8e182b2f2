"""Calls that wait for a person, and what the person's answer may do; pure.

The rule that everything here serves: *a call runs because a recorded request was answered, and
never because of anything that stands in a message.* A message is what somebody sent us; it may
be forged, altered, repeated, or meant for another conversation. So the call itself, with its
arguments, is recorded in the session when it is made; an answer names the request by its id,
which is unique and used once; and what runs is what was recorded.

The record is plain data in the session's state: it survives a restart of the process with the
session, and a session that rolls back takes it along.

A call of an agent that is used as a tool may wait for questions of that agent's. They are asked
under the same ids at each level; the record of a level says which of its calls an answer goes
to, and holds the inner agent's session, in which the inner record stands.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs

from protocols._content._item import Content

if TYPE_CHECKING:
    from protocols._message import Message

PENDING_KEY: Final = "pending_tool_calls"
"""Where in a session's state the record stands."""

REQUEST: Final = "function_approval_request"
RESPONSE: Final = "function_approval_response"

_LOG: Final = logging.getLogger("actors.agents")


@attrs.frozen(kw_only=True)
class PendingCall:
    """A call that waits for a person.

    Args:
        occurrence: unique; call ids aren't, services use them again.
        call: as the model made it.
        batch: the model turn that it is from.
        order: its place among the calls of that turn.
        inner_session: what there is of the session of the agent that it called, if that waits.
    """

    occurrence: str
    call: Content
    batch: str
    order: int
    inner_session: Mapping[str, Any] | None = None


@attrs.frozen(kw_only=True)
class Question:
    """What a person was asked about a call.

    Args:
        request: as the person sees it; its id is the question's.
        occurrence: of the call.
        inner: the request as the agent that was called has asked it, if it wasn't us.
    """

    request: Content
    occurrence: str
    inner: Content | None = None

    @property
    def id(self) -> str:
        """The id that an answer has to name."""
        return self.request.id or ""


@attrs.frozen(kw_only=True)
class Decision:
    """An answer, together with what it was asked about."""

    question: Question
    call: PendingCall
    answer: Content

    @property
    def approved(self) -> bool:
        """Whether the call may be made."""
        return self.answer.approved is True


class Pending:
    """The record of one session.

    Args:
        state: the session's state; None where there is no session, and nothing is recorded.
    """

    def __init__(self, state: MutableMapping[str, Any] | None) -> None:
        self._state = state

    @property
    def _record(self) -> Mapping[str, Any]:
        return (self._state or {}).get(PENDING_KEY) or {}

    def __bool__(self) -> bool:
        return bool(self._record)

    def question(self, request_id: str | None) -> Question | None:
        """Give an open question."""
        data = self._record.get("questions", {}).get(request_id)
        return None if data is None else _question(data)

    def call(self, occurrence: str) -> PendingCall:
        """Give a call that waits."""
        data = self._record["calls"][occurrence]
        return PendingCall(**{**data, "call": Content.from_dict(data["call"])})

    def questions(self, *, batch: str | None = None) -> list[Question]:
        """Give the open questions, of one batch or of all."""
        calls = self._record.get("calls", {})
        return [
            _question(data)
            for data in self._record.get("questions", {}).values()
            if batch is None or calls[data["occurrence"]]["batch"] == batch
        ]

    def add(self, call: PendingCall, questions: Iterable[Question]) -> None:
        """Record a call and what is asked about it; again, to replace what was recorded."""
        if self._state is None:
            return
        calls = dict(self._record.get("calls", {}))
        asked = dict(self._record.get("questions", {}))
        calls[call.occurrence] = {**attrs.asdict(call, recurse=False), "call": call.call.to_dict()}
        for one in questions:
            inner = None if one.inner is None else one.inner.to_dict()
            data = {"request": one.request.to_dict(), "occurrence": one.occurrence, "inner": inner}
            asked[one.id] = data
        self._state[PENDING_KEY] = {"calls": calls, "questions": asked}

    def take(self, decision: Decision) -> bool:
        """Use a decision up: its question is closed. False if that has happened already."""
        if self._state is None or self.question(decision.question.id) is None:
            return False
        asked = dict(self._record["questions"])
        del asked[decision.question.id]
        waiting = {data["occurrence"] for data in asked.values()}
        calls = {key: data for key, data in self._record["calls"].items() if key in waiting}
        if asked:
            self._state[PENDING_KEY] = {"calls": calls, "questions": asked}
        else:
            del self._state[PENDING_KEY]
        return True


def _question(data: Mapping[str, Any]) -> Question:
    inner = data["inner"]
    return Question(
        request=Content.from_dict(data["request"]),
        occurrence=data["occurrence"],
        inner=None if inner is None else Content.from_dict(inner),
    )


# --------------------------------------------------------------------------- binding


def is_hosted(item: Content) -> bool:
    """Say whether an approval is the service's own business, which we pass through."""
    call = item.function_call
    properties = call.additional_properties if call is not None else {}
    return "server_label" in properties or bool(properties.get("hosted"))


def is_ours(item: Content) -> bool:
    """Say whether an item is about an approval that we ask for."""
    return item.type in {REQUEST, RESPONSE} and not is_hosted(item)


def has_approvals(messages: Iterable[Message]) -> bool:
    """Say whether anything in these messages is about approvals of ours."""
    return any(is_ours(item) for message in messages for item in message.contents)


def bind(messages: Sequence[Message], pending: Pending) -> tuple[list[Message], list[Decision]]:
    """Find out what people have decided.

    Args:
        messages: the new input.
        pending: what is recorded.

    Returns:
        The messages without answers that answer nothing, and the decisions. Each question is
        decided once, by its first answer.
    """
    decisions: dict[str, Decision] = {}
    kept = [_bound(message, pending, decisions) for message in messages]
    return [one for one in kept if one is not None], list(decisions.values())


def _bound(message: Message, pending: Pending, decisions: dict[str, Decision]) -> Message | None:
    contents = []
    for item in message.contents:
        question = _asked(item, pending)
        if question is None or question.id in decisions:
            if item.type == RESPONSE and not is_hosted(item):
                _warn(item, question)
                continue
            contents.append(item)
            continue
        call = pending.call(question.occurrence)
        decisions[question.id] = Decision(question=question, call=call, answer=item)
        if item.type == RESPONSE:
            contents.append(item)
    if len(contents) == len(message.contents):
        return message
    return attrs.evolve(message, contents=contents) if contents else None


def _asked(item: Content, pending: Pending) -> Question | None:
    if item.type == RESPONSE and not is_hosted(item):
        return pending.question(item.id)
    if item.type == "function_result" and pending:
        # A result for a call of an agent that waits for one itself.
        for question in pending.questions():
            is_result = question.inner is not None and question.inner.type == "function_call"
            if is_result and item.call_id == question.request.call_id:
                return question
    return None


def _warn(item: Content, question: Question | None) -> None:
    if question is not None:
        _LOG.warning("approval %s is given twice; the second answer is ignored", item.id)
        return
    _LOG.warning(
        "approval %s answers no open request of this session, so it is ignored and nothing runs. "
        "Pass the session in which the request was made; a request can be answered once",
        item.id,
    )


def unbound(messages: Sequence[Message]) -> list[Decision]:
    """Take answers for what they say, recorded or not: for hosts that keep their own record."""
    found = {}
    for index, item in enumerate(item for one in messages for item in one.contents):
        if item.type == RESPONSE and is_ours(item) and item.function_call is not None:
            call = PendingCall(
                occurrence=f"unbound {item.id}", call=item.function_call, batch="", order=index
            )
            request = Content(REQUEST, id=item.id, function_call=item.function_call)
            question = Question(request=request, occurrence=call.occurrence)
            found[item.id] = Decision(question=question, call=call, answer=item)
    results = {
        item.call_id for one in messages for item in one.contents if item.type == "function_result"
    }
    return [one for one in found.values() if one.call.call.call_id not in results]
