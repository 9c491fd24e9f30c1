"""`apply`, `with_options` and `options`."""

from __future__ import annotations

import pytest

from penstock import Dataset, Options


def test_apply_keeps_a_chain_a_chain():
    assert list(Dataset.range(4).apply(lambda ds: ds.skip(2)).map(int)) == [2, 3]


@pytest.mark.parametrize(
    ("function", "says"), [(3, "expected a function, not int"), (list, "the function returned list, not a Dataset")]
)
def test_apply_takes_a_function_that_returns_a_dataset(function, says):
    with pytest.raises(TypeError, match=says):
        Dataset.range(4).apply(function)


def test_with_options_needs_options():
    with pytest.raises(TypeError, match=r"with_options\(\): expected penstock.Options, not dict"):
        Dataset.range(4).with_options({"workers": 2})


def test_ignored_codes_must_exist():
    with pytest.raises(ValueError, match="expected codes of findings, not 'PS999'; there are PS101"):
        Dataset.range(4).with_options(Options(ignore_lint="PS999"))


def test_options_are_those_set_so_far():
    ds = Dataset.range(4).with_options(Options(workers=2)).with_options(Options(seed=1))
    assert ds.options() == Options(workers=2, seed=1)
    assert Dataset.range(4).options() == Options()


def test_a_batch_in_parallel_sets_the_workers():
    assert Dataset.range(4).batch(2, num_parallel_calls=3, deterministic=False).options() == Options(
        workers=3, deterministic=False
    )
    assert Dataset.range(4).batch(2).options() == Options()
