"""Whether a content item answers what an agent has asked: a pure decision."""

from __future__ import annotations

from typing import Final

from protocols._content._item import Content

_ANSWERS: Final = frozenset({"function_approval_response", "function_result"})


def wrong_answer(asked: object, answer: object) -> str | None:
    """Return what is wrong with an answer; None if it may be one.

    Anything else would reach the agent as something new that is said to it, and what it has asked
    would stay open.

    Args:
        asked: what an agent wanted to know.
        answer: what is given for it.
    """
    if not isinstance(asked, Content) or not isinstance(answer, Content):
        return None
    if asked.type != "function_approval_request":  # an agent may take anything for a result
        return None
    if answer.type not in _ANSWERS:
        return (
            f"a {answer.type} answers no {asked.type}: give "
            "request.data.to_function_approval_response(True), or with False"
        )
    call = getattr(asked, "function_call", None)
    known = {asked.id, asked.call_id, None if call is None else call.call_id, None}
    given = answer.call_id if answer.type == "function_result" else answer.id
    return None if given in known else f"this is the answer to {given!r}"
