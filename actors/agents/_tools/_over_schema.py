"""Tools for models whose server ignores ``tools`` but obeys a JSON schema.

Many small servers do: they accept a list of tools and never call one, and yet they can hold a
model to a schema while it writes. So each model turn is asked for one JSON object that is
either the call of a tool or an answer, and what comes back is made a call, or a text, of. The
rest of the pipeline sees calls and results as of any other model.

A turn is read whole before it can be told what it is: such a stream comes in one go.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs

from actors.agents._client._schema_default import schema_of
from actors.agents._middleware._kinds import ChatMiddleware, Next
from actors.agents._tools._collection import tool_name
from protocols._content._item import Content

if TYPE_CHECKING:
    from actors.agents._middleware._contexts import ChatContext
    from protocols._message import Message
    from protocols._responses import ChatResponse

_REF: Final = "#/$defs/"
_HOW: Final = (
    "Reply with one JSON object and nothing else. To use a tool, give its name and arguments: "
    '{"action": {"tool": "<name>", "arguments": {...}}}. You are told the result then, and can '
    "go on. The tools are:"
)
_ANSWER: Final = 'To answer, without a tool: {"action": {"answer": ...}}.'


class ToolsOverJsonSchema(ChatMiddleware):
    """Lets a model call tools by way of a JSON schema; give it to the chat client.

    ``OpenAIChatCompletionClient(..., middleware=[ToolsOverJsonSchema()])``. It stands next to
    the model, so other chat middleware of the client goes in front of it. One call a turn.
    """

    async def process(self, context: ChatContext, call_next: Next) -> None:
        """Ask for JSON instead of calls, and make calls of it."""
        tools, choice = offered(context.options)
        wanted = context.options.get("response_format")
        context.messages = [as_text(message) for message in context.messages]
        context.options.pop("tools", None)
        context.options.pop("tool_choice", None)
        if not tools:
            await call_next()
            return
        may_answer = choice != "required"
        told = [context.options.get("instructions"), instructions(tools, may_answer=may_answer)]
        context.options["instructions"] = "\n\n".join(filter(None, told))
        context.options["response_format"] = action_schema(
            tools, answer=(schema_of(wanted) or {"type": "string"}) if may_answer else None
        )
        context.stream = False
        await call_next()
        context.result = interpreted(context.result, wanted)


# ------------------------------------------------------------------------- asking; pure


def offered(options: Mapping[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """Give the declarations of the tools that may be called now, and the mode of the choice."""
    choice = options.get("tool_choice") or "auto"
    mode = choice.get("mode", "auto") if isinstance(choice, Mapping) else choice
    if mode == "none":
        return [], mode
    found = [_declared(tool) for tool in options.get("tools") or ()]
    only = choice.get("required_function_name") if isinstance(choice, Mapping) else None
    return [one for one in found if one and only in {None, one["name"]}], str(mode)


def _declared(tool: Any) -> dict[str, Any]:
    if isinstance(tool, Mapping):
        return dict(tool.get("function") or {})  # what isn't a function is the service's own
    parameters = tool.parameters() if callable(tool.parameters) else tool.parameters
    return {
        "name": tool_name(tool),
        "description": tool.description or "",
        "parameters": parameters,
    }


def instructions(tools: Sequence[Mapping[str, Any]], *, may_answer: bool) -> str:
    """Tell a model how to call tools."""
    lines = [
        f"- {one['name']}: {one.get('description', '')} "
        f"Arguments: {json.dumps(one.get('parameters', {}).get('properties', {}))}"
        for one in tools
    ]
    return "\n".join([_HOW, *lines, *([_ANSWER] if may_answer else [])])


def action_schema(
    tools: Sequence[Mapping[str, Any]], *, answer: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Give the schema of one action.

    Args:
        tools: the declarations.
        answer: the schema of an answer; None if it has to be a call.
    """
    definitions: dict[str, Any] = {}
    actions = [
        _object(
            tool={"const": one["name"]},
            arguments=_embedded(one.get("parameters") or {"type": "object"}, index, definitions),
        )
        for index, one in enumerate(tools)
    ]
    if answer is not None:
        actions.append(_object(answer=_embedded(answer, len(tools), definitions)))
    schema = _object(action=actions[0] if len(actions) == 1 else {"anyOf": actions})
    return {**schema, "$defs": definitions} if definitions else schema


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _embedded(schema: Mapping[str, Any], index: int, definitions: dict[str, Any]) -> Any:
    """Put a schema inside of another one: its definitions go to the root, under new names."""
    own = dict(schema)
    for name, one in own.pop("$defs", {}).items():
        definitions[f"t{index}_{name}"] = _renamed(one, index)
    return _renamed(own, index)


def _renamed(schema: Any, index: int) -> Any:
    if isinstance(schema, Mapping):
        return {
            key: f"{_REF}t{index}_{value[len(_REF) :]}"
            if key == "$ref" and isinstance(value, str) and value.startswith(_REF)
            else _renamed(value, index)
            for key, value in schema.items()
        }
    return [_renamed(one, index) for one in schema] if isinstance(schema, list) else schema


def as_text(message: Message) -> Message:
    """Write the calls and results in a message as text, in the form that is asked for."""
    if not any(item.type in {"function_call", "function_result"} for item in message.contents):
        return message
    contents = [_as_text(item) for item in message.contents]
    role = "user" if message.role == "tool" else message.role
    return attrs.evolve(message, role=role, contents=contents)


def _as_text(item: Content) -> Content:
    if item.type == "function_call":
        action = {"tool": item.name, "arguments": dict(item.parse_arguments() or {})}
        return Content.from_text(json.dumps({"action": action}))
    if item.type == "function_result":
        return Content.from_text(f"Result of the tool: {item.result}")
    return item


# ---------------------------------------------------------------------- understanding; pure


def interpreted(response: ChatResponse[Any], wanted: Any) -> ChatResponse[Any]:
    """Make a call, or an answer, of what a model wrote.

    What isn't in the form that was asked for is left as it is: a text.

    Args:
        response: the model's.
        wanted: the ``response_format`` of the caller's, for the answer.
    """
    action = _action(response.text)
    if action is None:
        return response
    if "tool" in action:
        call = Content.from_function_call(
            f"call_{uuid.uuid4().hex[:12]}", str(action["tool"]), arguments=action["arguments"]
        )
        said, reason = call, "tool_calls"
    else:
        answer = action["answer"]
        text = answer if isinstance(answer, str) else json.dumps(answer)
        said, reason = Content.from_text(text), response.finish_reason or "stop"
    *before, last = response.messages
    kept = [item for item in last.contents if item.type != "text"]
    return attrs.evolve(
        response,
        messages=[*before, attrs.evolve(last, contents=[*kept, said])],
        finish_reason=reason,
        value=None,
        response_format=wanted,
    )


def _action(text: str) -> Mapping[str, Any] | None:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    action = parsed.get("action") if isinstance(parsed, Mapping) else None
    if not isinstance(action, Mapping):
        return None
    is_call = "tool" in action and isinstance(action.get("arguments"), Mapping)
    return action if is_call or "answer" in action else None
