"""`group_by_window`: windows of elements with the same key."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import INFINITE, UNKNOWN, Dataset, Options
from penstock.core.errors import ElementError
from penstock.ops.elementwise.beside import Beside, whole_number
from penstock.ops.group import pending
from penstock.ops.group.group_by_window import GroupByWindow
from penstock.ops.read.given import Given
from penstock.testing.laws import verify_determinism, verify_resume
from tests.plan.flows import elements_of, stream_of

THREADS = Options(executor="threads", workers=2)


def parity(x):
    return x % 2


def listed(ds):
    return [element.tolist() if isinstance(element, np.ndarray) else element for element in ds]


def batched(key, window):
    return window.batch(100)


@given(st.lists(st.integers(-2, 5), max_size=60), st.integers(1, 6))
def test_full_windows_come_first_and_the_rest_in_key_order(numbers, size):
    groups, wanted = {}, []
    for number in numbers:
        groups.setdefault(number, []).append(number)
        if len(groups[number]) == size:
            wanted.append(groups.pop(number))
    wanted += [groups[key] for key in sorted(groups)]
    for ds in (Dataset.from_source(numbers), Dataset.from_source(numbers).filter(lambda x: True)):
        assert listed(ds.group_by_window(lambda x: x, batched, size)) == wanted


def test_the_function_gets_the_key_and_a_dataset_and_may_return_any_dataset():
    def reduced(key, window):
        return window.map(lambda x: (key, x)).take(2).concatenate(Dataset.from_tensors((key, -1)))

    ds = Dataset.range(6).group_by_window(parity, reduced, 3)
    assert list(ds) == [(0, 0), (0, 2), (0, -1), (1, 1), (1, 3), (1, -1)]
    assert list(Dataset.range(4).group_by_window(parity, lambda key, window: [key, len(window)], 9)) == [0, 2, 1, 2]


def test_window_size_func_sets_the_size_for_each_key():
    ds = Dataset.range(12).group_by_window(lambda x: x % 3, batched, window_size_func=lambda key: key + 1)
    assert listed(ds) == [[0], [3], [1, 4], [6], [2, 5, 8], [9], [7, 10], [11]]


def test_elements_of_any_structure():
    ds = Dataset.from_tensor_slices({"x": np.arange(4), "y": np.ones((4, 2))}).map(lambda e: {**e, "t": "text"})
    first, second = ds.group_by_window(lambda e: parity(e["x"]), batched, 2)
    assert first["x"].tolist() == [0, 2]
    assert second["y"].shape == (2, 2)
    assert list(second["t"]) == ["text"] * 2
    plain = Dataset.from_tensor_slices({"x": np.arange(4)}).group_by_window(lambda e: 0, lambda key, window: window, 4)
    assert [element["x"] for element in plain] == [0, 1, 2, 3]


def test_a_tuple_is_passed_to_the_key_function_as_arguments():
    ds = Dataset.range(4).enumerate(10).group_by_window(lambda n, x: n % 2, batched, 2)
    assert [numbers.tolist() for numbers, _ in ds] == [[10, 12], [11, 13]]


def test_shuffles_inside_windows_are_reproducible_and_differ():
    ds = Dataset.range(400).group_by_window(parity, lambda key, window: window.shuffle().batch(100), 100)
    ds = ds.with_options(Options(seed=4))
    first, second, third, fourth = listed(ds.iterator(epoch=0))
    assert listed(ds.iterator(epoch=0)) == [first, second, third, fourth]
    assert sorted(first) == list(range(0, 200, 2))
    assert first != sorted(first)
    order = [np.argsort(np.argsort(each)).tolist() for each in (first, second, third, fourth)]
    assert order[0] != order[2]
    assert listed(ds.iterator(epoch=1)) != [first, second, third, fourth]


def test_the_function_may_change_its_window():
    ds = Dataset.range(6).batch(1).cache().group_by_window(lambda x: 0, batched, 3)
    whole_epoch = listed(ds)
    for batch in ds:
        batch[:] = 99
    assert listed(ds) == whole_epoch


def test_endless_input_is_supported():
    ds = Dataset.counter().group_by_window(parity, batched, 3)
    assert listed(ds.take(3)) == [[0, 2, 4], [1, 3, 5], [6, 8, 10]]


@pytest.mark.parametrize("options", [Options(), THREADS])
def test_a_restored_iterator_continues_exactly(options):
    numbers = [x * x % 7 for x in range(50)]
    ds = Dataset.from_source(numbers).group_by_window(lambda x: x, lambda key, window: window.batch(2), 4)
    verify_resume(ds, options=options)
    shuffled = Dataset.from_source(numbers).shuffle().filter(lambda x: x != 1)
    verify_resume(shuffled.group_by_window(parity, lambda key, window: window.shuffle(), 5).repeat(2), options=options)


def test_results_are_the_same_for_any_number_of_workers():
    ds = Dataset.range(60).filter(lambda x: x % 7 > 0).group_by_window(lambda x: x % 3, batched, 4)
    verify_determinism(ds)


@pytest.mark.parametrize("most_keys", [0, 2, 100])
def test_many_waiting_keys_resume_exactly(most_keys, monkeypatch):
    monkeypatch.setattr(pending, "MOST_KEYS", most_keys)
    ds = Dataset.range(60).group_by_window(lambda x: x * x % 11, batched, 3)
    verify_resume(ds)


def test_the_boundaries_of_pieces_do_not_matter():
    numbers = [x * x % 7 for x in range(23)]
    node = GroupByWindow(Beside(Given(), "key", None, whole_number), 3, Dataset)

    def windows(sizes, mark=None):
        source = stream_of([(x, (x, at)) for at, x in enumerate(numbers)], sizes)
        return [
            (key, list(ds))
            for key, ds in elements_of(lambda epoch, mark: node.flow((source,), 0, mark, np.empty), 0, mark)
        ]

    wanted = windows((1,))
    assert all(windows(sizes) == wanted for sizes in ((2,), (3, 0, 1), (1000,)))
    source = stream_of([(x, (x, at)) for at, x in enumerate(numbers)], (4,))
    made = 0
    for piece in node.flow((source,), 0, None, np.empty):
        made += len(piece)
        assert windows((5,), json.loads(json.dumps(piece.after))) == wanted[made:]


def test_elements_before_an_error_arrive_first():
    def picky(key, window):
        if key == 1:
            raise LookupError("not 1")
        return window

    received = []
    with pytest.raises(LookupError, match="not 1"):
        received.extend(Dataset.range(9).group_by_window(parity, picky, 2))
    assert received == [0, 2]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((lambda x: "a", batched, 2), "one whole number"),
        ((parity, batched, None, lambda key: 0), "expected at least 1"),
        ((parity, batched, None, lambda key: "x"), "one whole number"),
        ((parity, lambda key, window: 3, 2), "return a dataset"),
    ],
)
def test_results_of_functions_are_checked(arguments, text):
    with pytest.raises(ElementError, match=text) as caught:
        list(Dataset.range(9).group_by_window(*arguments))
    assert caught.value.__notes__


def test_mistakes_are_found_when_the_pipeline_is_built():
    ds = Dataset.range(3)
    with pytest.raises(ValueError, match="either window_size or window_size_func"):
        ds.group_by_window(parity, batched)
    with pytest.raises(ValueError, match="either window_size or window_size_func"):
        ds.group_by_window(parity, batched, 3, abs)
    with pytest.raises(ValueError, match="window_size=0"):
        ds.group_by_window(parity, batched, 0)
    for wrong in ((3, batched, 2), (parity, 3, 2), (parity, batched, None, 3)):
        with pytest.raises(TypeError, match="expected a function"):
            ds.group_by_window(*wrong)


def test_explain_shows_the_work_that_a_restore_repeats():
    explained = Dataset.range(3).group_by_window(parity, batched, 2).explain()
    assert "restored, group_by_window(parity, batched, 2) reads again from the oldest element" in explained


def test_the_length_is_known_only_by_iterating():
    assert Dataset.range(3).group_by_window(parity, batched, 2).cardinality() == UNKNOWN
    assert Dataset.counter().group_by_window(parity, batched, 2).cardinality() == INFINITE
    assert Dataset.counter().flat_map(lambda x: [x]).cardinality() == UNKNOWN
