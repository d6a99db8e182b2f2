"""The pure parts: paths, digests, the journal, and what makes code the same."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given, settings, strategies as st

from actors import step, workflow
from actors.workflows._functional._code import code_of, differences
from actors.workflows._functional._digest import changed, digest_of
from actors.workflows._functional._journal import Answered, Asked, Journal, StepBegun, StepDone
from actors.workflows._functional._paths import quoted, spawned
from actors.workflows._functional._records import all_changes, records_of

text = st.text(st.characters(codec="utf-8"))
plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | text
finite = (
    st.none()
    | st.booleans()
    | st.integers()
    | text
    | st.floats(allow_nan=False, allow_infinity=False)
)
values = st.recursive(
    finite, lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner), max_leaves=5
)


def exactly(value: Any) -> Any:
    """What tells values apart that Python takes for equal: 1, True and 1.0."""
    if isinstance(value, list | tuple):
        return type(value).__name__, [exactly(item) for item in value]
    return type(value).__name__, repr(value)


@given(text, text)
def test_names_that_differ_stay_different_and_take_no_path_apart(one: str, other: str) -> None:
    assert (quoted(one) == quoted(other)) == (one == other)
    assert not set("/#?=&^") & set(quoted(one))


def test_a_function_that_moved_is_spawned_under_the_same_name() -> None:
    assert spawned("package.module.outer.<locals>.branch") == spawned("other.branch")
    assert spawned("branch") != spawned("twig")


@settings(max_examples=30)
@given(st.lists(values, max_size=3), st.lists(values, max_size=3))
def test_arguments_have_one_digest_exactly_if_they_are_the_same(one: Any, other: Any) -> None:
    assert digest_of(one, {}) is not None
    assert (digest_of(one, {}) == digest_of(other, {})) == (exactly(one) == exactly(other))


@given(
    st.text(st.characters(codec="utf-8"), min_size=100), st.dictionaries(text, finite, min_size=1)
)
def test_a_digest_is_short(long: str, kwargs: dict[str, Any]) -> None:
    for digest in (digest_of([long], {}), digest_of([], kwargs)):
        assert digest is not None
        assert len(digest) <= 48
    assert digest_of([long], {}) != digest_of([long], kwargs)


def test_what_cannot_be_encoded_has_no_digest() -> None:
    assert digest_of([object()], {}) is None
    assert digest_of([[object()]], {"a": 1}) is None
    assert digest_of(["\ud800"], {}) is not None


def test_only_changed_values_are_named() -> None:
    assert changed({"a": b"1", "b": b"2", "c": None}, {"a": b"1", "b": b"3", "c": None}) == ["b"]


# ----------------------------------------------------------------------------- the journal

paths = st.sampled_from(["/a#0", "/a#1", "/b#0"])
digests = st.none() | st.sampled_from([b"x", b"y"])
records = st.one_of(
    st.builds(StepDone, paths, digests, st.integers(), st.none() | st.just({"k": 1})),
    st.builds(StepBegun, paths, digests, st.booleans()),
    st.builds(Asked, paths, st.sampled_from(["q1", "q2"]), st.just("s"), plain, st.just(str)),
)


@given(st.lists(records))
def test_a_result_is_given_for_its_own_place_and_arguments_only(news: list[Any]) -> None:
    journal = Journal(news)
    for path in ("/a#0", "/a#1", "/b#0"):
        for digest in (None, b"x", b"y"):
            found = journal.steps.get(journal.place_of_step(path, digest))
            if found is None:
                continue
            assert found.path == path
            assert None in {found.digest, digest} or found.digest == digest


@settings(max_examples=30)
@given(st.lists(records), st.dictionaries(paths, text))
def test_what_is_stored_of_a_journal_is_all_of_it(news: list[Any], said: dict[str, str]) -> None:
    journal = Journal(news)
    for path, answer in said.items():
        if path in journal.asked:
            journal.add(Answered(path, answer))
    stored = Journal(records_of(all_changes(journal)))
    assert {p: attrs.astuple(r) for p, r in stored.steps.items()} == {
        p: attrs.astuple(r) for p, r in journal.steps.items()
    }
    assert stored.asked == journal.asked
    assert stored.answers == journal.answers
    assert stored.begun == journal.begun
    requests = {key for key in all_changes(journal) if key.startswith("request/")}
    assert requests == {f"request/{name}" for name in journal.open}


def test_answers_accumulate_and_leave_the_attempt_before_as_it_was() -> None:
    journal = Journal([Asked("/?#0", "q1", "s", "a", str), Asked("/?#1", "q2", "s", "b", str)])
    one = journal.again({"/?#0": "yes"})
    two = one.again({"/?#1": "no"})
    assert (set(journal.open), set(one.open), set(two.open)) == ({"q1", "q2"}, {"q2"}, set())
    # Results are facts, so that no attempt finds them anew.
    two.add(StepDone("/a#0", b"x", 1))
    assert "/a#0" in journal.steps


# ----------------------------------------------------------------------------- code


def helper(x: int) -> int:
    return x + 1


@step
async def uses_helper(x: int) -> int:
    return helper(x)


def test_the_code_of_a_workflow_is_that_of_all_it_leads_to() -> None:
    def inner() -> int:
        return len("not ours") + later()

    def later() -> int:
        return 1

    @workflow
    async def child() -> int:
        return inner()

    @workflow
    async def parent(x: int) -> int:
        async def branch() -> int:
            return await uses_helper(x)

        return await branch() + await child()

    found = code_of(parent.function)
    assert sorted(found) == ["child", "helper", "inner", "later", "parent", "uses_helper"]
    assert code_of(parent) == found


def test_functions_of_one_name_are_told_apart() -> None:
    def make(n: int) -> Any:
        def same() -> int:
            return 1

        def other() -> Any:
            return same

        return same if n == 0 else other()

    def same() -> int:
        return 2

    first = make(0)

    @workflow
    async def flow() -> int:
        return int(first()) + same()

    assert len(code_of(flow)) == 3
    assert "same (2)" in code_of(flow)


def test_what_a_closure_holds_may_change() -> None:
    count = 0

    @workflow
    async def counts() -> None:
        nonlocal count
        count += 1

    before = code_of(counts)
    count = 5
    assert code_of(counts) == before


def test_without_its_text_the_compiled_code_has_to_do() -> None:
    def compiled(text: str) -> Any:
        names: dict[str, Any] = {}
        exec(text, names)
        return names["f"]

    one, same = (compiled("async def f(x):\n    return x + 1") for _ in range(2))
    other = compiled("async def f(x):\n    return x + 2")
    assert code_of(one) == code_of(same)
    assert differences(code_of(one), code_of(other)) == ("f: its code has changed",)


@pytest.mark.parametrize(
    ("stored", "present", "expected"),
    [
        ({}, {}, ()),
        ({"a": "1"}, {"a": "1"}, ()),
        ({"a": "1", "b": "1"}, {"a": "2", "c": "1"}, ("a: its code has changed", "- b", "+ c")),
    ],
)
def test_differences_are_named_one_by_one(stored: Any, present: Any, expected: Any) -> None:
    assert differences(stored, present) == expected
