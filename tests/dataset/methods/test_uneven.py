"""`padded_batch`, `ragged_batch` and `sparse_batch` as a user calls them; `tests/ops/group` has what they make."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.elements.spec import compatible, spec_of
from penstock.testing.laws import verify_determinism, verify_resume

WORDS = ps.Dataset.from_tensor_slices({"t": ps.Ragged.from_rows([range(n % 5) for n in range(23)]), "y": np.arange(23)})

BATCHES = [
    lambda ds: ds.padded_batch(4),
    lambda ds: ds.padded_batch(4, {"t": [6], "y": ()}, {"t": -1, "y": None}, drop_remainder=True),
    lambda ds: ds.ragged_batch(4),
    lambda ds: ds.sparse_batch(4, {"t": [None], "y": ()}),
    lambda ds: ds.ragged_batch(2, drop_remainder=True).batch(3),
]


@pytest.mark.parametrize("batches", BATCHES)
@pytest.mark.parametrize("source", [WORDS, WORDS.map(lambda element: element)])
def test_uneven_batches_keep_the_laws(batches, source):
    ds = batches(source.shuffle(seed=3))
    verify_determinism(ds)
    verify_resume(ds, options=ps.Options(executor="threads", workers=2))


@pytest.mark.parametrize("batches", BATCHES)
@pytest.mark.parametrize("source", [WORDS, WORDS.map(lambda element: element)])
def test_the_spec_fits_the_batches(batches, source):
    ds = batches(source)
    assert all(compatible(spec_of(element), ds.element_spec) for element in ds)
