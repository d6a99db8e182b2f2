"""Event streams mean the same however the network cuts them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, strategies as st

from actors.agents._openai._sse import EventTooLargeError, ServerSentEvent, SSEParser

CORPUS = [
    b"data: plain\n\n",
    b"data:no space\n\n",
    b"data: carriage\r\rdata: returns\r\r",
    b"data: both\r\n\r\n",
    b": a comment\n\n: and another\r\n\r\n",
    b"data: two\ndata: lines\n\n",
    "data: žluťoučký 🐎 \u2028 \x85 kůň\n\n".encode(),
    b"event: error\nid: 7\nretry: 10\ndata: typed\n\n",
    b"id: only\n\n",
    b"data\n\ndata:\n\ndata: \n\n",
    b"unknown: field\ndata: kept\n\n",
    b"data: : OPENROUTER PROCESSING\n\n",
]


def parsed(pieces: list[bytes]) -> list[ServerSentEvent]:
    parser = SSEParser()
    found = [event for piece in pieces for event in parser.feed(piece)]
    return found + parser.finish()


def test_a_stream_means_what_the_grammar_says() -> None:
    assert [e.data for e in parsed([b"".join(CORPUS)])] == [
        "plain",
        "no space",
        "carriage",
        "returns",
        "both",
        "two\nlines",
        "žluťoučký 🐎 \u2028 \x85 kůň",
        "typed",
        "kept",
        ": OPENROUTER PROCESSING",
    ]


def test_an_event_knows_its_type_and_the_next_one_has_none() -> None:
    first, second = parsed([b"event: error\ndata: a\n\ndata: b\n\n"])
    assert (first.event, second.event) == ("error", "")


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_every_place_to_split_gives_the_same_events(end: bytes) -> None:
    stream = b"\xef\xbb\xbf" + b"".join(CORPUS).replace(b"\r\n", b"\n").replace(b"\n", end)
    whole = parsed([stream])
    assert whole
    for at in range(len(stream) + 1):
        assert parsed([stream[:at], stream[at:]]) == whole
    assert parsed([stream[i : i + 1] for i in range(len(stream))]) == whole


@given(
    st.lists(st.sampled_from([b"data: x", b"\r", b"\n", b": c", b"event: e", "é".encode()])),
    st.lists(st.integers(0, 60)),
)
def test_no_way_of_cutting_any_bytes_makes_a_difference(
    lines: list[bytes], cuts: list[int]
) -> None:
    stream = b"".join(lines)
    edges = sorted({0, len(stream), *(c for c in cuts if c < len(stream))})
    pieces = [stream[a:b] for a, b in itertools.pairwise(edges)]
    assert parsed(pieces) == parsed([stream])


def test_an_event_without_its_blank_line_is_handed_over_at_the_end() -> None:
    assert [e.data for e in parsed([b"data: a\n\ndata: b"])] == ["a", "b"]


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    assert [e.data for e in parsed([b"data: a\xff\n\n"])] == ["a\ufffd"]


@pytest.mark.parametrize("endless", [b"data: " + b"x" * 50, b"data: xxxxxxxx\n" * 10])
def test_an_endless_event_is_an_error_and_not_a_full_memory(endless: bytes) -> None:
    with pytest.raises(EventTooLargeError, match="larger than 40 bytes"):
        SSEParser(limit=40).feed(endless)


def test_many_small_events_are_no_large_one() -> None:
    assert len(SSEParser(limit=40).feed(b"data: xxxxxxxx\n\n" * 100)) == 100
