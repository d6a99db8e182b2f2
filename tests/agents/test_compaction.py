"""A conversation is made shorter in whole groups, never larger, and never twice at once."""

from __future__ import annotations

import logging
import random
from typing import Any

import attrs
import pytest
from hypothesis import given, settings, strategies as st

from actors.agents._agent._agent import Agent
from actors.agents._compaction._annotations import (
    GROUP_ANNOTATION_KEY,
    GROUP_ID_KEY,
    GROUP_KIND_KEY,
    GROUP_TOKEN_COUNT_KEY,
    annotate_message_groups,
)
from actors.agents._compaction._apply import CompactionProvider, apply_compaction
from actors.agents._compaction._groups import (
    EXCLUDED_KEY,
    SUMMARY_OF_KEY,
    group_messages,
    included_messages,
    is_excluded,
)
from actors.agents._compaction._strategies import (
    CompactionStrategy,
    SelectiveToolCallCompactionStrategy,
    SlidingWindowStrategy,
    TokenBudgetComposedStrategy,
    ToolResultCompactionStrategy,
    TruncationStrategy,
)
from actors.agents._compaction._summarize import SummarizationStrategy
from actors.agents._compaction._tokens import (
    ESTIMATE,
    CharacterEstimatorTokenizer,
    TokenizerProtocol,
    included_token_count,
    total_tokens,
)
from actors.agents._compaction._window import ContextWindowCompactionStrategy
from actors.agents._sessions._history import InMemoryHistoryProvider
from actors.testing import ScriptedChatClient
from protocols._content._item import Content
from protocols._message import Message


class Words:
    """A tokenizer that tests can reckon with."""

    def count_tokens(self, text: str) -> int:
        return len(text.split())


def call(*call_ids: str) -> Message:
    return Message("assistant", [Content.from_function_call(i, "look") for i in call_ids])


def result(*call_ids: str, text: str = "42") -> Message:
    return Message("tool", [Content.from_function_result(i, result=text) for i in call_ids])


def user(text: str) -> Message:
    return Message("user", [text])


def said(text: str) -> Message:
    return Message("assistant", [text])


SCATTERED = [
    Message("system", ["be brief"]),
    user("first"),
    call("c1"),
    user("meanwhile"),
    call("c2"),
    result("c2"),
    result("c1"),
    said("done"),
]


def unpaired(messages: list[Message]) -> set[str | None]:
    """Call ids of which only one half is there."""
    calls = {c.call_id for m in messages for c in m.contents if c.type == "function_call"}
    results = {c.call_id for m in messages for c in m.contents if c.type == "function_result"}
    return calls ^ results


def texts(messages: list[Message]) -> list[str]:
    return [m.text for m in messages if m.text]


# ---------------------------------------------------------------------- groups


def test_a_call_and_its_result_are_one_group_wherever_they_stand() -> None:
    groups = group_messages(SCATTERED)
    assert [(g.kind, g.indexes) for g in groups] == [
        ("system", (0,)),
        ("user", (1,)),
        ("tool_call", (2, 6)),
        ("user", (3,)),
        ("tool_call", (4, 5)),
        ("assistant_text", (7,)),
    ]


def test_one_message_with_the_results_of_two_turns_ties_them_together() -> None:
    groups = group_messages([call("a"), user("x"), call("b"), result("a", "b")])
    assert [g.indexes for g in groups] == [(0, 2, 3), (1,)]


def test_reasoning_stays_with_the_call_that_follows_it() -> None:
    thought = Message("assistant", [Content.from_text_reasoning(text="hm")])
    groups = group_messages([user("x"), thought, call("a"), result("a")])
    assert [g.indexes for g in groups] == [(0,), (1, 2, 3)]


def test_a_question_about_a_call_and_its_answer_belong_to_the_call() -> None:
    asked = Content.from_function_approval_request("r1", Content.from_function_call("a", "look"))
    answer = asked.to_function_approval_response(True)
    groups = group_messages(
        [Message("assistant", [asked]), Message("user", [answer]), result("a")]
    )
    assert [g.indexes for g in groups] == [(0, 1, 2)]


# ---------------------------------------------------------------------- strategies


@pytest.mark.parametrize("keep", range(1, 8))
async def test_no_window_separates_a_call_from_its_result(keep: int) -> None:
    """Case A12 of the list: pairs that aren't neighbours."""
    kept = await apply_compaction(SCATTERED, strategy=SlidingWindowStrategy(keep))
    assert not unpaired(kept)
    assert kept[0].role == "system"
    assert len(group_messages(kept)) == min(keep, 5) + 1


async def test_a_window_may_leave_out_system_messages_too() -> None:
    kept = await apply_compaction(
        SCATTERED, strategy=SlidingWindowStrategy(1, preserve_system=False)
    )
    assert texts(kept) == ["done"]


async def test_what_was_given_stays_as_it_is() -> None:
    before = list(SCATTERED)
    await apply_compaction(SCATTERED, strategy=SlidingWindowStrategy(1))
    assert before == SCATTERED
    assert not any(map(is_excluded, SCATTERED))


async def test_truncation_begins_at_its_limit_and_goes_on_to_its_goal() -> None:
    history = [user(f"m{n}") for n in range(10)]
    assert await apply_compaction(history, strategy=TruncationStrategy(10, 4)) == history
    kept = await apply_compaction(history, strategy=TruncationStrategy(9, 4))
    assert texts(kept) == ["m6", "m7", "m8", "m9"]


async def test_truncation_counts_tokens_with_a_tokenizer() -> None:
    history = [user("one two three"), user("four"), user("five")]
    strategy = TruncationStrategy(16, 13, tokenizer=Words())  # four tokens of overhead each
    assert texts(await apply_compaction(history, strategy=strategy)) == ["four", "five"]


async def test_the_last_group_stays_however_long_it_is() -> None:
    history = [user("x"), user("y " * 100)]
    strategy = TokenBudgetComposedStrategy(5, Words())
    assert texts(await apply_compaction(history, strategy=strategy)) == [history[1].text]


async def test_old_tool_calls_go_and_what_was_said_stays() -> None:
    history = [user("q"), call("a"), result("a"), said("mid"), call("b"), result("b"), said("end")]
    kept = await apply_compaction(history, strategy=SelectiveToolCallCompactionStrategy(1))
    assert texts(kept) == ["q", "mid", "end"]
    assert {c.call_id for m in kept for c in m.contents if c.call_id} == {"b"}
    none = await apply_compaction(history, strategy=SelectiveToolCallCompactionStrategy(0))
    assert texts(none) == ["q", "mid", "end"]


async def test_old_tool_results_become_one_line() -> None:
    history = [call("a"), result("a", text="long " * 100), call("b"), result("b"), said("end")]
    kept = await apply_compaction(history, strategy=ToolResultCompactionStrategy(1))
    assert kept[0].text.startswith("[Tool results: look: long long")
    assert not unpaired(kept)
    assert included_token_count(kept) < included_token_count(history)


async def test_a_line_that_would_be_longer_is_not_written() -> None:
    history = [call("a"), result("a", text="42"), call("b"), result("b")]
    assert await apply_compaction(history, strategy=ToolResultCompactionStrategy(1)) == history


async def test_a_budget_tries_its_strategies_until_one_is_enough() -> None:
    tried: list[str] = []

    def noting(name: str, strategy: CompactionStrategy) -> CompactionStrategy:
        async def act(messages: list[Message]) -> bool:
            tried.append(name)
            return await strategy(messages)

        return act

    history = [user("one two three four") for _ in range(5)]
    strategy = TokenBudgetComposedStrategy(
        16,
        Words(),
        [
            noting("first", SlidingWindowStrategy(2)),
            noting("second", SlidingWindowStrategy(1)),
        ],
    )
    kept = await apply_compaction(history, strategy=strategy)
    assert (tried, len(kept)) == (["first"], 2)


def test_limits_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="compact_to"):
        TruncationStrategy(5, 6)
    with pytest.raises(ValueError, match="keep_last_groups"):
        SlidingWindowStrategy(0)


def test_the_estimate_is_a_tokenizer_and_counts_about_four_characters() -> None:
    assert isinstance(ESTIMATE, TokenizerProtocol)
    assert [CharacterEstimatorTokenizer().count_tokens(t) for t in ("", "abcd", "abcde")] == [
        0,
        1,
        2,
    ]


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Any conversation whose calls all have results, in any order at all."""
    ids = [f"c{n}" for n in range(draw(st.integers(0, 4)))]
    messages = [user("hello there") for _ in range(draw(st.integers(0, 4)))]
    messages += [m for i in ids for m in (call(i), result(i, text="found " * 9))]
    messages += [Message("system", ["rules"])] * draw(st.integers(0, 1))
    chance = random.Random(draw(st.integers()))
    chance.shuffle(messages)
    return messages


STRATEGIES = [
    SlidingWindowStrategy(2),
    TruncationStrategy(4, 2),
    SelectiveToolCallCompactionStrategy(1),
    ToolResultCompactionStrategy(1),
    TokenBudgetComposedStrategy(30, strategies=[ToolResultCompactionStrategy(0)]),
]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: type(s).__name__)
def test_for_all_conversations_pairs_stay_whole_and_nothing_grows(strategy: Any) -> None:
    @given(conversations())
    @settings(max_examples=60)
    def holds(history: list[Message]) -> None:
        import trio

        async def main() -> None:
            kept = await apply_compaction(history, strategy=strategy)
            assert not unpaired(kept)
            assert total_tokens(kept, ESTIMATE) <= total_tokens(history, ESTIMATE)
            again = await apply_compaction(kept, strategy=strategy)
            assert total_tokens(again, ESTIMATE) <= total_tokens(kept, ESTIMATE)

        trio.run(main)

    holds()


# ---------------------------------------------------------------------- summaries


def long_talk(turns: int) -> list[Message]:
    return [
        m for n in range(turns) for m in (user(f"question {n} " * 9), said(f"answer {n} " * 9))
    ]


async def test_a_summary_takes_the_place_of_what_is_old() -> None:
    client = ScriptedChatClient("they talked")
    kept = await apply_compaction(
        long_talk(5), strategy=SummarizationStrategy(client, target_count=4, threshold=2)
    )
    assert kept[0].additional_properties[SUMMARY_OF_KEY] == 6
    assert "they talked" in kept[0].text
    assert kept[1:] == long_talk(5)[-4:]
    [seen] = client.seen
    assert "question 0" in seen.messages[-1].text
    assert "question 3" not in seen.messages[-1].text


async def test_a_conversation_below_the_threshold_asks_no_model() -> None:
    client = ScriptedChatClient()
    history = long_talk(3)
    kept = await apply_compaction(history, strategy=SummarizationStrategy(client, 4, 2))
    assert (kept, client.seen) == (history, [])


async def test_an_earlier_summary_becomes_part_of_the_next() -> None:
    client = ScriptedChatClient("first summary", "second summary")
    strategy = SummarizationStrategy(client, target_count=2, threshold=0)
    work = long_talk(3)
    await strategy(work)
    work += long_talk(2)
    await strategy(work)
    summaries = [m for m in included_messages(work) if SUMMARY_OF_KEY in m.additional_properties]
    assert len(summaries) == 1
    assert "first summary" in client.seen[1].messages[-1].text


@pytest.mark.parametrize(
    "answer", [RuntimeError("down"), "", "far too long " * 999], ids=["error", "empty", "long"]
)
async def test_a_summary_that_can_not_be_had_leaves_everything(
    answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    history = long_talk(5)
    client = ScriptedChatClient(answer)
    with caplog.at_level(logging.WARNING):
        kept = await apply_compaction(history, strategy=SummarizationStrategy(client, 4, 0))
    assert kept == history
    assert caplog.records


# ---------------------------------------------------------------------- in a session


async def test_what_is_kept_is_what_the_model_is_shown_the_next_time() -> None:
    """Case A12 of the list: the summary is in the stored history, once."""
    talker = ScriptedChatClient(*[f"answer {n} " * 9 for n in range(6)])
    writer = ScriptedChatClient("summary one", "summary two", "summary three")
    provider = CompactionProvider(
        after_strategy=SummarizationStrategy(writer, target_count=2, threshold=1)
    )
    agent = Agent(talker, context_providers=[InMemoryHistoryProvider(), provider])
    session = agent.create_session()
    for n in range(5):
        await agent.run(f"question {n} " * 9, session=session)
    kept = included_messages(list(session.state["in_memory"]["messages"]))
    shown_before = included_messages(talker.seen[-1].messages)
    summaries = [m for m in shown_before if SUMMARY_OF_KEY in m.additional_properties]
    assert len(summaries) == 1
    await agent.run("last", session=session)
    shown = talker.seen[-1].messages
    assert [m.text for m in shown[:-1]] == texts(kept)
    assert not any(map(is_excluded, shown))


async def test_what_is_loaded_can_be_cut_for_one_run_and_stays_in_the_store() -> None:
    client = ScriptedChatClient("a", "b", "c")
    provider = CompactionProvider(before_strategy=SlidingWindowStrategy(1))
    agent = Agent(client, context_providers=[InMemoryHistoryProvider(), provider])
    session = agent.create_session()
    for text in ("one", "two", "three"):
        await agent.run(text, session=session)
    assert texts(client.seen[-1].messages) == ["b", "three"]
    assert len(session.state["in_memory"]["messages"]) == 6


# ---------------------------------------------------------------------- before a model is asked

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
TALK = [user("one"), said("two"), user("three")]
LAST, LAST_TWO = SlidingWindowStrategy(1), SlidingWindowStrategy(2)


async def ask(client: Any, *, stream: bool, **kwargs: Any) -> None:
    if stream:
        await client.get_response(TALK, stream=True, **kwargs).get_final_response()
    else:
        await client.get_response(TALK, **kwargs)


@BOTH
async def test_a_client_makes_each_conversation_shorter(stream: bool) -> None:
    client = ScriptedChatClient("a", "b", compaction_strategy=LAST_TWO)
    await ask(client, stream=stream)
    await ask(client, stream=stream, compaction_strategy=LAST)
    assert [seen.texts for seen in client.seen] == [["two", "three"], ["three"]]
    assert not any(map(is_excluded, TALK))


@BOTH
async def test_the_runs_strategy_wins_over_the_agents_and_the_agents_over_the_clients(
    stream: bool,
) -> None:
    client = ScriptedChatClient(*"abc", compaction_strategy=TruncationStrategy(99, 99))
    plain, short = Agent(client), Agent(client, compaction_strategy=LAST_TWO)
    for agent, strategy in ((plain, None), (short, None), (short, LAST)):
        running = agent.run(TALK, stream=stream, compaction_strategy=strategy)
        await (running.get_final_response() if stream else running)  # type: ignore[union-attr]
    assert [len(seen.messages) for seen in client.seen] == [3, 2, 1]


async def test_a_tokenizer_is_used_in_place_of_the_strategys_own() -> None:
    client = ScriptedChatClient("a")
    strategy = TokenBudgetComposedStrategy(12, tokenizer=ESTIMATE)
    await ask(client, stream=False, compaction_strategy=strategy, tokenizer=Words())
    assert client.seen[0].texts == ["two", "three"]  # five tokens each, as Words counts


async def test_what_the_model_is_not_shown_is_in_the_history_all_the_same() -> None:
    client = ScriptedChatClient("a", "b", "c")
    agent = Agent(client, compaction_strategy=LAST)
    session = agent.create_session()
    for text in ("one", "two", "three"):
        await agent.run(text, session=session)
    assert client.seen[-1].texts == ["three"]
    assert len(session.state["in_memory"]["messages"]) == 6


# ------------------------------------------------------------------ strategies of others


async def test_a_strategy_of_ones_own_finds_groups_marked_and_marks_what_it_leaves_out() -> None:
    async def keep_last_user(messages: list[Message]) -> bool:
        found = annotate_message_groups(messages, tokenizer=Words())
        of = [message.additional_properties[GROUP_ANNOTATION_KEY] for message in messages]
        users = [mark[GROUP_ID_KEY] for mark in of if mark[GROUP_KIND_KEY] == "user"]
        assert [*dict.fromkeys(mark[GROUP_ID_KEY] for mark in of)] == found
        for index, mark in enumerate(of):
            if mark[GROUP_ID_KEY] != users[-1]:
                marks = {**messages[index].additional_properties, EXCLUDED_KEY: True}
                messages[index] = attrs.evolve(messages[index], additional_properties=marks)
        return True

    given = [user("one"), call("a"), result("a"), user("two words")]
    kept = await apply_compaction(given, strategy=keep_last_user)

    assert [message.text for message in kept] == ["two words"]
    marked = kept[0].additional_properties[GROUP_ANNOTATION_KEY]
    assert marked[GROUP_TOKEN_COUNT_KEY] == total_tokens(kept, Words())
    assert not given[0].additional_properties


def test_a_call_and_its_result_have_one_group_wherever_they_stand() -> None:
    messages = [call("a"), user("meanwhile"), result("a")]

    assert annotate_message_groups(messages) == ["group_msg_0", "group_msg_1"]
    ids = [m.additional_properties[GROUP_ANNOTATION_KEY][GROUP_ID_KEY] for m in messages]
    assert ids == ["group_msg_0", "group_msg_1", "group_msg_0"]


async def test_the_first_thing_that_a_user_said_can_be_kept() -> None:
    messages = [user("the task"), *[user(f"more {n}") for n in range(9)]]
    strategy = TruncationStrategy(5, 3, preserve_first_user_group=True)

    kept = await apply_compaction(messages, strategy=strategy)

    assert [message.text for message in kept] == ["the task", "more 7", "more 8"]


async def test_past_a_part_of_the_window_tools_are_shortened_and_past_another_texts_go() -> None:
    strategy = ContextWindowCompactionStrategy(
        max_context_window_tokens=120,
        max_output_tokens=20,
        tokenizer=Words(),
        keep_last_tool_call_groups=0,
    )
    small = [user("w " * 20)]
    tools = [*small, call("a"), result("a", text="xxxxxxxxx " * 45)]
    large = [*small, *[user("w " * 30) for _ in range(4)]]

    assert await apply_compaction(small, strategy=strategy) == small
    assert len(await apply_compaction(tools, strategy=strategy)) == 2
    kept = await apply_compaction(large, strategy=strategy)
    assert included_token_count(kept, Words()) <= strategy.input_budget_tokens * 0.5
    assert kept[-1] is large[-1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_output_tokens": 10},
        {"tool_eviction_threshold": 0.9},
        {"truncation_threshold": 1.1},
        {"tool_eviction_threshold": 0.0},
    ],
)
def test_a_window_whose_numbers_do_not_go_together_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"max_output_tokens|threshold"):
        ContextWindowCompactionStrategy(
            **{"max_context_window_tokens": 10, "max_output_tokens": 1, **wrong}
        )
