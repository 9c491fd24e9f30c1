from __future__ import annotations

import pickle

import pytest

import penstock as ps
from penstock.core.on_error import JUDGED_FROM, NO_VALUE, ErrorBudget, OnError, budget_of, on_error_of


@pytest.mark.parametrize("count", [0, 1, 5])
def test_a_count_allows_that_many_failures(count):
    budget = ErrorBudget(count=count)
    assert budget.exceeded(100, count, 1) is None
    assert budget.exceeded(100, count + 1, 1) == f"{count + 1} of 100 elements failed; at most {count} are allowed"


def test_a_run_allows_that_many_consecutive_failures():
    budget = ErrorBudget(run=3)
    assert budget.exceeded(1000, 900, 3) is None
    assert budget.exceeded(1000, 900, 4) == "4 elements failed in a row; at most 3 are allowed"


def test_a_rate_is_judged_once_there_are_enough_and_at_the_end():
    budget = ErrorBudget(rate=0.1)
    assert budget.exceeded(JUDGED_FROM - 1, JUDGED_FROM - 1, 9) is None
    assert budget.exceeded(JUDGED_FROM * 10, JUDGED_FROM, 1) is None
    assert budget.exceeded(JUDGED_FROM * 10 - 1, JUDGED_FROM, 1) is not None
    assert budget.exceeded(20, 2, 1, ended=True) is None
    assert budget.exceeded(19, 2, 1, ended=True) is not None
    assert ErrorBudget(rate=0).exceeded(20, 0, 0, ended=True) is None


def test_several_limits_apply_together():
    budget = ErrorBudget(count=5, rate=0.5, run=2)
    assert budget.exceeded(9, 3, 3) is not None
    assert budget.exceeded(99, 6, 1) is not None
    assert budget.exceeded(99, 5, 2) is None
    assert repr(budget) == "ErrorBudget(count=5, rate=0.5, run=2)"
    assert repr(ErrorBudget(run=1)) == "ErrorBudget(run=1)"


@pytest.mark.parametrize("wrong", [{}, {"count": -1}, {"run": -2}, {"rate": 1.5}, {"rate": -0.1}])
def test_an_invalid_budget_is_refused(wrong):
    with pytest.raises(ValueError, match="ErrorBudget"):
        ErrorBudget(**wrong)


def test_a_number_is_a_budget_by_count():
    assert ErrorBudget(3) == ErrorBudget(count=3)
    assert budget_of("skip", 3) == ErrorBudget(count=3)
    assert budget_of("skip", None) is None
    with pytest.raises(ValueError, match=r"skip\(budget=-1\)"):
        ps.on_error.skip(-1)


def test_on_error_accepts_names_and_policies(tmp_path):
    assert on_error_of("map", "raise") is None
    assert on_error_of("map", "skip") == ps.on_error.skip() == OnError()
    assert on_error_of("map", ps.on_error.replace(0)) == OnError(0)
    assert not ps.on_error.skip().counts
    assert ps.on_error.skip(3).counts
    assert ps.on_error.skip(quarantine=tmp_path / "bad.jsonl").quarantine == str(tmp_path / "bad.jsonl")
    for wrong in ("ignore", None, 0, True):
        with pytest.raises(ValueError, match="expected 'raise', 'skip'"):
            on_error_of("map", wrong)


def test_budgets_and_policies_show_their_code():
    assert (
        repr(ps.on_error.skip(3, quarantine="bad.jsonl")) == "skip(budget=ErrorBudget(count=3), quarantine='bad.jsonl')"
    )
    assert repr(ps.on_error.replace({"x": 0})) == "replace({'x': 0})"


def test_the_placeholder_keeps_its_identity_in_another_process():
    assert pickle.loads(pickle.dumps(ps.on_error.skip())).value is NO_VALUE
