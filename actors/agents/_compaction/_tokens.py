"""How long messages are, in the tokens of a model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from protocols._frozen import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from protocols._content._item import Content
    from protocols._message import Message

_CHARACTERS_PER_TOKEN: Final = 4
# What the wire puts around each message, in tokens; every endpoint counts about so many.
_OVERHEAD: Final = 4


@runtime_checkable
class TokenizerProtocol(Protocol):
    """Counts tokens as a model does."""

    def count_tokens(self, text: str) -> int:
        """Say how many tokens a text has."""
        ...


class CharacterEstimatorTokenizer:
    """Takes four characters for a token: about right for English, with nothing to install."""

    def count_tokens(self, text: str) -> int:
        """Say about how many tokens a text has."""
        return -(-len(text) // _CHARACTERS_PER_TOKEN)


ESTIMATE: Final = CharacterEstimatorTokenizer()


def message_tokens(message: Message, tokenizer: TokenizerProtocol) -> int:
    """Say how many tokens a message has."""
    return _OVERHEAD + sum(tokenizer.count_tokens(_text(c)) for c in message.contents)


def total_tokens(messages: Iterable[Message], tokenizer: TokenizerProtocol) -> int:
    """Say how many tokens messages have together."""
    return sum(message_tokens(message, tokenizer) for message in messages)


def included_token_count(
    messages: Sequence[Message], tokenizer: TokenizerProtocol = ESTIMATE
) -> int:
    """Say how many tokens the messages have that a model gets to see."""
    from actors.agents._compaction._groups import included_messages

    return total_tokens(included_messages(messages), tokenizer)


def _text(content: Content) -> str:
    if content.type in {"text", "text_reasoning"}:
        return content.text or ""
    if content.type == "function_call":
        arguments = content.arguments or ""
        shown = arguments if isinstance(arguments, str) else json.dumps(plain(arguments))
        return f"{content.name}{shown}"
    if content.type == "function_result":
        return str(content.result or "") + str(content.exception or "")
    return ""  # images and the like cost what the endpoint says they cost, not their bytes
