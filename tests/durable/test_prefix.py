"""Only the durable prefix of a run's commits is visible, whatever a store does."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from actors.workflows._durable._prefix import DurablePrefix


@given(st.data())
def test_what_is_seen_is_always_the_longest_safe_prefix(data: st.DataObject) -> None:
    prefix: DurablePrefix[int] = DurablePrefix()
    count = data.draw(st.integers(0, 8))
    tickets = [prefix.add(n) for n in range(count)]
    safe: set[int] = set()
    seen: list[int] = []
    for n in data.draw(st.permutations(range(count))):
        seen += prefix.saved(tickets[n])
        safe.add(n)
        longest = next((i for i in range(count) if i not in safe), count)
        assert seen == list(range(longest))
        assert len(prefix) == count - longest


@given(st.data())
def test_nothing_behind_a_failed_write_is_ever_seen(data: st.DataObject) -> None:
    prefix: DurablePrefix[int] = DurablePrefix()
    count = data.draw(st.integers(1, 8))
    tickets = [prefix.add(n) for n in range(count)]
    broken = data.draw(st.integers(0, count - 1))
    seen: list[int] = []
    for n in data.draw(st.permutations(range(count))):
        if n == broken:
            assert prefix.failed() == list(range(len(seen), count))
        else:
            seen += prefix.saved(tickets[n])
    assert seen == list(range(len(seen)))
    assert len(seen) <= broken
    late = prefix.add(count)
    assert prefix.saved(late) == []
