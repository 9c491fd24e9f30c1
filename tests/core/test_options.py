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
        (
            {"executor": ThreadPoolExecutor},
            TypeError,
            r"a class, not an executor; make one, such as ThreadPoolExecutor\(4\)",
        ),
        ({"workers": 0}, ValueError, "workers=0"),
        ({"workers": 1.5}, TypeError, "workers=1.5"),
        ({"memory_budget": 0}, ValueError, "memory_budget=0"),
        ({"cores": 0}, ValueError, "cores=0"),
        ({"cores": 2, "executor": "ray"}, ValueError, "give it fewer workers or cores"),
        ({"deterministic": 1}, TypeError, "deterministic="),
        ({"rewrite": "no"}, TypeError, "rewrite="),
        ({"seed": -1}, ValueError, "seed=-1"),
        ({"prefetch": 1}, TypeError, "prefetch"),
        ({"ignore_lint": "PS1"}, ValueError, "'PS1' is not a code"),
        ({"ignore_lint": ("PS101", "shuffle")}, ValueError, "'shuffle' is not a code"),
        ({"ignore_lint": (101,)}, TypeError, "not int"),
        ({"ignore_lint": 101}, TypeError, "not int"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(settings, error, says):
    with pytest.raises(error, match=says):
        Options(**settings)


def test_an_executor_can_be_passed():
    with ThreadPoolExecutor(1) as pool:
        assert Options(executor=pool).executor is pool


def test_cores_cannot_bind_the_workers_of_an_executor_that_was_passed():
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(ValueError, match=r"Options\(cores=1\): Penstock cannot limit the cores"),
    ):
        Options(cores=1).merged(Options(executor=pool))


def test_later_settings_override_only_those_that_they_set():
    merged = Options(workers=2, seed=1).merged(Options(seed=7, deterministic=False))
    assert merged == Options(workers=2, seed=7, deterministic=False)


def test_only_what_is_set_is_shown():
    assert repr(Options()) == "Options()"
    assert repr(Options(deterministic=False, workers=3)) == "Options(workers=3, deterministic=False)"


def test_ignored_codes_add_up():
    merged = Options(ignore_lint="PS102").merged(Options(ignore_lint=["PS101", "PS102"])).merged(Options(workers=1))
    assert merged.ignore_lint == ("PS102", "PS101")
    assert merged.ignores("PS101")
    assert not merged.ignores("PS103")
    assert Options(ignore_lint="all").ignores("PS103")
    assert repr(Options(ignore_lint="all")) == "Options(ignore_lint=('all',))"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Options(num_workers=4), r"Options\(num_workers=\): there is no such setting; workers= sets it"),
        (lambda: Options(wokers=4), "did you mean workers="),
        (lambda: Options(prefetch=2), r"ds\.prefetch\(n\) sets it"),
        (lambda: Options(colour=2), "expected executor, isolate, workers, "),
        (lambda: Options(4), r"Options\(workers=4\)"),
    ],
)
def test_an_unknown_setting_suggests_the_right_one(call, said):
    with pytest.raises(TypeError, match=said):
        call()
