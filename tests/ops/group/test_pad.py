"""Padding: `pad_to_cardinality`, and `batch(remainder="pad")`."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import INFINITE, UNKNOWN, Dataset
from penstock.core.errors import DataError, ElementError, PlanError
from penstock.testing.laws import same, verify_determinism, verify_resume

DS = Dataset.from_tensor_slices({"x": np.arange(1, 7, dtype=np.float32).reshape(3, 2), "s": ["a", "b", "c"]})


def stream(ds):
    return ds.filter(lambda *element: True)


@pytest.mark.parametrize("source", [DS, stream(DS)], ids=["indexed", "stream"])
@pytest.mark.parametrize("count", [3, 4, 9])
def test_zeros_follow_the_real_elements(source, count):
    ds = source.pad_to_cardinality(count)
    assert len(ds) == count
    made = list(ds)
    assert [element["valid"] for element in made] == [True] * 3 + [False] * (count - 3)
    assert all(same({"x": one["x"], "s": one["s"]}, other) for one, other in zip(made[:3], DS, strict=True))
    for element in made[3:]:
        assert same(element, {"x": np.zeros(2, np.float32), "s": "", "valid": False})
    verify_resume(ds)
    verify_determinism(ds)


@pytest.mark.parametrize("ds", [Dataset.range(2), stream(Dataset.range(2))], ids=["indexed", "stream"])
def test_elements_that_are_no_dicts_become_pairs_with_flags(ds):
    assert list(ds.pad_to_cardinality(3)) == [(0, True), (1, True), (0, False)]


def test_mask_key_names_the_flags():
    ds = DS.pad_to_cardinality(4, mask_key="real")
    assert [element["real"] for element in ds] == [True, True, True, False]
    with pytest.raises(PlanError, match="already has 'real'; choose another name for the mask"):
        ds.pad_to_cardinality(5, mask_key="real")
    with pytest.raises(TypeError, match=r"mask_key=3"):
        DS.pad_to_cardinality(4, 3)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("source", [DS, stream(DS), DS.map(lambda e: e)], ids=["indexed", "stream", "mapped"])
def test_all_batches_are_full_and_flag_the_real_elements(source, size):
    ds = source.batch(size, remainder="pad")
    batches = list(ds)
    assert len(batches) == -(-3 // size)
    assert all(len(batch["x"]) == len(batch["s"]) == len(batch["valid"]) == size for batch in batches)
    real = np.concatenate([batch["valid"] for batch in batches])
    assert real.tolist() == [True] * 3 + [False] * (len(real) - 3)
    assert np.concatenate([batch["x"] for batch in batches])[~real].sum() == 0
    assert np.concatenate([batch["s"] for batch in batches]).tolist() == [*"abc", *[""] * (len(real) - 3)]
    verify_resume(ds)
    verify_determinism(ds)


def test_the_spec_of_padded_batches_is_known_in_full():
    assert repr(DS.batch(2, remainder="pad").element_spec) == "{'x': float32[2, 2], 's': object[2], 'valid': bool[2]}"
    assert repr(Dataset.range(3).batch(2, remainder="pad").element_spec) == "(int64[2], bool[2])"


def test_remainder_names_the_policy():
    ds = Dataset.range(5)
    assert [batch.tolist() for batch in ds.batch(2, remainder="keep")] == [[0, 1], [2, 3], [4]]
    assert [batch.tolist() for batch in ds.batch(2, remainder="drop")] == [[0, 1], [2, 3]]
    assert ds.batch(2, remainder="drop").fingerprint() == ds.batch(2, drop_remainder=True).fingerprint()
    with pytest.raises(ValueError, match=r'remainder=\'fill\'\): expected "keep", "drop" or "pad"'):
        ds.batch(2, remainder="fill")
    with pytest.raises(ValueError, match="drop_remainder=True contradicts it"):
        ds.batch(2, True, remainder="pad")


def test_each_epoch_of_a_shuffle_is_padded_separately():
    ds = Dataset.range(5).shuffle(seed=1).batch(4, remainder="pad")
    for epoch in range(2):
        made = [x for batch, real in ds.iterator(epoch=epoch) for x in batch[real].tolist()]
        assert sorted(made) == [0, 1, 2, 3, 4]
    assert len(list(ds.repeat(3))) == 6


def test_batches_of_endless_datasets_are_all_real():
    ds = Dataset.counter().batch(2, remainder="pad")
    assert ds.cardinality() == INFINITE
    assert all(real.all() for _, real in ds.take(3))


def test_empty_datasets_are_supported():
    assert list(Dataset.range(0).batch(2, remainder="pad")) == []
    assert list(stream(Dataset.range(0)).batch(2, remainder="pad")) == []
    for empty in (Dataset.range(0), stream(Dataset.range(0))):
        assert list(empty.pad_to_cardinality(2)) == [(0, False), (0, False)]
    assert list(Dataset.range(0).pad_to_cardinality(0)) == []
    with pytest.raises(PlanError, match="is empty, so the type of padding is unknown"):
        Dataset.range(0).map(lambda x: x).pad_to_cardinality(2)
    with pytest.raises(ElementError, match="the padding is unknown"):
        list(stream(Dataset.range(0)).map(lambda x: x).pad_to_cardinality(2))


def test_too_many_elements_are_refused():
    with pytest.raises(PlanError, match="this dataset has 3 elements already"):
        DS.pad_to_cardinality(2)
    with pytest.raises(PlanError, match="this dataset has no end already"):
        Dataset.counter().pad_to_cardinality(2)
    ds = stream(DS)
    assert ds.cardinality() == UNKNOWN
    with pytest.raises(DataError, match="more than 2 elements"):
        list(ds.pad_to_cardinality(2))


def test_an_object_that_has_no_zero_is_named():
    with pytest.raises(ElementError, match="would need a zero for"):
        list(Dataset.from_source([{1}, {2}]).pad_to_cardinality(3))
