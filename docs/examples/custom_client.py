"""A chat client of one's own, for a service that speaks no protocol we know.

The four classes bring tools, middleware and telemetry; the client itself says how one request
is answered, whole and as a stream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trio

from actors import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponseUpdate,
    ChatTelemetryLayer,
    FunctionInvocationLayer,
    Message,
    OptionsCoT,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence


class BackwardsClient(
    FunctionInvocationLayer[OptionsCoT],
    ChatMiddlewareLayer[OptionsCoT],
    ChatTelemetryLayer[OptionsCoT],
    BaseChatClient[OptionsCoT],
):
    """Says what it is told backwards, word by word."""

    def _inner_get_response(
        self,
        *,
        messages: Sequence[Message],
        stream: bool,
        options: Mapping[str, Any],
        **kwargs: Any,  # noqa: ARG002 (what a caller wants to tell the service itself)
    ) -> Any:
        words = messages[-1].text.split()
        answer = self._build_response_stream(
            speak(reversed(words)), response_format=options.get("response_format")
        )
        # The whole answer is what the stream adds up to.
        return answer if stream else answer.get_final_response()


async def speak(words: Iterable[str]) -> AsyncIterator[ChatResponseUpdate]:
    for word in words:
        # Here a real client waits for its service.
        await trio.lowlevel.checkpoint()
        yield ChatResponseUpdate(contents=[f"{word} "], role="assistant")
    await trio.lowlevel.checkpoint()


async def main() -> None:
    agent = Agent(BackwardsClient(), name="backwards")
    response = await agent.run("love all trust few")
    print(response.text)
    async with agent.run("to be or not to be", stream=True) as updates:
        async for update in updates:
            print(update.text, end="", flush=True)
    print()


if __name__ == "__main__":
    trio.run(main)
