"""`with_options`: the later over the earlier, wherever in the plan."""

from __future__ import annotations

from penstock import Dataset, Options
from penstock.ops.buffer.options import options_of


def test_later_options_override_earlier_ones():
    ds = Dataset.range(3).with_options(Options(workers=2, seed=1)).map(abs).with_options(Options(seed=2))
    assert options_of(ds._plan) == Options(workers=2, seed=2)


def test_options_of_the_inputs_count():
    one = Dataset.range(3).with_options(Options(workers=2))
    other = Dataset.range(3).with_options(Options(seed=1))
    assert Dataset.zip(one, other).options() == Options(workers=2, seed=1)


def test_a_plan_without_options_has_none():
    assert options_of(Dataset.range(3)._plan) == Options()


def test_explain_shows_the_arguments_as_written():
    assert Dataset.range(3).with_options(Options(workers=2))._plan.label() == "with_options(workers=2)"
