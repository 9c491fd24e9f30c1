"""`split`: parts that share nothing and have it all."""

from __future__ import annotations

from fractions import Fraction

import cloudpickle
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Dataset, Options
from penstock.core.errors import ElementError, PlanError
from penstock.testing.laws import verify_determinism, verify_resume

FRACTIONS = st.sampled_from([{"a": 1}, {"train": 0.9, "val": 0.1}, {"x": 0.5, "y": 0, "z": 0.5}, {0: 1 / 3, 1: 2 / 3}])


@given(st.integers(0, 60), FRACTIONS, st.integers(0, 2**64 - 1), st.sampled_from([None, lambda x: int(x) // 3]))
def test_parts_are_disjoint_and_exhaustive_in_every_epoch(size, fractions, seed, key):
    parts = Dataset.range(size).split(fractions, seed=seed, key_func=key)
    assert list(parts) == list(fractions)
    assert sorted(x for part in parts.values() for x in part) == list(range(size))
    for part in parts.values():
        assert list(part.iterator(epoch=5)) == list(part)
        assert [part[row] for row in range(len(part))] == list(part)


@pytest.mark.parametrize(
    ("size", "sizes"), [(0, [0, 0]), (1, [1, 0]), (9, [8, 1]), (10, [9, 1]), (10**9, [9 * 10**8, 10**8])]
)
def test_part_sizes_are_exact_to_one_element(size, sizes):
    parts = Dataset.range(size).split({"train": 0.9, "val": 0.1}).values()
    assert [len(part) for part in parts] == sizes


def test_the_seed_chooses_and_the_default_is_fixed():
    ds, half = Dataset.range(100), {"a": 0.5, "b": 0.5}
    assert list(ds.split(half)["a"]) == list(ds.split(half, seed=0)["a"])
    assert set(ds.split(half, seed=1)["a"]) != set(ds.split(half)["a"])
    assert set(ds.split(half, 1, key_func=int)["a"]) != set(ds.split(half, key_func=int)["a"])


def test_split_and_shuffle_with_one_seed_have_different_orders():
    ds = Dataset.range(100)
    assert list(ds.split({"all": 1}, seed=3)["all"]) != list(ds.shuffle(seed=3).iterator(epoch=0))


def test_fractions_count_as_written_decimals():
    parts = Dataset.range(10).split({"a": 0.3, "b": 0.3, "c": 0.4})
    assert [len(part) for part in parts.values()] == [3, 3, 4]
    third = Fraction(1, 3)
    assert [len(p) for p in Dataset.range(9).split({"a": third, "b": third, "c": third}).values()] == [3, 3, 3]


def test_equal_keys_stay_together_and_growing_data_moves_no_element():
    people = [f"person {row // 4}" for row in range(400)]
    fractions = {"train": 0.8, "val": 0.2}

    def split(rows):
        parts = Dataset.from_tensor_slices((people[:rows], np.arange(rows))).split(
            fractions, key_func=lambda name, _: name
        )
        return {name: {int(row) for _, row in part} for name, part in parts.items()}

    few, many = split(200), split(400)
    assert many["train"] & set(range(200)) == few["train"]
    assert {row // 4 for row in many["train"]} & {row // 4 for row in many["val"]} == set()
    assert 40 <= len(many["val"]) <= 120
    in_order = list(Dataset.range(400).split(fractions, key_func=int)["val"])
    assert in_order == sorted(in_order)


def test_keys_are_computed_once_when_a_length_is_needed():
    calls = []

    def key(x):
        calls.append(int(x))
        return int(x)

    parts = Dataset.range(20).split({"a": 0.5, "b": 0.5}, key_func=key)
    both = {name: part.map(lambda x: x).batch(4) for name, part in parts.items()}
    assert calls == []
    assert sorted(x for part in both.values() for batch in part for x in batch.tolist()) == list(range(20))
    assert calls == list(range(20))


def test_keys_count_in_order_whatever_the_options():
    loose = Dataset.range(300).map(lambda x: x, deterministic=False)
    loose = loose.with_options(Options(executor="threads", workers=4, deterministic=False))
    plain = Dataset.range(300).split({"a": 0.5, "b": 0.5}, key_func=int)
    assert sorted(loose.split({"a": 0.5, "b": 0.5}, key_func=int)["a"]) == list(plain["a"])


def test_a_pickled_part_keeps_its_hashes():
    calls = []
    part = Dataset.range(20).split({"a": 0.5, "b": 0.5}, key_func=lambda x: calls.append(x) or str(x))["a"]
    whole = list(part)
    asked = len(calls)
    assert list(cloudpickle.loads(cloudpickle.dumps(part))) == whole
    assert len(calls) == asked


def test_fingerprints_of_parts_differ_without_a_pass():
    def key(x):
        raise AssertionError("a fingerprint needs no keys")

    ds = Dataset.range(20)
    for how in ({}, {"key_func": key}):
        parts = ds.split({"a": 0.5, "b": 0.5}, **how)
        again = ds.split({"a": 0.5, "b": 0.5}, **how)
        other = ds.split({"a": 0.5, "b": 0.5}, seed=1, **how)
        prints = [parts["a"].fingerprint(), parts["b"].fingerprint(), other["a"].fingerprint()]
        assert len(set(prints)) == 3
        assert again["a"].fingerprint() == prints[0]


@pytest.mark.parametrize(
    ("fractions", "error", "says"),
    [
        ({}, TypeError, "expected fractions by name"),
        ([0.5, 0.5], TypeError, "expected fractions by name"),
        ({"a": 0.5}, ValueError, "add up to 0.5; expected 1"),
        ({"a": 1.5, "b": -0.5}, ValueError, "'a' is 1.5; expected one from 0 to 1"),
        ({"a": float("nan")}, ValueError, "expected one from 0 to 1"),
        ({"a": "1"}, TypeError, "'a' is '1'; expected a number"),
    ],
)
def test_fractions_that_do_not_add_up_are_refused(fractions, error, says):
    with pytest.raises(error, match=says):
        Dataset.range(9).split(fractions)


def test_parts_that_would_leak_or_never_end_are_refused():
    half = {"a": 0.5, "b": 0.5}
    for ds in (Dataset.range(9).shuffle(), Dataset.range(9).shuffle(seed=1).map(lambda x: x)):
        with pytest.raises(PlanError, match=r"split\(\): after a shuffle, the parts would share elements"):
            ds.split(half)
    fixed = Dataset.range(9).shuffle(seed=1, reshuffle_each_iteration=False).split(half)
    assert sorted([*fixed["a"], *fixed["b"]]) == list(range(9))
    with pytest.raises(PlanError, match="split before repeat"):
        Dataset.counter().split(half)
    with pytest.raises(TypeError, match=r"split\(key_func=\): expected a function"):
        Dataset.range(9).split(half, key_func="name")


def test_an_invalid_key_is_named_with_its_row():
    parts = Dataset.range(9).split({"a": 0.5, "b": 0.5}, key_func=lambda x: x if x != 4 else 4.5)
    with pytest.raises(ElementError, match=r"the key of an element is 4.5 \(float\)") as caught:
        len(parts["a"])
    assert any("at row 4" in note for note in caught.value.__notes__)


def test_a_stream_is_split_by_keys():
    ds = Dataset.range(60).filter(lambda x: x % 2 == 0)
    halves = {"a": 0.5, "b": 0.5}
    parts = ds.split(halves, key_func=int)
    assert {name: list(part) for name, part in parts.items()} == {
        name: [x for x in part if x % 2 == 0] for name, part in Dataset.range(60).split(halves, key_func=int).items()
    }
    verify_determinism(parts["a"])
    verify_resume(parts["a"])
    shuffled = ds.shuffle(8).split(halves, key_func=int)  # by their keys, elements may come in any order
    assert sorted(shuffled["a"]) == list(parts["a"])
    with pytest.raises(PlanError, match="a stream has no positions to split by"):
        ds.split(halves)


def test_what_is_read_twice_has_one_key_in_the_pass_that_finds_the_parts():
    drawn = Dataset.range(60).map(lambda x, rng: int(rng.integers(1000)), deterministic=False)
    pairs = Dataset.zip(drawn, drawn).with_options(Options(seed=3))
    parts = pairs.split({"a": 0.5, "b": 0.5}, key_func=lambda x, y: str(x - y))
    assert sorted(len(part) for part in parts.values()) == [0, 60]
