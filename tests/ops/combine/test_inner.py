from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

import penstock as ps
from penstock.ops.combine.inner import chunk_of, is_sequence


def test_lists_tuples_and_arrays_count_as_sequences():
    assert all(map(is_sequence, ([1], (), np.zeros(3))))
    assert not any(map(is_sequence, (np.float32(1), iter([]), "text")))


def test_arrays_of_one_kind_are_joined_in_a_column():
    chunk, counts = chunk_of([np.arange(2), np.arange(0), np.arange(3)])
    assert chunk.elements() == [0, 1, 0, 1, 2]
    assert counts.tolist() == [2, 0, 3]


def test_arrays_of_several_kinds_keep_their_kinds():
    chunk, _ = chunk_of([np.zeros(1, np.float32), np.zeros(1, np.int8)])
    assert [element.dtype for element in chunk.elements()] == [np.float32, np.int8]


def test_a_reduce_func_that_returns_no_dataset_is_an_error_of_group_by_window():
    with pytest.raises(ps.errors.ElementError, match="group_by_window: the function returned int 3"):
        list(ps.Dataset.range(3).group_by_window(lambda x: 1, lambda key, window: 3, 2))


@pytest.mark.parametrize("result", ["text", b"bytes", {"a": 1}, 7, np.float32(1)])
def test_a_result_that_holds_no_elements_is_refused_by_name(result):
    with pytest.raises(
        ps.errors.ElementError, match=f"flat_map: the function returned {type(result).__name__}"
    ) as caught:
        list(ps.Dataset.range(1).flat_map(lambda _: result))
    assert any("flat_map" in note for note in caught.value.__notes__)


def numbers_up_to(end):
    yield from range(end)
    raise LookupError("no more")


@pytest.mark.parametrize("end", [0, 1, 63, 64, 65])
@pytest.mark.parametrize(
    ("build", "blamed"),
    [
        (lambda ds, end: ds.flat_map(lambda x: numbers_up_to(end)), "flat_map(lambda)"),
        (lambda ds, end: ds.interleave(lambda x: numbers_up_to(end), cycle_length=1), "interleave(lambda, cyc"),
        (
            lambda ds, end: ds.group_by_window(lambda x: 1, lambda key, window: numbers_up_to(end), 2),
            "group_by_window(lambda, lambda, 2)",
        ),
    ],
)
def test_an_iterator_that_fails_blames_the_operation_after_its_elements_arrive(build, blamed, end):
    it = build(ps.Dataset.range(3), end).iterator()
    assert list(islice(it, end)) == list(range(end))
    with pytest.raises(LookupError, match="no more") as caught:
        next(it)
    assert caught.value.__notes__[0].startswith(f"in {blamed}")
    rest = [note.partition(";")[0] for note in caught.value.__notes__[1:]]
    assert rest in ([f"while making element {end}"], ["made from the number 0", f"while making element {end}"])


@pytest.mark.parametrize("make", [lambda: iter(range(4)), lambda: (x for x in range(4)), lambda: map(abs, range(4))])
@pytest.mark.parametrize("operation", ["flat_map", "interleave"])
@pytest.mark.parametrize("rows", [1, 2])
def test_an_iterator_that_is_returned_again_in_the_next_call_or_epoch_is_an_error(operation, rows, make):
    shared = make()
    ds = getattr(ps.Dataset.range(rows), operation)(lambda x: shared)
    if rows == 1:
        assert list(ds) == [0, 1, 2, 3]
    with pytest.raises(
        ps.errors.ElementError, match=rf"{operation}.* the same iterator again.*; return a new one in each call"
    ):
        list(ds)


def test_an_iterator_that_begins_anew_by_itself_may_be_returned_again():
    class Rewinding:
        rest = "ab"

        def __iter__(self):
            return self

        def __next__(self):
            if not self.rest:
                self.rest = "ab"
                raise StopIteration
            first, self.rest = self.rest[0], self.rest[1:]
            return first

    shared = Rewinding()
    ds = ps.Dataset.range(2).flat_map(lambda x: shared)
    assert [list(ds) for _ in range(2)] == [["a", "b", "a", "b"]] * 2
