"""A log is a list that keeps every version of itself, cheaply."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from protocols._log import WIDTH, Log, Node

AROUND_CARRIES = sorted(
    {max(0, power + step) for power in (0, WIDTH, WIDTH**2, WIDTH**3) for step in (-1, 0, 1)}
)


@pytest.mark.parametrize("length", AROUND_CARRIES)
def test_a_log_is_the_list_of_its_items(length: int) -> None:
    items = list(range(length))
    log = Log(items)

    assert log == items
    assert items == log
    assert log == tuple(items)
    assert list(log) == items
    assert len(log) == length
    assert [log[at] for at in range(length)] == items
    assert [log[at] for at in range(-length, 0)] == items


@pytest.mark.parametrize("length", AROUND_CARRIES)
def test_growing_one_by_one_is_growing_at_once(length: int) -> None:
    log: Log[int] = Log()
    for item in range(length):
        log = log.appended(item)

    assert log == Log(range(length))
    assert log.levels == Log(range(length)).levels


@given(st.lists(st.lists(st.integers(), max_size=40), max_size=20))
def test_older_versions_stay_as_they_were(batches: list[list[int]]) -> None:
    versions: list[tuple[Log[int], list[int]]] = [(Log(), [])]
    for batch in batches:
        log, model = versions[-1]
        versions.append((log + batch, model + batch))

    for log, model in versions:
        assert log == model


@given(st.integers(0, 600), st.integers(-700, 700), st.integers(-700, 700), st.integers(-3, 3))
def test_slices_are_those_of_a_list(length: int, start: int, stop: int, step: int) -> None:
    model = list(range(length))

    assert Log(model)[start : stop : step or None] == model[start : stop : step or None]


def test_an_index_outside_is_an_error() -> None:
    log = Log([1, 2])

    for index in (2, -3):
        with pytest.raises(IndexError, match="2 items"):
            log[index]


def test_versions_share_their_full_nodes() -> None:
    older = Log(range(WIDTH**2 * 3))
    newer = older.extended(range(5))

    mine = [node for level in older.levels[1:] for node in level]
    theirs = [node for level in newer.levels[1:] for node in level]
    assert mine
    assert all(a is b for a, b in zip(mine, theirs, strict=True))


def test_an_append_makes_a_few_nodes_whatever_the_length() -> None:
    """Carries are rare, and none touches more than a node per level."""
    log = Log(range(WIDTH**3 - 1))
    before = set(map(id, _nodes(log)))

    grown = log.appended(0)

    assert len([node for node in _nodes(grown) if id(node) not in before]) <= 3
    assert max(len(level) for level in grown.levels) < WIDTH


def _nodes(log: Log[int]) -> list[Node]:
    found = [node for level in log.levels[1:] for node in level]
    for node in found:
        found.extend(item for item in node.items if isinstance(item, Node))
    return found


def test_a_log_of_a_log_shares_it() -> None:
    log = Log([1, 2])

    assert Log(log).levels is log.levels
    assert log.extended([]) is log


def test_logs_with_other_items_differ() -> None:
    lengths = [Log(range(n)) for n in (0, 1, WIDTH, WIDTH + 1, WIDTH**2)]
    for left, right in pairwise(lengths):
        assert left != right
    assert Log(range(300)) != Log([*range(299), 0])
    assert Log([1]) != [2]
    assert Log([1]) != [1, 2]
    assert Log([1]) != 1
    assert Node((1,)) != 1


def test_equal_logs_need_not_be_the_same_nodes() -> None:
    assert Log(range(300)) == Log(range(300))


def test_a_list_plus_a_log_is_a_list() -> None:
    zero, one = [0], Log([1])

    assert zero + one == [0, 1]
    assert repr(Log([1])) == "Log([1])"
    assert 1 in Log([1])
    assert list(reversed(Log([1, 2]))) == [2, 1]
    with pytest.raises(TypeError):
        (0,) + one  # noqa: RUF005  # the sum is the test


def test_logs_and_nodes_are_unhashable_like_lists() -> None:
    for thing in (Log([1]), Node((1,))):
        with pytest.raises(TypeError, match="unhashable"):
            hash(thing)


@pytest.mark.parametrize("change", ["append", "clear", "extend", "pop"])
def test_whoever_takes_a_log_for_a_list_is_told_what_to_do(change: str) -> None:
    with pytest.raises(AttributeError, match=rf"a Log has no {change}\(\): put another"):
        getattr(Log([1]), change)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        Log([1]).nonsense  # noqa: B018
