"""`bucket_by_sequence_length`: batches of elements of similar length."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import INFINITE, UNKNOWN, Dataset, Options
from penstock.core.errors import ElementError, PlanError
from penstock.elements.spec import ArraySpec
from penstock.testing.laws import verify_determinism, verify_resume

THREADS = Options(executor="threads", workers=2)


def words(lengths):
    return Dataset.from_source([np.full(length, at) for at, length in enumerate(lengths)])


def ids(batches):
    """Return the words of each batch, without empty words."""
    return [batch[:, 0].tolist() for batch in batches]


@given(st.lists(st.integers(1, 9), max_size=50), st.booleans())
def test_a_batch_comes_once_its_bucket_is_full(lengths, drop):
    boundaries, sizes = [3, 6], [4, 3, 2]
    buckets, wanted = [[], [], []], []
    for at, length in enumerate(lengths):
        which = bisect_right(boundaries, length)
        buckets[which].append(at)
        if len(buckets[which]) == sizes[which]:
            wanted.append(buckets[which])
            buckets[which] = []
    wanted += [] if drop else [bucket for bucket in buckets if bucket]
    for ds in (words(lengths), words(lengths).filter(lambda word: True)):
        made = list(ds.bucket_by_sequence_length(len, boundaries, sizes, drop_remainder=drop))
        assert ids(made) == wanted
        assert [batch.shape[1] for batch in made] == [max(lengths[at] for at in batch) for batch in wanted]


@pytest.mark.parametrize(("length", "bucket"), [(0, 0), (2, 0), (3, 1), (5, 1), (6, 2), (99, 2)])
def test_a_bucket_ends_below_its_boundary(length, bucket):
    sizes = [1, 1, 1]
    sizes[bucket] = 2
    made = list(Dataset.range(4).map(lambda x: np.full(length, x)).bucket_by_sequence_length(len, [3, 6], sizes))
    assert [batch.shape for batch in made] == [(2, length)] * 2


def test_padding_to_the_boundary_makes_as_many_shapes_as_buckets():
    ds = words([1, 2, 4, 3, 2, 5]).bucket_by_sequence_length(
        len, [3, 6], [2, 2, 1], padded_shapes=[None], padding_values=-1, pad_to_bucket_boundary=True
    )
    assert [batch.shape for batch in ds] == [(2, 2), (2, 5), (1, 2), (1, 5)]
    assert next(iter(ds)).tolist() == [[0, -1], [1, 1]]


def test_the_spec_determines_the_sizes_padded_to_the_boundary():
    ds = Dataset.from_tensor_slices({"x": np.ones((4, 2)), "y": np.arange(4)})
    known = ds.bucket_by_sequence_length(lambda e: 1, [3], [2, 2], pad_to_bucket_boundary=True)
    assert [batch["x"].shape for batch in known] == [(2, 2), (2, 2)]
    with pytest.raises(PlanError, match="pass padded_shapes"):
        words([1]).bucket_by_sequence_length(len, [3], [2, 2], pad_to_bucket_boundary=True)
    with pytest.raises(PlanError, match="nothing to pad"):
        Dataset.from_tensor_slices(["a"]).bucket_by_sequence_length(len, [3], [2, 2], pad_to_bucket_boundary=True)


def test_the_last_bucket_has_no_boundary_to_pad_to():
    ds = words([1, 7]).bucket_by_sequence_length(len, [3], [1, 1], padded_shapes=[None], pad_to_bucket_boundary=True)
    received = []
    with pytest.raises(ElementError, match="length 3 or more has no boundary"):
        received.extend(ds)
    assert len(received) == 1


def test_without_padding_shapes_have_to_be_equal():
    ds = words([2, 2, 5, 5]).bucket_by_sequence_length(len, [3], [2, 2], no_padding=True)
    assert [batch.shape for batch in ds] == [(2, 2), (2, 5)]
    with pytest.raises(ElementError, match="differ"):
        list(words([1, 2]).bucket_by_sequence_length(len, [3], [2, 2], no_padding=True))


def test_nested_elements_are_padded_leaf_by_leaf():
    ds = Dataset.from_source([{"x": np.ones(n), "label": n} for n in (1, 3, 2)])
    first, second = ds.bucket_by_sequence_length(
        lambda e: len(e["x"]),
        [3],
        [2, 1],
        padded_shapes={"x": [4], "label": ()},
        padding_values={"x": 0.5, "label": None},
    )
    assert first["x"].tolist() == [[1, 1, 1, 0.5]]
    assert second["x"].shape == (2, 4)
    assert second["label"].tolist() == [1, 2]


def test_a_tuple_is_passed_to_the_length_function_as_arguments():
    ds = words([1, 2, 1]).enumerate().bucket_by_sequence_length(lambda n, word: len(word), [2], [2, 2])
    assert [numbers.tolist() for numbers, _ in ds] == [[0, 2], [1]]


def test_the_length_is_known_only_by_iterating():
    assert words([1]).bucket_by_sequence_length(len, [2], [1, 1]).cardinality() == UNKNOWN
    assert words([1]).repeat().bucket_by_sequence_length(len, [2], [1, 1]).cardinality() == INFINITE


def test_the_spec_leaves_sizes_open():
    ds = Dataset.from_tensor_slices(np.ones((4, 2))).bucket_by_sequence_length(len, [3], [2, 2])
    assert ds.element_spec == ArraySpec((None, 2), np.dtype(np.float64))
    assert words([1, 2]).bucket_by_sequence_length(len, [3], [2, 2]).element_spec == ArraySpec(
        (None, None), np.dtype(np.int64)
    )


@pytest.mark.parametrize("options", [Options(), THREADS])
def test_a_restored_iterator_continues_exactly(options):
    lengths = [1 + x * x % 9 for x in range(50)]
    ds = words(lengths).shuffle().bucket_by_sequence_length(len, [3, 6], [4, 3, 2])
    verify_resume(ds, options=options)
    verify_resume(ds.repeat(2), options=options)
    verify_resume(words(lengths).filter(lambda word: len(word) != 2).repeat(2)
                  .bucket_by_sequence_length(len, [4], [3, 5], drop_remainder=True), options=options)  # fmt: skip


def test_results_are_the_same_for_any_number_of_workers():
    verify_determinism(words([1 + x % 7 for x in range(40)]).shuffle().bucket_by_sequence_length(len, [3], [4, 4]))


def test_mistakes_are_found_when_the_pipeline_is_built():
    ds = words([1])
    for boundaries, sizes in (
        ([3], [1]),
        ([3, 2], [1, 1, 1]),
        ([-1], [1, 1]),
        ([], [1]),
        ([3], [1, 0]),
        ([3, 3], [1] * 3),
    ):
        with pytest.raises(ValueError, match="bucket_by_sequence_length"):
            ds.bucket_by_sequence_length(len, boundaries, sizes)
    with pytest.raises(TypeError, match="expected a function"):
        ds.bucket_by_sequence_length(3, [2], [1, 1])
    with pytest.raises(TypeError):
        ds.bucket_by_sequence_length(len, [2.5], [1, 1])
    with pytest.raises(PlanError):
        Dataset.from_tensor_slices(np.ones((4, 2))).bucket_by_sequence_length(len, [3], [2, 2], padded_shapes=[1])


def test_the_length_has_to_be_a_whole_number():
    with pytest.raises(ElementError, match="one whole number") as caught:
        list(words([1, 2]).bucket_by_sequence_length(lambda word: len(word) / 2, [3], [2, 2]))
    assert any("element_length_func=lambda" in note for note in caught.value.__notes__)


def test_a_first_boundary_of_zero_leaves_the_first_bucket_empty():
    ds = words([1, 2, 3]).bucket_by_sequence_length(len, [0, 3], [4, 2, 1])
    assert [batch.tolist() for batch in ds] == [[[0, 0], [1, 1]], [[2, 2, 2]]]
