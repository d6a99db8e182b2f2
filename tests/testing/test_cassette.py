"""Traffic with a model is recorded once, and played as often as one likes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pydantic
import pytest

from actors.agents._agent._agent import Agent
from actors.agents._openai._client import OpenAIChatCompletionClient
from actors.agents._tools._decorator import tool
from actors.testing import (
    CassetteChatClient,
    ScriptedChatClient,
    UnknownRequestError,
    open_fake_openai,
    says,
)
from protocols._content._item import Content
from protocols._responses import ChatResponse

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "talk.jsonl"


def read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


async def ask(
    client: Any, text: str = "hi", *, stream: bool = False, **options: Any
) -> ChatResponse[Any]:
    if stream:
        found: ChatResponse[Any] = await client.get_response(
            text, stream=True, options=options
        ).get_final_response()
        return found
    answer: ChatResponse[Any] = await client.get_response(text, options=options)
    return answer


def told(response: ChatResponse[Any]) -> dict[str, Any]:
    found = response.to_dict()
    for message in found["messages"]:
        message.pop("message_id", None)
    return found


@BOTH
@pytest.mark.parametrize("again", [False, True], ids=["whole", "streamed"])
async def test_what_was_recorded_one_way_is_played_both_ways(
    path: Path, stream: bool, again: bool
) -> None:
    live = ScriptedChatClient(Content.from_function_call("c1", "look", arguments='{"x": 1}'))
    recorded = await ask(CassetteChatClient(live, path), stream=stream)
    player = CassetteChatClient(None, path, mode="replay")
    assert told(await ask(player, stream=again)) == told(recorded)
    assert (player.played, len(live.seen)) == (1, 1)


async def test_updates_are_played_as_they_came(path: Path) -> None:
    live = ScriptedChatClient("one two three")
    first = [u.text async for u in CassetteChatClient(live, path).get_response("hi", stream=True)]
    player = CassetteChatClient(None, path, mode="replay")
    assert [u.text async for u in player.get_response("hi", stream=True)] == first
    assert len(first) == 3


async def test_a_request_that_is_known_asks_nobody_and_another_one_does(path: Path) -> None:
    await ask(CassetteChatClient(ScriptedChatClient("one"), path), "first")
    live = ScriptedChatClient("two")
    client = CassetteChatClient(live, path)
    assert [(await ask(client, text)).text for text in ("first", "second")] == ["one", "two"]
    assert (client.played, client.recorded) == (1, 1)
    assert (await ask(CassetteChatClient(None, path, mode="replay"), "second")).text == "two"


async def test_the_same_request_has_its_answers_in_order(path: Path) -> None:
    live = CassetteChatClient(ScriptedChatClient("one", "two"), path, mode="record")
    assert [(await ask(live)).text for _ in range(2)] == ["one", "two"]
    player = CassetteChatClient(None, path, mode="replay")
    assert [(await ask(player)).text for _ in range(2)] == ["one", "two"]
    with pytest.raises(UnknownRequestError, match="asked more often"):
        await ask(player)


async def test_recording_begins_the_file_anew(path: Path) -> None:
    for answer in ("old", "new"):
        await ask(CassetteChatClient(ScriptedChatClient(answer), path, mode="record"))
    assert len(read(path).splitlines()) == 1
    assert (await ask(CassetteChatClient(None, path, mode="replay"))).text == "new"


async def test_an_unknown_request_says_what_is_different(path: Path) -> None:
    await ask(CassetteChatClient(ScriptedChatClient("x"), path), temperature=0.1)
    player = CassetteChatClient(None, path, mode="replay")
    with pytest.raises(UnknownRequestError, match="it differs in temperature"):
        await ask(player, temperature=0.2)
    with pytest.raises(UnknownRequestError, match="another question"):
        await ask(player, "another question")


async def test_a_whole_run_with_tools_is_played_without_a_model(path: Path) -> None:
    @tool
    def look(word: str) -> str:
        """Look a word up."""
        return f"meaning of {word}"

    call = Content.from_function_call("c1", "look", arguments='{"word": "trio"}')
    agent = Agent(CassetteChatClient(ScriptedChatClient(call, "done"), path), tools=[look])
    live = await agent.run("what is trio?")
    player = Agent(CassetteChatClient(None, path, mode="replay"), tools=[look])
    assert (await player.run("what is trio?")).text == live.text == "done"


async def test_what_failed_is_not_kept(path: Path) -> None:
    client = CassetteChatClient(ScriptedChatClient(RuntimeError("down"), "up"), path)
    with pytest.raises(RuntimeError, match="down"):
        await ask(client)
    assert (await ask(client)).text == "up"
    assert len(read(path).splitlines()) == 1


async def test_half_a_stream_is_not_kept(path: Path) -> None:
    client = CassetteChatClient(ScriptedChatClient("one two"), path)
    async with client.get_response("hi", stream=True) as stream:
        async for _ in stream:
            break
    assert not read(path)


class Verdict(pydantic.BaseModel):
    good: bool


async def test_a_structured_answer_is_parsed_again(path: Path) -> None:
    live = CassetteChatClient(ScriptedChatClient('{"good": true}'), path)
    assert (await ask(live, response_format=Verdict)).value == Verdict(good=True)
    player = CassetteChatClient(None, path, mode="replay")
    assert (await ask(player, response_format=Verdict)).value == Verdict(good=True)


async def test_no_secret_gets_into_the_file(path: Path) -> None:
    async with open_fake_openai([says("hello")]) as server:
        live = OpenAIChatCompletionClient("m", api_key="secret-key", base_url=server.base_url)
        client = CassetteChatClient(live, path)
        kwargs = {"extra_headers": {"X-Token": "secret-token"}}
        assert (await client.get_response("hi", client_kwargs=kwargs)).text == "hello"
        await live.aclose()
    assert server.requests[0].headers["x-token"] == "secret-token"
    assert "secret" not in read(path)
    [line] = read(path).splitlines()
    assert json.loads(line)["request"]["messages"][0]["contents"][0]["text"] == "hi"


def test_mistakes_are_told_at_once(path: Path) -> None:
    with pytest.raises(ValueError, match="needs a client"):
        CassetteChatClient(None, path)
    with pytest.raises(ValueError, match="mode is one of"):
        CassetteChatClient(None, path, mode="rewind")  # type: ignore[arg-type]
    path.parent.mkdir()
    path.write_text('{"request": {"messages": []}}\n')
    with pytest.raises(ValueError, match="line 1 of"):
        CassetteChatClient(None, path, mode="replay")
