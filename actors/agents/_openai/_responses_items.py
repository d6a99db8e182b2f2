"""From the output items of the Responses API to contents; no I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from actors.agents._openai._responses_input import SERVER_LABEL
from protocols._content._item import Content
from protocols._content._media_types import detect_media_type_from_base64

if TYPE_CHECKING:
    from actors.agents._openai._calls import CallSlots
    from protocols._content._fields import Annotation

Item = Mapping[str, Any]
_IMAGE: Final = "image/png"


def contents_of(item: Item, index: int, calls: CallSlots) -> list[Content]:
    """Read a complete item.

    Args:
        item: as the service sent it.
        index: its place in the output.
        calls: gives calls their identity.

    Returns:
        What it holds; nothing for an item that only the service has a use for.
    """
    kind = item.get("type")
    if kind == "function_call":
        return calls.take([call_of(item, index)])
    read = _READERS.get(str(kind))
    return [] if read is None else list(read(item))


def call_of(item: Item, index: int, arguments: str | None = None) -> dict[str, Any]:
    """A call in the form that `CallSlots` takes.

    Args:
        item: the item of the call, or what is known of it.
        index: its place in the output.
        arguments: those to take in place of the item's own.
    """
    given = item.get("arguments") if arguments is None else arguments
    function = {"name": item.get("name"), "arguments": given}
    call_id = item.get("call_id") or item.get("id")
    return {"index": index, "id": call_id, "item_id": item.get("id"), "function": function}


def annotation_of(wire: Mapping[str, Any]) -> Annotation:
    """A citation in our form; what only this API says of it is kept beside."""
    found: Annotation = {"type": "citation"}
    if title := _text(wire.get("title")) or _text(wire.get("filename")):
        found["title"] = title
    if url := _text(wire.get("url")):
        found["url"] = url
    if file_id := _text(wire.get("file_id")):
        found["file_id"] = file_id
    if kind := _text(wire.get("type")):
        found["additional_properties"] = {"annotation_type": kind} | {
            k: wire[k] for k in ("container_id", "index") if wire.get(k) is not None
        }
    start, end = wire.get("start_index"), wire.get("end_index")
    if isinstance(start, int) and isinstance(end, int):
        found["annotated_regions"] = [
            {"type": "text_span", "start_index": start, "end_index": end}
        ]
    return found


def reasoning_of(item: Item, text: str | None) -> Content:
    """A piece of reasoning: its text, and the sealed form that the service gave it."""
    sealed = _text(item.get("encrypted_content")) or None
    return Content.from_text_reasoning(
        id=_text(item.get("id")) or None, text=text, protected_data=sealed
    )


def reasoning_text(item: Item) -> str:
    """What an item of reasoning says: its own words, else the summary."""
    return _joined(item.get("content")) or _joined(item.get("summary"))


def _message(item: Item) -> Iterator[Content]:
    for part in _mappings(item.get("content")):
        text = _text(part.get("text")) or _text(part.get("refusal"))
        annotations = [annotation_of(a) for a in _mappings(part.get("annotations"))]
        if text or annotations:
            yield Content.from_text(text, annotations=annotations or None)


def _reasoning(item: Item) -> Iterator[Content]:
    text = reasoning_text(item)
    if text or item.get("encrypted_content"):
        yield reasoning_of(item, text or None)


def _code(item: Item) -> Iterator[Content]:
    call_id = _text(item.get("id"))
    code = Content.from_text(_text(item.get("code")))
    yield Content.from_code_interpreter_tool_call(call_id=call_id, inputs=[code])
    outputs: list[Content] = []
    for output in _mappings(item.get("outputs")):
        if output.get("type") == "logs":
            outputs.append(Content.from_text(_text(output.get("logs"))))
        elif url := _text(output.get("url")):
            outputs.append(Content.from_uri(url, media_type=_IMAGE))
    yield Content.from_code_interpreter_tool_result(call_id=call_id, outputs=outputs)


def _image(item: Item) -> Iterator[Content]:
    image_id = _text(item.get("id"))
    yield Content.from_image_generation_tool_call(image_id=image_id)
    if data := _text(item.get("result")):
        yield image_of(image_id, data)


def image_of(image_id: str, data: str, **extra: Any) -> Content:
    """An image, or a first sketch of it, as the service sends it: base64, or a data URI."""
    kind = _IMAGE
    if not data.startswith("data:"):
        with suppress(ValueError):  # what is no base64 is shown as it came
            kind = detect_media_type_from_base64(data_str=data) or _IMAGE
        data = f"data:{kind};base64,{data}"
    image = Content.from_uri(data, media_type=kind, additional_properties=extra or None)
    return Content.from_image_generation_tool_result(
        image_id=image_id, outputs=image, additional_properties=extra or None
    )


def _search(item: Item) -> Iterator[Content]:
    call_id, kind = _text(item.get("id")), _text(item.get("type"))
    name, status = kind.removesuffix("_call"), _text(item.get("status")) or None
    asked = item.get("action") or {"queries": item.get("queries")}
    yield Content.from_search_tool_call(call_id, tool_name=name, arguments=asked, status=status)
    yield Content.from_search_tool_result(
        call_id, tool_name=name, result=item.get("results"), status=status
    )


def _mcp(item: Item) -> Iterator[Content]:
    call_id = _text(item.get("id"))
    yield Content.from_mcp_server_tool_call(
        call_id,
        _text(item.get("name")),
        server_name=_text(item.get("server_label")) or None,
        arguments=item.get("arguments"),
    )
    answer = item.get("output")
    if answer is None and item.get("error") is not None:
        answer = item["error"]
    if answer is not None:
        output = [Content.from_text(answer if isinstance(answer, str) else str(answer))]
        yield Content.from_mcp_server_tool_result(call_id, output=output)


def _mcp_approval(item: Item) -> Iterator[Content]:
    request_id = _text(item.get("id"))
    call = Content.from_function_call(
        request_id,
        _text(item.get("name")),
        arguments=item.get("arguments"),
        additional_properties={SERVER_LABEL: item.get("server_label")},
    )
    yield Content.from_function_approval_request(request_id, call)


def _shell(item: Item) -> Iterator[Content]:
    action = item.get("action")
    action = action if isinstance(action, Mapping) else {}
    commands = action.get("commands") or action.get("command") or ()
    yield Content.from_shell_tool_call(
        call_id=_text(item.get("call_id")) or _text(item.get("id")),
        commands=[str(command) for command in commands],
        timeout_ms=action.get("timeout_ms"),
        max_output_length=action.get("max_output_length"),
        status=_text(item.get("status")) or None,
    )


def _shell_output(item: Item) -> Iterator[Content]:
    outputs = [_command_output(output) for output in _mappings(item.get("output"))]
    yield Content.from_shell_tool_result(
        call_id=_text(item.get("call_id")),
        outputs=outputs,
        max_output_length=item.get("max_output_length"),
    )


def _command_output(output: Item) -> Content:
    outcome = output.get("outcome")
    outcome = outcome if isinstance(outcome, Mapping) else {}
    return Content.from_shell_command_output(
        stdout=_text(output.get("stdout")),
        stderr=_text(output.get("stderr")),
        exit_code=outcome.get("exit_code"),
        timed_out=outcome.get("type") == "timeout",
    )


_READERS: Final[dict[str, Callable[[Item], Iterator[Content]]]] = {
    "message": _message,
    "reasoning": _reasoning,
    "code_interpreter_call": _code,
    "image_generation_call": _image,
    "web_search_call": _search,
    "file_search_call": _search,
    "mcp_call": _mcp,
    "mcp_approval_request": _mcp_approval,
    "shell_call": _shell,
    "local_shell_call": _shell,
    "shell_call_output": _shell_output,
}


def _joined(parts: object) -> str:
    return "\n".join(text for part in _mappings(parts) if (text := _text(part.get("text"))))


def _mappings(value: object) -> list[Mapping[str, Any]]:
    return [v for v in value if isinstance(v, Mapping)] if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
