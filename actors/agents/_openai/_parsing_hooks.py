"""What a user of a Chat Completions endpoint may say about messages that it has made its own; pure.

Some servers put more into a message than the API knows, and want it back. A parser reads it into
content, a preparer writes it out again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from protocols._content._item import Content
from protocols._message import Message

OpenAIChatResponseContentsParser: TypeAlias = Callable[[Any, list[Content]], Sequence[Content]]
"""Given a message of an answer, or a delta of one, and what was read of it: gives what it holds."""

OpenAIChatMessagePreparer: TypeAlias = Callable[
    [Message, list[dict[str, Any]]], Sequence[dict[str, Any]]
]
"""Given a message, and what would be sent for it: gives what is to be sent."""


class WirePart(dict[str, Any]):
    """A message or delta as it came, whose fields are attributes, too; one that isn't there is None."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _opened(self.get(name))

    @property
    def model_extra(self) -> dict[str, Any]:
        """All fields, where OpenAI's own objects have those that their class doesn't know."""
        return self


def parsed(
    parser: OpenAIChatResponseContentsParser | None,
    part: Mapping[str, Any],
    contents: list[Content],
) -> list[Content]:
    """Give what a message or delta holds, by the parser's word if there is one."""
    return contents if parser is None else list(parser(WirePart(part), contents))


def _opened(value: Any) -> Any:
    if isinstance(value, Mapping):
        return WirePart(value)
    return [_opened(one) for one in value] if isinstance(value, list) else value
