"""Epochs, one iterator after another."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import Dataset, Options, PlanWarning
from penstock.core.errors import ElementError, PlanError


def test_every_iterator_takes_the_next_epoch_and_every_dataset_counts_its_own():
    ds = Dataset.range(30).shuffle(seed=1)
    explicit = [list(ds.iterator(epoch=epoch)) for epoch in range(3)]
    assert [list(ds), list(ds.iterator()), list(iter(ds))] == explicit
    assert list(ds.take(30)) == explicit[0]


def test_an_explicit_epoch_does_not_count():
    ds = Dataset.range(30).shuffle(seed=1)
    later = list(ds.iterator(epoch=5))
    assert list(ds) == list(ds.iterator(epoch=0)) != later


def test_two_iterators_at_once_do_not_disturb_each_other():
    ds = Dataset.range(4).batch(2)
    one, other = iter(ds), iter(ds)
    assert [next(one).tolist(), next(other).tolist(), next(one).tolist()] == [[0, 1], [0, 1], [2, 3]]
    one.close()
    other.close()


def test_an_exhausted_iterator_stays_exhausted():
    it = iter(Dataset.range(2))
    assert list(it) == [0, 1]
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(it)


@pytest.mark.parametrize(
    ("epoch", "error"), [(-1, ValueError), ("a", TypeError), (1.0, TypeError), (2**70, ValueError)]
)
def test_an_epoch_is_a_whole_number_from_0(epoch, error):
    with pytest.raises(error, match=r"iterator\(epoch="):
        Dataset.range(3).iterator(epoch=epoch)


def test_an_epoch_beyond_what_rows_can_count_is_refused():
    assert next(Dataset.counter().iterator(epoch=2**15 - 1)) == 0
    with pytest.raises(PlanError, match=r"beyond row 2\*\*63"):
        Dataset.counter().iterator(epoch=2**15)
    with pytest.raises(PlanError, match=r"beyond row 2\*\*63"):
        Dataset.range(10).iterator(epoch=2**61)


def test_as_numpy_iterator_is_the_iterator():
    assert list(Dataset.range(3).as_numpy_iterator()) == [0, 1, 2]


def test_nothing_runs_before_the_first_next():
    calls = []
    ds = Dataset.range(3).map(calls.append).with_options(Options(workers=2))
    ds.iterator().close()
    assert calls == []


def test_the_first_iterator_warns_and_no_other_of_the_dataset():
    ds = Dataset.range(8).shuffle().shard(2, 0)
    with pytest.warns(PlanWarning, match="PS103: .* their parts overlap"):
        list(ds)
    list(ds)


def test_silenced_findings_do_not_warn():
    list(Dataset.range(8).shuffle().shard(2, 0).with_options(Options(ignore_lint="PS103")))


def test_remarks_do_not_warn():
    assert len(list(Dataset.range(8).batch(3))) == 3


def test_reduce_runs_over_one_epoch():
    assert Dataset.range(5).reduce(10, lambda total, x: total + x) == 20
    assert Dataset.range(0).reduce("nothing", lambda state, x: x) == "nothing"
    pairs = Dataset.from_tensor_slices(([1, 2], [3, 4]))
    assert pairs.reduce([], lambda seen, pair: [*seen, pair]) == [(1, 3), (2, 4)]
    with pytest.raises(PlanError, match="never ends"):
        Dataset.counter().reduce(0, max)
    with pytest.raises(ElementError, match=r"at element 1 the state changed: \['n'\] was int64 and became uint8"):
        Dataset.from_tensor_slices(np.arange(3, dtype="u1")).reduce({"n": 0}, lambda state, x: {"n": x or state["n"]})
    with pytest.raises(TypeError, match="expected a function, not int"):
        Dataset.range(3).reduce(0, 3)


@pytest.mark.parametrize("stream", [False, True])
def test_get_single_element_returns_the_only_element(stream):
    def of(count):
        ds = Dataset.range(count)
        return ds.filter(lambda x: True) if stream else ds

    assert of(1).get_single_element() == 0
    with pytest.raises(PlanError, match="has no element"):
        of(0).get_single_element()
    with pytest.raises(PlanError, match="more than one element"):
        of(2).get_single_element()


def test_a_state_of_none_is_reported_as_a_forgotten_return():
    forgotten = r"returned None; return the next state \(a forgotten `return`\?\)"
    with pytest.raises(ElementError, match=f"reduce: at element 0 the function {forgotten}"):
        Dataset.range(3).reduce(0, lambda total, x: None)
    with pytest.raises(ElementError, match=f"group_by_reducer: reduce_func {forgotten}"):
        list(Dataset.range(3).group_by_reducer(lambda x: 0, lambda key: 0, lambda total, x: None))
    assert Dataset.range(3).reduce(None, lambda seen, x: None) is None
