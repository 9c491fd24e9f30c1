"""Options: refused when wrong, merged setting by setting."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from penstock import Options


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        ({"executor": "fork"}, ValueError, "executor='fork'"),
        ({"executor": 3}, TypeError, "not int"),
        ({"workers": 0}, ValueError, "workers=0"),
        ({"workers": 1.5}, TypeError, "workers=1.5"),
        ({"memory_budget": 0}, ValueError, "memory_budget=0"),
        ({"deterministic": 1}, TypeError, "deterministic="),
        ({"rewrite": "no"}, TypeError, "rewrite="),
        ({"seed": -1}, ValueError, "seed=-1"),
        ({"prefetch": 1}, TypeError, "prefetch"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(settings, error, says):
    with pytest.raises(error, match=says):
        Options(**settings)


def test_an_executor_may_be_handed_in():
    with ThreadPoolExecutor(1) as pool:
        assert Options(executor=pool).executor is pool


def test_the_later_setting_wins_and_what_it_leaves_open_stays():
    merged = Options(workers=2, seed=1).merged(Options(seed=7, deterministic=False))
    assert merged == Options(workers=2, seed=7, deterministic=False)


def test_only_what_is_set_is_shown():
    assert repr(Options()) == "Options()"
    assert repr(Options(deterministic=False, workers=3)) == "Options(workers=3, deterministic=False)"
