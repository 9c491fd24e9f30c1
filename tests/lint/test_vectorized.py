from __future__ import annotations

import numpy as np
import pytest

from penstock import Dataset, Ragged


def codes(ds):
    return [finding.code for finding in ds.check().findings]


ROWS = Dataset.from_tensor_slices(np.arange(12.0).reshape(4, 3) + 1)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x - x.mean(),
        lambda x: x / x.std(),
        lambda x: np.cumsum(x, axis=0),
        lambda x: x[::-1],
        lambda x: np.full(len(x), x.sum()),
        lambda x: {"n": np.full(len(x), len(x)), "x": x},
        lambda x: np.arange(20)[x.astype(int)] - np.mean(x),
    ],
)
@pytest.mark.parametrize("make", [lambda ds: ds, lambda ds: ds.batch(2), lambda ds: ds.filter(bool_of_any)])
def test_a_result_that_depends_on_other_rows_is_found(function, make):
    (finding,) = (each for each in make(ROWS).map(function, vectorized=True).check().findings if each.code == "PS405")
    assert finding.warns
    assert "omit vectorized=True" in str(finding)


def bool_of_any(x):
    return bool(x.any())


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x - x.mean(axis=-1, keepdims=True),
        lambda x: x @ np.arange(3),
        lambda x: 1 / x,
        lambda x: {"x": x, "one": np.ones(len(x))},
        lambda x: np.random.default_rng().random(len(x)),  # different each time, which is another mistake
        lambda x: np.linalg.inv(x[:, :, None] * np.eye(3)),  # no inverse of zeros
        lambda x: np.arange(24)[x.astype(int)],  # no place for larger numbers
        lambda x: Ragged.from_rows(list(x)),
    ],
)
def test_a_result_of_its_row_is_fine(function):
    assert "PS405" not in codes(ROWS.map(function, vectorized=True))


def test_functions_of_a_part_and_predicates_are_looked_at_too():
    pairs = ROWS.map(lambda x: {"x": x, "y": 1})
    assert codes(pairs.map(lambda x: x - x.mean(), on="x", vectorized=True)) == ["PS405"]
    assert codes(ROWS.filter(lambda x: x.mean(axis=1) >= x.mean(), vectorized=True)) == ["PS405"]
    assert codes(ROWS.filter(lambda x: x.mean(axis=1) >= 2, vectorized=True)) == []


def test_the_element_is_not_changed():
    ds = Dataset.from_tensor_slices(np.ones((4, 2))).map(lambda x: np.multiply(x, 2, out=x), vectorized=True)
    assert codes(ds) == ["PS402"]
    assert next(iter(ds)).tolist() == [2.0, 2.0]
