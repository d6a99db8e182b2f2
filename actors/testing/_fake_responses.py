"""Answers of a fake Responses endpoint: an answer's body, and the events that a stream makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Item = dict[str, Any]
Told = Literal["deltas", "items", "end"]
"""How a stream tells of an item: in deltas, only whole at its end, or only in the last event."""


def message_item(*texts: str, id: str = "msg_1", **fields: Any) -> Item:  # noqa: A002 - the wire's name
    """An output item with texts."""
    content = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {"type": "message", "id": id, "role": "assistant", "content": content} | fields


def call_item(
    name: str,
    arguments: str = "{}",
    *,
    call_id: str = "call_1",
    id: str = "fc_1",  # noqa: A002 - the wire's name
) -> Item:
    """An output item that calls a function."""
    return {
        "type": "function_call",
        "id": id,
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
    }


def response_body(
    *items: Item,
    id: str = "resp_1",  # noqa: A002 - the wire's name
    status: str = "completed",
    usage: Mapping[str, Any] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """A whole answer, as the API has it; usage as input_tokens and output_tokens."""
    return {
        "id": id,
        "object": "response",
        "created_at": 1_700_000_000,
        "model": "fake",
        "status": status,
        "output": list(items),
        "error": None,
        "usage": usage,
    } | fields


def response_events(
    body: Mapping[str, Any], *, told: Told = "deltas", size: int = 4
) -> list[dict[str, Any]]:
    """The events in which a stream tells of an answer.

    Args:
        body: the answer.
        told: how it tells of the items.
        size: characters of a delta.
    """
    begun = {**body, "status": "in_progress", "output": [], "usage": None}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    if told != "end":
        for index, item in enumerate(body["output"]):
            events += _told_of(item, index, told == "deltas", size)
    last = f"response.{body['status']}"
    return [*events, {"type": last, "response": dict(body)}]


def _told_of(item: Item, index: int, in_deltas: bool, size: int) -> Iterator[dict[str, Any]]:
    place = {"output_index": index, "item_id": item.get("id")}
    empty: dict[str, Item] = {"message": {"content": []}, "function_call": {"arguments": ""}}
    begun: Item = {**item, **empty.get(item["type"], {})}
    yield {"type": "response.output_item.added", "output_index": index, "item": begun}
    if in_deltas:
        yield from _deltas(item, place, size)
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _deltas(item: Item, place: dict[str, Any], size: int) -> Iterator[dict[str, Any]]:
    match item["type"]:
        case "function_call":
            kind = "response.function_call_arguments"
            yield from _in_pieces(kind, item["arguments"], place, size, "arguments")
        case "message":
            for part in item["content"]:
                yield from _text_deltas(part, place, size)
        case "reasoning":
            for part in item.get("summary", ()):
                kind = "response.reasoning_summary_text"
                yield from _in_pieces(kind, part["text"], place, size, "text")
        case _:
            pass  # told whole


def _text_deltas(
    part: Mapping[str, Any], place: dict[str, Any], size: int
) -> Iterator[dict[str, Any]]:
    name = "refusal" if "refusal" in part else "text"
    kind = "response.refusal" if name == "refusal" else "response.output_text"
    yield from _in_pieces(kind, part[name], place, size, name)
    for annotation in part.get("annotations", ()):
        yield {"type": f"{kind}.annotation.added", **place, "annotation": annotation}


def _in_pieces(
    kind: str, text: str, place: dict[str, Any], size: int, name: str
) -> Iterator[dict[str, Any]]:
    for at in range(0, len(text), size):
        yield {"type": f"{kind}.delta", **place, "delta": text[at : at + size]}
    yield {"type": f"{kind}.done", **place, name: text}
