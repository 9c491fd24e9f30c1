"""Constructors that are called on a dataset."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock import tf_data


@pytest.mark.parametrize("dataset", [ps.Dataset, tf_data.Dataset])
def test_zip_called_on_a_dataset_is_an_error(dataset):
    one, other = dataset.range(3), dataset.range(2)
    with pytest.raises(TypeError, match=r"^zip\(\): .* Dataset\.zip\(ds, other\)"):
        one.zip(other)
    assert list(dataset.zip(one, other)) == [(0, 0), (1, 1)]
