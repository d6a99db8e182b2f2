"""``Message``: what one participant said, and what counts as input of an agent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NewType, TypeAlias

from attrs import field, frozen

from protocols._content._item import Content, text_item
from protocols._dict_form import DictForm
from protocols._frozen import (
    EMPTY_DICT,
    EMPTY_LIST,
    FrozenDict,
    FrozenList,
    freeze_mapping,
    says_how_to_change,
)
from protocols._quick_init import quickly_made

RoleLiteral: TypeAlias = Literal["system", "user", "assistant", "tool"]
"""The roles that every service knows."""
Role = NewType("Role", str)
"""For annotations: any text can be a role."""

ContentInput: TypeAlias = "Content | str | Mapping[str, Any] | None"


def to_contents(given: Iterable[ContentInput] | ContentInput) -> FrozenList[Content]:
    """Make content items of whatever may stand for some; None is skipped.

    A bare string, item or mapping counts as a list with one item.

    Raises:
        TypeError: that can't be content.
        ValueError: a mapping without a ``type``.
    """
    # Messages are made by the thousand, nearly all of a short list: that case comes first.
    if isinstance(given, list):
        return FrozenList(
            [
                item if type(item) is Content else _to_content(item)
                for item in given
                if item is not None
            ]
        )
    if given is None:
        return EMPTY_LIST
    if isinstance(given, (str, Content, Mapping)):
        return FrozenList((_to_content(given),))
    if type(given) is FrozenList and all(type(item) is Content for item in given):
        return given
    return FrozenList([_to_content(item) for item in given if item is not None])


def _to_content(item: Content | str | Mapping[str, Any]) -> Content:
    if isinstance(item, str):
        return text_item(item)
    if isinstance(item, Content):
        return item
    if isinstance(item, Mapping):
        return Content.from_dict(item)
    raise TypeError(
        f"a message holds Content, str or mappings, not {type(item).__name__}: "
        "wrap it, for example with Content.from_text(str(value))"
    )


@quickly_made
@says_how_to_change
@frozen
class Message(DictForm):
    """What one participant of a conversation said; immutable: change a copy, with ``evolve``.

    Args:
        role: ``"user"``, ``"assistant"``, ``"system"``, ``"tool"``, or another one that the
            service knows.
        contents: content items, strings (one text each) or mappings; None items are skipped.
        author_name: who said it.
        message_id: the service's or the sender's id.
        additional_properties: metadata that is never sent to a model.
        raw_representation: the provider's object, by reference; never serialised or compared.
    """

    role: str
    contents: FrozenList[Content] = field(default=None, converter=to_contents)
    author_name: str | None = field(default=None, kw_only=True)
    message_id: str | None = field(default=None, kw_only=True)
    additional_properties: FrozenDict[str, Any] = field(
        default=EMPTY_DICT, converter=freeze_mapping, kw_only=True
    )
    raw_representation: Any = field(default=None, kw_only=True, eq=False, repr=False)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # its contents are unhashable

    @property
    def text(self) -> str:
        """The texts of its text items, joined with a space."""
        return " ".join([item.text or "" for item in self.contents if item.type == "text"])


AgentRunInputs: TypeAlias = "str | Content | Message | Sequence[str | Content | Message]"


def normalize_messages(messages: AgentRunInputs | None) -> list[Message]:
    """Make a list of messages of everything that a run takes as its input.

    Strings and content items become a user message each.

    Raises:
        TypeError: something that can't be a message.
    """
    if messages is None:
        return []
    if isinstance(messages, str | Content | Message):
        return [_to_message(messages)]
    return [_to_message(item) for item in messages]


def _to_message(item: str | Content | Message) -> Message:
    if isinstance(item, Message):
        return item
    if isinstance(item, str | Content):
        return Message("user", [item])
    raise TypeError(
        f"input of an agent is str, Content, Message or a sequence of these, not "
        f"{type(item).__name__}"
    )


def prepend_instructions_to_messages(
    messages: Sequence[Message],
    instructions: str | Sequence[str] | None,
    role: str = "system",
) -> list[Message]:
    """Return the messages with the instructions in front, a message of ``role`` for each."""
    if instructions is None:
        return list(messages)
    if isinstance(instructions, str):
        instructions = [instructions]
    return [*(Message(role, [text]) for text in instructions), *messages]
