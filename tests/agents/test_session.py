"""A session survives as data, and a turn that fails leaves it as it was."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import attrs
import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel

from actors.agents._sessions._session import AgentSession
from actors.agents._sessions._state_codec import register_state_type
from protocols._log import Log
from protocols._message import Message


class Point:
    """A type with a dict form of its own."""

    def __init__(self, x: int) -> None:
        self.x = x

    def to_dict(self) -> dict[str, Any]:
        return {"type": "point", "x": self.x}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Point:
        return cls(data["x"])


class Unregistered(Point):
    pass


class Note(BaseModel):
    text: str


@attrs.frozen
class Fixed:
    x: int


def through_json(session: AgentSession) -> AgentSession:
    return AgentSession.from_dict(json.loads(json.dumps(session.to_dict())))


def as_bytes(session: AgentSession) -> bytes:
    return json.dumps(session.to_dict()).encode()


# ----------------------------------------------------------------------- as data


def test_a_session_has_an_id_that_cannot_be_changed() -> None:
    session = AgentSession(session_id="s1", service_session_id="conv")
    assert (session.session_id, session.service_session_id, session.state) == ("s1", "conv", {})
    assert AgentSession().session_id != AgentSession().session_id
    assert "s1" in repr(session)
    with pytest.raises(AttributeError):
        session.session_id = "s2"  # type: ignore[misc]  # the point of the test


def test_messages_in_the_state_come_back_as_messages() -> None:
    session = AgentSession(session_id="s1", service_session_id={"thread": 7})
    said = Message("user", ["hello"], message_id="m1", additional_properties={"a": [1]})
    session.state["in_memory"] = {"messages": Log([said]), "count": 3}
    back = through_json(session)
    assert back.state == {"in_memory": {"messages": [said], "count": 3}}
    assert (back.session_id, back.service_session_id) == ("s1", {"thread": 7})


def test_a_mapping_of_the_users_is_never_taken_for_one_of_our_types() -> None:
    """With a marker that anyone might use, a user's data would break the restore."""
    session = AgentSession()
    session.state["p"] = {"type": "message", "role": 7, "nested": {"$type": "message", "x": (1,)}}
    assert through_json(session).state == {
        "p": {"type": "message", "role": 7, "nested": {"$type": "message", "x": [1]}}
    }


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "type", "$type", "$value"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), plain, max_size=3))
def test_any_plain_state_comes_back_as_it_was(state: dict[str, Any]) -> None:
    session = AgentSession()
    session.state.update(state)
    assert through_json(session).state == state


def test_registered_types_come_back() -> None:
    register_state_type(Point)
    register_state_type(Point)  # once more changes nothing
    register_state_type(Note, type_id="tests.note")
    register_state_type(
        datetime,
        type_id="tests.datetime",
        encoder=lambda value: {"iso": value.isoformat()},
        decoder=lambda data: datetime.fromisoformat(data["iso"]),
    )
    session = AgentSession()
    when = datetime(2026, 1, 2, tzinfo=UTC)
    session.state["p"] = {"point": Point(3), "note": Note(text="n"), "when": when}
    found = through_json(session).state["p"]
    assert found["point"].x == 3
    assert found["note"] == Note(text="n")
    assert found["when"] == when


def test_the_default_id_of_a_type_is_what_the_class_says() -> None:
    class Named(Point):
        TYPE = "tests.named"

    class Asked(Point):
        @classmethod
        def _get_type_identifier(cls) -> str:
            return "tests.asked"

    register_state_type(Named)
    register_state_type(Asked)
    session = AgentSession()
    session.state["p"] = [Named(1), Asked(2)]
    assert [item["$type"] for item in session.to_dict()["state"]["p"]] == [
        "tests.named",
        "tests.asked",
    ]


def test_registrations_that_make_no_sense_are_refused() -> None:
    class Bare:
        pass

    class Other(Point):
        pass

    with pytest.raises(ValueError, match="both an encoder and a decoder"):
        register_state_type(Bare, encoder=lambda _: {})
    with pytest.raises(ValueError, match="has no to_dict"):
        register_state_type(Bare)
    register_state_type(Other, type_id="tests.other")
    with pytest.raises(ValueError, match="registered already"):
        register_state_type(Bare, type_id="tests.other", encoder=lambda _: {}, decoder=Point)  # type: ignore[arg-type]  # never called
    with pytest.raises(ValueError, match="registered already"):
        register_state_type(Other, type_id="tests.other.again")


def test_an_encoder_that_makes_no_mapping_is_told() -> None:
    class Odd:
        pass

    register_state_type(Odd, type_id="tests.odd", encoder=lambda _: [], decoder=lambda _: Odd())  # type: ignore[arg-type, return-value]  # the point of the test
    session = AgentSession()
    session.state["p"] = Odd()
    with pytest.raises(TypeError, match=r"tests\.odd"):
        session.to_dict()


def test_what_is_not_registered_is_never_lost_in_silence() -> None:
    class Draft(BaseModel):
        text: str

    session = AgentSession()
    session.state["p"] = {"a": Unregistered(4), "b": {1}}
    assert session.to_dict()["state"] == {"p": {"a": {"type": "point", "x": 4}, "b": [1]}}
    session.state["p"] = Draft(text="d")
    with pytest.warns(DeprecationWarning, match="register_state_type"):
        data = session.to_dict()
    assert AgentSession.from_dict(data).state["p"] == Draft(text="d")
    something = object()
    session.state["p"] = something
    with pytest.warns(RuntimeWarning, match="left as it is"):
        assert session.to_dict()["state"]["p"] is something


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"type": "message"}, "not the data of a session"),
        ({"session_id": "s", "type": "other"}, "not the data of a session"),
        ({"session_id": "s", "state": {"p": {"$type": "tests.nobody"}}}, "isn't registered"),
        ({"session_id": "s", "state": {"p": {"$type": "message"}}}, "can't be read"),
    ],
)
def test_data_that_is_no_session_is_refused(data: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        AgentSession.from_dict(data)


# ------------------------------------------------------------------ working copies


def test_a_working_copy_leaves_the_original_byte_equal() -> None:
    """Rule R42: what a failed turn has written must not be seen by the next one."""
    session = AgentSession(session_id="s1")
    session.state["in_memory"] = {"messages": Log([Message("user", ["a"])]), "tags": ["x", ["y"]]}
    before = as_bytes(session)
    work = session.working_copy()
    assert as_bytes(work) == before
    work.state["in_memory"]["messages"] += [Message("assistant", ["b"])]
    work.state["in_memory"]["tags"][1].append("z")
    work.state["more"] = {}
    work.service_session_id = "conv"
    assert as_bytes(session) == before
    changed = as_bytes(work)
    assert (session.is_working_copy, work.is_working_copy) == (False, True)
    session.adopt(work)
    assert as_bytes(session) == changed
    assert not work.is_working_copy


def test_a_working_copy_shares_what_cannot_change() -> None:
    session = AgentSession()
    log, fixed = Log([Message("user", ["a"])]), Fixed(1)
    session.state["p"] = {"messages": log, "fixed": fixed}
    work = session.working_copy()
    assert work.state["p"]["messages"] is log
    assert work.state["p"]["fixed"] is fixed
    assert work.state["p"] is not session.state["p"]


def test_a_working_copy_copies_objects_it_does_not_know_and_keeps_cycles() -> None:
    session = AgentSession()
    loop: list[Any] = [Point(1)]
    loop.append(loop)
    session.state["p"] = {"loop": loop, "again": loop, "tags": {"a"}}
    work = session.working_copy()
    copy = work.state["p"]["loop"]
    assert copy[0] is not loop[0]
    assert copy[1] is copy
    assert work.state["p"]["again"] is copy
    assert work.state["p"]["tags"] == {"a"}


def test_a_subclass_of_a_session_stays_one() -> None:
    class Mine(AgentSession):
        tenant = "none"

    session = Mine(session_id="s")
    session.tenant = "t1"
    work = session.working_copy()
    assert isinstance(work, Mine)
    assert work.tenant == "t1"


def test_two_copies_that_come_home_keep_what_either_has_changed() -> None:
    """Two executors that share a session in one round must not lose one of the two answers."""
    a, b, c = (Message("user", [text]) for text in "abc")
    session = AgentSession()
    session.state["h"] = {"messages": Log([a]), "old": 1, "gone": 1, "list": [1, {"k": 1}]}
    state = session.state
    one, two = session.working_copy(), session.working_copy()
    one.state["h"]["messages"] += [b]
    one.state["mine"] = {"x": 1}
    one.state["h"]["list"].append(2)
    del one.state["h"]["gone"]
    one.service_session_id = "conv"
    two.state["h"]["messages"] += [c]
    two.state["h"]["old"] = 2
    session.adopt(one)
    session.adopt(two)
    assert session.state is state
    assert state == {
        "h": {"messages": [a, b, c], "old": 2, "list": [1, {"k": 1}, 2]},
        "mine": {"x": 1},
    }
    assert session.service_session_id == "conv"


def test_two_copies_may_both_begin_a_history() -> None:
    a, b = Message("user", ["a"]), Message("user", ["b"])
    session = AgentSession()
    one, two = session.working_copy(), session.working_copy()
    one.state["h"] = {"messages": Log([a]), "n": 1}
    two.state["h"] = {"messages": Log([b]), "n": 2}
    session.adopt(one)
    session.adopt(two)
    assert session.state == {"h": {"messages": [a, b], "n": 2}}


def test_a_copy_of_a_copy_comes_home_after_it() -> None:
    """An executor that takes two messages in one round commits both at its end."""
    a, b = Message("user", ["a"]), Message("user", ["b"])
    session = AgentSession()
    one = session.working_copy()
    one.state["h"] = {"messages": Log([a])}
    two = one.working_copy()
    two.state["h"]["messages"] += [b]
    session.adopt(one)
    session.adopt(two)
    assert session.state == {"h": {"messages": [a, b]}}


def test_a_history_that_was_replaced_wins_over_one_that_grew() -> None:
    a, b = Message("user", ["a"]), Message("user", ["b"])
    session = AgentSession()
    session.state["h"] = {"messages": Log([a, b])}
    one, two = session.working_copy(), session.working_copy()
    one.state["h"]["messages"] += [a]
    two.state["h"]["messages"] = Log([b])  # compaction, say
    session.adopt(one)
    session.adopt(two)
    assert session.state == {"h": {"messages": [b]}}


def test_another_session_is_adopted_as_it_is() -> None:
    session, other = AgentSession(), AgentSession(service_session_id="conv")
    session.state["a"] = 1
    other.state["b"] = 2
    session.adopt(other)
    assert (session.state, session.service_session_id) == ({"b": 2}, "conv")


def test_held_messages_are_those_that_the_model_gets_again() -> None:
    a, b = Message("user", ["a"]), Message("user", ["b"])
    session = AgentSession()
    session.state["in_memory"] = {"messages": Log([a])}
    session.state["audit"] = {"messages": Log([b]), "not_loaded": True}
    session.state["other"] = {"messages": ["no message"], "n": 1}
    session.state["plain"] = 7
    assert session.held_messages() == [a]
