"""Clients for OpenAI's two APIs and the servers that speak them, with their options and errors.

The clients stand in `actors` as well; this is where code that was written for Microsoft Agent
Framework looks for them.
"""

from typing import TYPE_CHECKING

from protocols._lazy import lazy_names

if TYPE_CHECKING:
    from actors.agents._openai._client import (
        OpenAIChatCompletionClient as OpenAIChatCompletionClient,
        RawOpenAIChatCompletionClient as RawOpenAIChatCompletionClient,
    )
    from actors.agents._openai._options import (
        OpenAIChatCompletionOptions as OpenAIChatCompletionOptions,
        OpenAIChatOptions as OpenAIChatOptions,
        OpenAIContentFilterException as OpenAIContentFilterException,
        OpenAIContinuationToken as OpenAIContinuationToken,
    )
    from actors.agents._openai._parsing_hooks import (
        OpenAIChatMessagePreparer as OpenAIChatMessagePreparer,
        OpenAIChatResponseContentsParser as OpenAIChatResponseContentsParser,
    )
    from actors.agents._openai._responses_client import (
        OpenAIChatClient as OpenAIChatClient,
        RawOpenAIChatClient as RawOpenAIChatClient,
    )

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "actors.agents._openai._client": """
            OpenAIChatCompletionClient RawOpenAIChatCompletionClient
        """,
        "actors.agents._openai._options": """
            OpenAIChatCompletionOptions OpenAIChatOptions OpenAIContentFilterException
            OpenAIContinuationToken
        """,
        "actors.agents._openai._parsing_hooks": """
            OpenAIChatMessagePreparer OpenAIChatResponseContentsParser
        """,
        "actors.agents._openai._responses_client": """
            OpenAIChatClient RawOpenAIChatClient
        """,
    },
)
