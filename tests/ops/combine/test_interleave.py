from __future__ import annotations

import pytest

import penstock as ps
from penstock.testing.laws import verify_determinism, verify_resume

Dataset = ps.Dataset


def repeated(n):
    return Dataset.from_tensors(n).repeat(6)


def some(n):
    return Dataset.range(int(n) * 10, int(n) * 10 + int(n) % 4)


def test_the_order_is_that_of_tf_data():
    ds = Dataset.range(1, 6).interleave(repeated, cycle_length=2, block_length=4)
    assert "".join(str(int(x)) for x in ds) == "111122221122333344443344555555"


@pytest.mark.parametrize("cycle", [1, 2, 3, 20])
@pytest.mark.parametrize("block", [1, 2, 5])
def test_every_element_comes_once_and_resumes_exactly(cycle, block):
    ds = Dataset.range(12).interleave(some, cycle_length=cycle, block_length=block)
    assert sorted(map(int, ds)) == [n * 10 + i for n in range(12) for i in range(n % 4)]
    verify_resume(ds, most=20)
    verify_determinism(ds)


def test_a_cycle_of_one_is_flat_map():
    one = Dataset.range(9).interleave(some, cycle_length=1)
    assert [int(x) for x in one] == [int(x) for x in Dataset.range(9).flat_map(some)]


def test_datasets_are_read_by_workers_in_the_same_order():
    ds = Dataset.range(12).interleave(some, cycle_length=3, block_length=2, num_parallel_calls=2, deterministic=False)
    plain = Dataset.range(12).interleave(some, cycle_length=3, block_length=2)
    assert [int(x) for x in ds] == [int(x) for x in plain]


def test_inputs_without_end_take_turns_without_end():
    ds = Dataset.counter().interleave(lambda n: Dataset.from_tensors(n).repeat(), cycle_length=3)
    assert [int(x) for x in ds.take(7)] == [0, 1, 2, 0, 1, 2, 0]
    assert ds.cardinality() == ps.INFINITE
    assert Dataset.range(3).interleave(some).cardinality() == ps.UNKNOWN


@pytest.mark.parametrize(
    "wrong", [{"cycle_length": 0}, {"block_length": 0}, {"cycle_length": 2, "num_parallel_calls": 3}]
)
def test_counts_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match="interleave"):
        Dataset.range(3).interleave(some, **wrong)
