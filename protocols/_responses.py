"""Responses of chat clients and agents, and the updates that a stream of one is made of."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, cast

import attrs
from attrs import field, frozen

from protocols._content._item import Content
from protocols._dict_form import DictForm
from protocols._frozen import (
    EMPTY_DICT,
    EMPTY_LIST,
    FrozenDict,
    FrozenList,
    freeze_mapping,
    freeze_optional,
    says_how_to_change,
)
from protocols._message import Message, to_contents
from protocols._quick_init import quickly_made
from protocols._structured import parse_value
from protocols._usage import UsageDetails

if TYPE_CHECKING:
    # Only a type checker knows that the parameter may be left out; 3.13 has it in typing.
    from typing_extensions import TypeVar

    from protocols._aggregate import Aggregate

    ValueT = TypeVar("ValueT", default=Any)
else:
    from typing import TypeVar

    ValueT = TypeVar("ValueT")


def to_messages(
    given: Iterable[Message | Mapping[str, Any]] | Message | Mapping[str, Any] | None,
) -> FrozenList[Message]:
    """Make a frozen list of one message or several, each given as itself or in dict form.

    Raises:
        TypeError: that is no message.
    """
    if given is None:
        return EMPTY_LIST
    # Asking whether something is a mapping is dear, so the common case comes first.
    if not isinstance(given, list) and isinstance(given, Message | Mapping):
        return FrozenList((_to_message(given),))
    return FrozenList([_to_message(item) for item in given])


def _to_message(item: Message | Mapping[str, Any]) -> Message:
    if isinstance(item, Message):
        return item
    if isinstance(item, Mapping):
        return Message.from_dict(item)
    raise TypeError(f"a response is made of Message objects, not {type(item).__name__}")


def _to_usage(given: UsageDetails | Mapping[str, Any] | None) -> UsageDetails | None:
    return cast("UsageDetails | None", freeze_optional(cast("Mapping[str, Any] | None", given)))


def _that_wait(contents: Iterable[Content]) -> list[Content]:
    # Asked of each update. Few items have any of the rarer fields at all.
    found: list[Content] = []
    for item in contents:
        if item._rest and item.user_input_request:  # noqa: SLF001
            found.append(item)  # noqa: PERF401  (a comprehension makes a function first)
    return found


def _new_aggregate() -> Aggregate:
    # On use: most programs that make updates join them, but many make none.
    from protocols._aggregate import Aggregate

    return Aggregate()


def _field_names(cls: type[Any]) -> frozenset[str]:
    return frozenset(one.name for one in attrs.fields(cls))


@frozen(kw_only=True, init=False, eq=False, repr=False)
class _Meta(DictForm):
    """What responses and updates, of clients and agents, have in common.

    The private bases declare fields; methods are made for the four classes that have instances.
    """

    response_id: str | None = None
    created_at: str | None = None
    finish_reason: str | None = None
    continuation_token: FrozenDict[str, Any] | None = field(
        default=None, converter=freeze_optional
    )
    additional_properties: FrozenDict[str, Any] = field(
        default=EMPTY_DICT, converter=freeze_mapping
    )
    raw_representation: Any = field(default=None, eq=False, repr=False)


@frozen(kw_only=True, init=False, eq=False, repr=False)
class _Update(_Meta):
    contents: FrozenList[Content] = field(default=None, converter=to_contents)
    role: str | None = None
    author_name: str | None = None
    message_id: str | None = None

    @property
    def text(self) -> str:
        """The texts of its text items, joined without anything between."""
        return "".join([item.text or "" for item in self.contents if item.type == "text"])

    def __str__(self) -> str:
        return self.text


@frozen(kw_only=True, init=False, eq=False, repr=False)
class _Response(_Meta, Generic[ValueT]):
    messages: FrozenList[Message] = field(default=None, converter=to_messages)
    usage_details: UsageDetails | None = field(default=None, converter=_to_usage)
    incomplete: bool = False
    _value: ValueT | None = field(default=None, eq=False, repr=False)
    _response_format: Any = field(default=None, eq=False, repr=False)
    _parsed: Any = field(default=None, init=False, eq=False, repr=False)

    @property
    def text(self) -> str:
        """The text of all messages."""
        return "".join([message.text for message in self.messages])

    @property
    def response_format(self) -> Any:
        """What ``value`` is parsed as: a pydantic model class, a mapping, or None."""
        return self._response_format

    @property
    def value(self) -> ValueT | None:
        """The structured value: the one given, or the last assistant text, parsed on first use.

        None without a ``response_format`` or a text.

        Raises:
            pydantic.ValidationError: the text is not what the model class wants; each time.
            ValueError: the text is no JSON; each time.
        """
        if self._value is not None:
            return self._value
        if self._parsed is None:
            parsed = parse_value(self.messages, self._response_format)
            # Filled once, from fields that can't change: nobody can tell it from a constant.
            object.__setattr__(self, "_parsed", parsed)
        return cast("ValueT | None", self._parsed)

    def __str__(self) -> str:
        return self.text

    def _split(self, update_type: type[Any]) -> list[Any]:
        # Not many want it, and it needs what is here.
        from protocols._split import updates_of

        return updates_of(self, update_type) or [update_type(role="assistant")]

    @classmethod
    def from_updates(cls, updates: Iterable[Any], output_format_type: Any = None) -> Self:
        """Join the updates of one stream into the response that they are parts of.

        Args:
            updates: in the order in which they came.
            output_format_type: what ``value`` is to be parsed as.
        """
        aggregate = _new_aggregate()
        for update in updates:
            aggregate.add(update)
        return cls(**aggregate.fields(_field_names(cls), response_format=output_format_type))

    @classmethod
    async def from_update_generator(
        cls, updates: AsyncIterable[Any], output_format_type: Any = None
    ) -> Self:
        """Like ``from_updates``, of an async iterable, which is read to its end."""
        aggregate = _new_aggregate()
        async for update in updates:
            aggregate.add(update)
        return cls(**aggregate.fields(_field_names(cls), response_format=output_format_type))


@quickly_made
@says_how_to_change
@frozen(kw_only=True)
class ChatResponseUpdate(_Update):
    """A part of a chat client's response, as it comes in a stream.

    Args:
        contents: content items or what stands for them, see ``Message``.
        role: of the message that this is a part of.
        author_name: likewise.
        message_id: likewise; another id starts another message.
        response_id: of the response.
        conversation_id: of the conversation, where the service keeps it.
        model: which model answers.
        created_at: ISO 8601.
        finish_reason: why the model stopped: ``"stop"``, ``"length"``, ``"tool_calls"``,
            ``"content_filter"`` or another one.
        continuation_token: opaque; present while the operation goes on at the service.
        additional_properties: metadata.
        raw_representation: the provider's object, by reference; never serialised or compared.
    """

    conversation_id: str | None = None
    model: str | None = None

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # its contents are unhashable


@quickly_made
@says_how_to_change
@frozen(kw_only=True)
class AgentResponseUpdate(_Update):
    """A part of an agent's response; ``agent_id`` says whose, the rest is ``ChatResponseUpdate``'s."""

    agent_id: str | None = None

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # its contents are unhashable

    @property
    def user_input_requests(self) -> list[Content]:
        """The items that wait for a person."""
        return _that_wait(self.contents)


@quickly_made
@says_how_to_change
@frozen(kw_only=True)
class ChatResponse(_Response[ValueT]):
    """What a chat client answered.

    Args:
        messages: one message, or several.
        response_id: of the response.
        conversation_id: of the conversation, where the service keeps it.
        model: which model answered.
        created_at: ISO 8601.
        finish_reason: see ``ChatResponseUpdate``.
        usage_details: token counts.
        value: the structured value; wins over what could be parsed.
        response_format: what ``value`` is parsed as.
        continuation_token: opaque; present while the operation goes on at the service.
        incomplete: whether the stream was left before its end.
        additional_properties: metadata.
        raw_representation: the provider's object, by reference; never serialised or compared.
    """

    conversation_id: str | None = None
    model: str | None = None

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # its contents are unhashable

    @property
    def text(self) -> str:
        """The texts of the messages, a line each, without blank ends."""
        return "\n".join([message.text for message in self.messages]).strip()

    def to_updates(self) -> list[ChatResponseUpdate]:
        """Give updates that ``from_updates`` makes the same response of, at least one."""
        return self._split(ChatResponseUpdate)


@quickly_made
@says_how_to_change
@frozen(kw_only=True)
class AgentResponse(_Response[ValueT]):
    """What an agent answered; ``agent_id`` says which, the rest is ``ChatResponse``'s.

    ``text`` joins its messages without anything between.
    """

    agent_id: str | None = None

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # its contents are unhashable

    def to_updates(self) -> list[AgentResponseUpdate]:
        """Give updates that ``from_updates`` makes the same response of, at least one."""
        return self._split(AgentResponseUpdate)

    @property
    def user_input_requests(self) -> list[Content]:
        """The items, of all messages, that wait for a person."""
        if len(self.messages) == 1:  # as nearly always
            return _that_wait(self.messages[0].contents)
        return [item for message in self.messages for item in _that_wait(message.contents)]


def map_chat_to_agent_update(
    update: ChatResponseUpdate, agent_name: str | None
) -> AgentResponseUpdate:
    """Make an agent's update of its client's; the client's stays in ``raw_representation``."""
    return AgentResponseUpdate(
        contents=update.contents,
        role=update.role,
        author_name=update.author_name or agent_name,
        response_id=update.response_id,
        message_id=update.message_id,
        created_at=update.created_at,
        finish_reason=update.finish_reason,
        continuation_token=update.continuation_token,
        additional_properties=update.additional_properties,
        raw_representation=update,
    )
