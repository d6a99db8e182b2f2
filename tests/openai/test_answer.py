"""The body of an answer, in whatever pieces, gives the same updates or the same error."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from actors.agents._openai import _answer
from actors.agents._openai._answer import StreamedAnswer, whole_answer
from actors.agents._openai._chunks import ChunkReader
from actors.testing._fake_replies import chunk, completion, empty_chunk, event
from protocols._model_errors import (
    ModelConnectionError,
    ModelError,
    ModelRateLimitError,
    ModelResponseError,
    ModelServerError,
    ModelTimeoutError,
)
from protocols._responses import ChatResponse

HERE = "http://here/v1 (model m)"
DONE = event("[DONE]")
END = event(chunk(finish_reason="stop"))

# Case H9: what gateways put between and around the events.
FRAMES = [
    b": keepalive\n\n",
    event(chunk(role="assistant", content="")),
    event(chunk("žlu")),
    b"data: : OPENROUTER PROCESSING\n\n",
    event(chunk("ťou"), end="\r\n"),
    b"event: message\nid: 3\nretry: 5\n" + event(chunk("čký")),
    b"data:\n\n",
    b"data:" + json.dumps(chunk(" 🐎 "), ensure_ascii=False).encode() + b"\n\n",
    event(json.dumps(chunk("kůň"), indent=1).replace("\n", "\ndata: ")),
    b":\r\n\r\n",
    event(empty_chunk(usage={"total_tokens": 9}), end="\r"),
    END,
    DONE,
]


def read(*pieces: bytes, cause: ModelError | None = None) -> ChatResponse[Any]:
    answer = StreamedAnswer(ChunkReader(endpoint=HERE), endpoint=HERE)
    updates = [update for piece in pieces for update in answer.feed(piece)]
    return ChatResponse.from_updates(updates + answer.end(cause))


def test_every_place_to_split_the_bytes_gives_the_same_answer() -> None:
    stream = b"".join(FRAMES)
    for at in range(len(stream) + 1):
        response = read(stream[:at], stream[at:])
        assert response.text == "žluťoučký 🐎 kůň"
        assert response.usage_details == {"total_token_count": 9}


def test_a_thousand_keepalives_before_the_first_word_are_no_error() -> None:
    assert read(b": keepalive\n\n" * 1000, event(chunk("x")), DONE).text == "x"


@pytest.mark.parametrize(
    "end", [(DONE,), (END,), (END, DONE), (b"data: [DONE]",), (b"data:[DONE]\n\n",)]
)
def test_either_end_will_do(end: tuple[bytes, ...]) -> None:
    assert read(event(chunk("x")), *end).text == "x"


def test_what_follows_the_end_is_not_read() -> None:
    assert read(event(chunk("x")), DONE, event("nonsense")).text == "x"


@pytest.mark.parametrize("junk", ["nonsense", "{", "[1]", "3", "[" * 100_000])
def test_a_malformed_chunk_is_a_typed_error_that_shows_it(junk: str) -> None:
    with pytest.raises(ModelResponseError) as caught:
        read(event(chunk("x")), event(junk), DONE)
    assert junk[:100] in str(caught.value)


def test_what_came_before_an_error_is_given_first_however_it_was_cut() -> None:
    answer = StreamedAnswer(ChunkReader(endpoint=HERE), endpoint=HERE)
    [update] = answer.feed(event(chunk("x")) + event("nonsense") + DONE)
    assert update.text == "x"
    with pytest.raises(ModelResponseError, match="nonsense"):
        answer.check()
    with pytest.raises(ModelResponseError, match="nonsense"):
        answer.end()
    with pytest.raises(ModelResponseError, match="nonsense"):
        answer.feed(DONE)


def test_an_error_event_is_an_error_whatever_its_data() -> None:
    for data in ({"error": {"message": "hot"}}, {"message": "hot"}, {"hot": 1}):
        with pytest.raises(ModelServerError, match="hot"):
            read(b"event: error\n" + event(data))


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        (None, ModelResponseError),
        (ModelConnectionError("reset"), ModelConnectionError),
        (ModelTimeoutError("slow"), ModelTimeoutError),
        (ModelResponseError("no gzip"), ModelResponseError),
    ],
)
@pytest.mark.parametrize("rest", [b"", b'data: {"choices": [{"del'])
def test_an_answer_that_ends_too_early_is_an_error(
    cause: ModelError | None, kind: type[ModelError], rest: bytes
) -> None:
    with pytest.raises(kind):
        read(event(chunk("abc")), rest, cause=cause)


def test_the_error_of_a_cut_says_how_far_the_answer_was() -> None:
    with pytest.raises(ModelResponseError, match="after 1 chunks with 3 characters"):
        read(event(chunk("abc")))


def test_a_connection_that_breaks_behind_the_finish_reason_costs_nothing() -> None:
    assert read(event(chunk("x")), END, cause=ModelConnectionError("reset")).text == "x"


def test_an_error_document_in_place_of_a_stream_is_that_error() -> None:
    body = json.dumps({"error": {"code": 429, "message": "slow down"}}).encode()
    for at in range(len(body)):
        with pytest.raises(ModelRateLimitError, match="slow down"):
            read(b"\n" * 3000, body[:at], body[at:])


def test_a_whole_answer_in_place_of_a_stream_is_taken() -> None:
    body = json.dumps(completion("hello", usage={"total_tokens": 2}), indent=1).encode()
    response = read(body[:50], body[50:])
    assert (response.text, response.finish_reason) == ("hello", "stop")
    assert response.usage_details == {"total_token_count": 2}


def test_a_stream_in_place_of_a_whole_answer_is_taken() -> None:
    body = b": hi\n\n" + event(chunk("hel")) + event(chunk("lo")) + DONE
    response = whole_answer(body, ChunkReader(endpoint=HERE), endpoint=HERE)
    assert response.text == "hello"


NO_ANSWERS: list[tuple[bytes, str, bool]] = [
    (b"", "empty body", True),
    (b" \n", "empty body", True),
    (b"<html>Login</html>", "HTML page.*<html>Login", False),
    (b"Bad gateway", "text.*Bad gateway", False),
    (b'{"choices": [', "broken JSON", False),
    (b'{"choices": null}', "no choices", False),
    (b"[1]", "no choices|another shape", False),
]


@pytest.mark.parametrize(("body", "said", "retryable"), NO_ANSWERS)
def test_what_is_no_answer_is_a_typed_error(body: bytes, said: str, retryable: bool) -> None:
    takes: list[Callable[[], object]] = [
        lambda: read(body),
        lambda: whole_answer(body, ChunkReader(endpoint=HERE), endpoint=HERE),
    ]
    for take in takes:
        with pytest.raises(ModelResponseError, match=said) as caught:
            take()
        assert caught.value.retryable is retryable


def test_an_endless_body_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_answer, "MAX_DOCUMENT_BYTES", 100)
    with pytest.raises(ModelResponseError, match="endless"):
        read(b"{" * 60, b"{" * 60)


def test_an_endless_event_is_a_typed_error() -> None:
    answer = StreamedAnswer(ChunkReader(endpoint=HERE), endpoint=HERE)
    answer._parser.limit = 100
    with pytest.raises(ModelResponseError, match="larger than 100 bytes"):
        answer.feed(b"data: " + b"x" * 200)
