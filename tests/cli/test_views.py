"""What one sees of a run: values as JSON and text, the live view, the progress of a download."""

from __future__ import annotations

import dataclasses
import enum
import io
import json
from typing import Any

import attrs
import msgspec
import pytest
from pydantic import BaseModel
from rich.console import Console

from actors.cli._live import LiveView
from actors.cli._plain import to_plain, to_text
from actors.cli._result import RunResult
from actors.cli._tally import Tally, joined
from protocols._agents import AgentExecutorResponse
from protocols._content._item import Content
from protocols._events import WorkflowEvent
from protocols._message import Message
from protocols._responses import AgentResponse, AgentResponseUpdate


class Colour(enum.StrEnum):
    RED = "red"


@attrs.frozen
class Point:
    x: int
    y: Any = None


@dataclasses.dataclass
class Line:
    start: Point


class Struct(msgspec.Struct):
    n: int


class Model(BaseModel):
    n: int


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError


PLAIN = [
    (None, None),
    (True, True),
    (1.5, 1.5),
    (float("nan"), "nan"),
    (Colour.RED, "red"),
    ((1, Point(2)), [1, {"x": 2, "y": None}]),
    ({1: Line(Point(3))}, {"1": {"start": {"x": 3, "y": None}}}),
    (Struct(4), {"n": 4}),
    (Model(n=5), {"n": 5}),
    (ValueError("no"), "ValueError('no')"),
    (int, "<class 'int'>"),
    (Broken(), "<Broken that can't be shown: RuntimeError>"),
]


@pytest.mark.parametrize(("value", "plain"), PLAIN, ids=[str(plain) for _, plain in PLAIN])
def test_any_value_can_be_said_in_json(value: object, plain: object) -> None:
    assert to_plain(value) == plain
    json.dumps(to_plain(value), allow_nan=False)


def test_a_value_that_contains_itself_ends_somewhere() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert "…" in json.dumps(to_plain(loop), ensure_ascii=False)


def test_of_what_has_a_text_people_see_the_text() -> None:
    response = AgentResponse(messages=[Message("assistant", ["hello"])])
    assert to_text([response, "there", 3]) == "hello\nthere\n3"


def test_the_updates_of_an_agent_become_one_response() -> None:
    updates = [AgentResponseUpdate(contents=[t], role="assistant") for t in ("he", "llo")]
    first, middle, last = joined([*updates, 7, updates[0]])
    assert (first.text, middle, last.text) == ("hello", 7, "he")


def events() -> list[WorkflowEvent]:
    usage = Content.from_usage({"input_token_count": 3, "output_token_count": 2})
    response = AgentResponse.from_updates([AgentResponseUpdate(contents=["hi", usage])])
    sent = [AgentExecutorResponse("poet", response)]
    said = [AgentResponseUpdate(contents=["A [b]frog[/b]"]), AgentResponseUpdate(contents=["."])]
    made = [WorkflowEvent("executor_invoked", "go", executor_id="poet", turn=1, attempt=1)]
    made += [WorkflowEvent("output", each, executor_id="poet", turn=1) for each in said]
    made.append(WorkflowEvent("executor_completed", sent, executor_id="poet", turn=1, attempt=1))
    return made


def test_the_live_view_shows_turns_while_they_go_on_and_when_they_are_over() -> None:
    out = io.StringIO()
    tally = Tally()
    console = Console(file=out, force_terminal=True, width=40, highlight=False)
    *begin, end = events()
    with LiveView(tally, console) as view:
        for event in [*begin, WorkflowEvent.warning("look out")]:
            view.show(event, tally.note(event, 0.0))
        view._live.refresh()
        assert "A [b]frog[/b]." in out.getvalue()
        view.show(end, tally.note(end, 1.0))
        view.finish(RunResult(tally, 1.0))
    assert "look out" in out.getvalue()
    assert "done in 1.0 s; tokens: 3 read, 2 written" in out.getvalue()
    assert view._region().renderables == []


def test_the_live_view_shows_the_end_of_what_is_long() -> None:
    out = io.StringIO()
    tally = Tally()
    with LiveView(tally, Console(file=out, force_terminal=True, width=40)) as view:
        text = "\n".join(f"line {n}" for n in range(50))
        for event in (
            WorkflowEvent("executor_invoked", executor_id="poet", turn=1, attempt=1),
            WorkflowEvent("intermediate", text, executor_id="poet", turn=1),
        ):
            view.show(event, tally.note(event, 0.0))
        view._live.refresh()
    assert "line 49" in out.getvalue()
    assert "line 1\n" not in out.getvalue()


def test_an_answer_that_is_only_passed_on_is_not_counted_twice() -> None:
    tally = Tally()
    sent = events()[-1].data
    for event in (
        WorkflowEvent("executor_invoked", executor_id="desk", turn=1, attempt=1),
        WorkflowEvent("executor_completed", sent, executor_id="desk", turn=1),
        WorkflowEvent("executor_completed", executor_id="unheard of", turn=9),
    ):
        tally.note(event, 0.0)
    assert tally.usage is None
