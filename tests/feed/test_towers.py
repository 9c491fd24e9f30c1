"""Placements made of others."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset
from penstock.core.errors import ElementError
from penstock.feed.feed import FrameworkFeed, Here
from penstock.feed.towers import MicroBatches, RoundRobin, Split, Stacked, cut_rows, stack_of


class On(Here):
    def __init__(self, name):
        super().__init__(lambda array: array)
        self.name = name

    def wait(self, placed):
        return self.name, placed.tolist()


def steps(ds, placement, depth=2):
    return list(FrameworkFeed(ds, placement, depth).iterator(epoch=0))


A, B = On("a"), On("b")


def test_split_gives_each_device_its_part_of_every_batch():
    assert steps(Dataset.range(8).batch(4), Split([A, B])) == [
        [("a", [0, 1]), ("b", [2, 3])],
        [("a", [4, 5]), ("b", [6, 7])],
    ]
    assert steps(Dataset.range(5).batch(5), Split([A, B])) == [[("a", [0, 1, 2]), ("b", [3, 4])]]
    with pytest.raises(
        ElementError, match="split=True cuts batches into 2 parts, but the batch has 1 row: use larger batches"
    ):
        steps(Dataset.range(5).batch(4), Split([A, B]))


def test_round_robin_deals_whole_batches_and_the_last_step_may_have_fewer():
    feed = FrameworkFeed(Dataset.range(6).batch(2), RoundRobin([A, B]), 2)
    assert list(feed) == [[("a", [0, 1]), ("b", [2, 3])], [("a", [4, 5])]]
    assert len(feed) == 2


def test_stacks_of_several_batches_on_several_devices():
    ds = Dataset.range(12).batch(2)
    assert steps(ds, RoundRobin([Stacked(A, 2), Stacked(B, 2)])) == [
        [("a", [[0, 1], [2, 3]]), ("b", [[4, 5], [6, 7]])],
        [("a", [[8, 9], [10, 11]])],
    ]


def test_the_state_of_a_stack_is_that_after_its_batches():
    feed = FrameworkFeed(Dataset.range(10).batch(2), Stacked(A, 2), 2)
    it = feed.iterator()
    assert next(it) == ("a", [[0, 1], [2, 3]])
    assert it.state_dict()["row"] == 2
    again = FrameworkFeed(Dataset.range(10).batch(2), A, 2).iterator()
    again.load_state_dict(it.state_dict())
    assert next(again) == ("a", [4, 5])  # the same state loads into a feed of single batches
    assert [next(it), next(it, None)][0] == ("a", [[4, 5], [6, 7]])


def test_micro_batches_are_views_of_one_batch_and_travel_together():
    class Plain(Here):
        def place(self, batches):
            placed.append(len(batches))
            return super().place(batches)

    placed = []
    ((first, second),) = steps(Dataset.range(4).batch(4), MicroBatches(Plain(lambda array: array), 2))
    assert (first.tolist(), second.tolist()) == ([0, 1], [2, 3])
    assert first.base is second.base
    assert placed == [1]


def test_elements_without_rows_ask_for_a_batch():
    for placement, asked in ((MicroBatches(A, 2), "micro_batches=2"), (Split([A, B]), "split=True")):
        with pytest.raises(ElementError, match=rf"{asked} cuts batches, but the elements have no rows: .* batch\(\)"):
            steps(Dataset.range(4), placement)


def test_ragged_and_sparse_leaves_are_cut_by_rows():
    batch = {"r": ps.Ragged.from_rows([[1], [], [2, 3]]), "s": ps.Sparse.from_dense(np.eye(3)), "n": np.arange(3)}
    first, second = cut_rows(batch, 2, "split=True")
    assert (first["r"].tolist(), second["r"].tolist()) == ([[1], []], [[2, 3]])
    assert second["s"].to_dense().tolist() == [[0, 0, 1]]


def test_leaves_of_different_lengths_cannot_be_cut():
    with pytest.raises(ElementError, match=r'split=True .* equally many rows, but \["x"\] has 2, \["y"\] has 3'):
        cut_rows({"x": np.zeros(2), "y": np.zeros(3)}, 2, "split=True")


def test_batches_that_cannot_be_stacked_name_the_remedy():
    with pytest.raises(ElementError, match=r'\["x"\] is int64\[4\] and int64\[3\]: leave out a short last batch'):
        stack_of([{"x": np.arange(4)}, {"x": np.arange(3)}], None)
    with pytest.raises(ElementError, match=r"int64\[4\] and float64\[4\]: return the same dtype for every row"):
        stack_of([np.arange(4), np.arange(4.0)], None)


def test_stacks_lie_in_one_block_and_keep_what_is_no_number():
    sizes = []

    def reserve(nbytes):
        sizes.append(nbytes)
        return np.empty(nbytes, np.uint8)

    batches = [{"x": np.full((2, 3), i, np.float32), "y": np.arange(2), "s": "ab"[i]} for i in range(2)]
    stack = stack_of(batches, reserve)
    assert sizes == [256]
    assert stack["x"].base is stack["y"].base
    assert stack["x"][:, 0, 0].tolist() == [0, 1]
    assert stack["s"] == ["a", "b"]


@pytest.mark.parametrize(
    ("batches", "says"),
    [
        ([np.zeros(3), np.zeros(2)], r"the batch is float64\[3\] and float64\[2\]: leave out a short last batch"),
        ([{"x": np.zeros(3)}, {"y": np.zeros(3)}], "batches of one structure"),
        ([{"r": ps.Ragged.from_rows([[1]])}] * 2, r'cannot stack \["r"\], which is ragged'),
    ],
)
def test_batches_that_do_not_fit_on_each_other_are_refused(batches, says):
    with pytest.raises(ElementError, match=says):
        stack_of(batches, None)
