"""How pytest-trio, Hypothesis and virtual time work together, as the guide says."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]


def test_hypothesis_refuses_the_fixture_that_the_guide_says_not_to_take(
    pytester: pytest.Pytester,
) -> None:
    """And takes `@seeds` in its place, also below `trio_mode`, where each example has a clock."""
    pytester.makeini("[pytest]\ntrio_mode = true")
    pytester.makepyfile(
        """
        import trio
        from hypothesis import given, settings, strategies as st
        from actors.testing import seeds

        @given(st.integers())
        async def test_with_the_fixture(autojump_clock, number):
            pass

        @settings(max_examples=5, deadline=None)
        @given(st.integers())
        @seeds(2)
        async def test_with_seeds(number):
            assert trio.current_time() == 0
            await trio.sleep(1000)
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:xdist")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*FailedHealthCheck*"])
