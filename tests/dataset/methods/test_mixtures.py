"""Arguments of mixtures: refused values, and weights that change during a run."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import Dataset, Options
from penstock.core.errors import PlanError

A, B = Dataset.range(60).shuffle(seed=1), Dataset.range(100, 400).shuffle(seed=2)


def sample(*args, **settings):
    return Dataset.sample_from_datasets(*args, **settings)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1], "expected 2 weights"),
        ([1, -1], "at least 0"),
        ([1, float("nan")], "at least 0"),
        ([0, 0], "at least one weight must be above 0"),
        ({5: [1, 1]}, "from position 0 on"),
        ({}, "from position 0 on"),
        ({0: [1, 1], -3: [1, 1]}, "at least 0"),
    ],
)
def test_wrong_weights_are_refused_when_the_mixture_is_built(weights, message):
    with pytest.raises(ValueError, match=message):
        sample([A, B], weights)


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="at least one dataset"):
        sample([])
    with pytest.raises(TypeError, match="expected a list of datasets, not Dataset"):
        sample(A)
    with pytest.raises(TypeError, match="expected datasets, not int"):
        sample([A, 3])
    with pytest.raises(TypeError, match="expected 2 numbers, one for each dataset"):
        sample([A, B], 3)
    with pytest.raises(ValueError, match="expected one of 'first', 'all', 'never', 'exact'"):
        sample([A, B], stop="last")
    with pytest.raises(ValueError, match="contradicts stop_on_empty_dataset"):
        sample([A, B], stop_on_empty_dataset=True, stop="all")
    with pytest.raises(ValueError, match="omit weights="):
        sample([A, B], [1, 1], stop="exact")
    with pytest.raises(PlanError, match=r"dataset 1, counter.*never ends"):
        sample([A, Dataset.counter()], stop="exact")
    with pytest.raises(PlanError, match="dataset 1 has no elements to repeat"):
        sample([A, B.take(0)], stop="never")
    with pytest.raises(PlanError, match="elements do not fit: int64 against str"):
        sample([A, Dataset.from_tensors("x")])
    with pytest.raises(PlanError, match="at most"):
        sample([Dataset.range(1 << 61), Dataset.range(1 << 61)])
    with pytest.raises(ValueError, match="sampled at random"):
        sample([A, B], Dataset.from_tensors(np.ones(2)), exact=True)


def test_a_mixture_of_one_dataset_is_the_dataset():
    assert list(sample([A], [3]).iterator(epoch=0)) == list(A.iterator(epoch=0))
    assert list(sample([A], stop="never").take(120).iterator(epoch=0)) == list(A.repeat(2).iterator(epoch=0))


def test_other_weights_have_another_fingerprint():
    made = {
        sample([A, B], weights, seed=1).fingerprint()
        for weights in ([1, 2], [1, 3], {0: [1, 2], 9: [1, 3]}, lambda row: [1, 2], lambda row: [1, 3])
    }
    assert len(made) == 5
    assert sample([A, B], [1, 2], seed=1).fingerprint() == sample([A, B], (1.0, 2.0), seed=1).fingerprint()


@pytest.mark.parametrize("settings", [{"exact": True}, {"seed": 3}, {"seed": 3, "rerandomize_each_iteration": True}])
@pytest.mark.parametrize("epoch", [0, 2])
def test_weights_changed_during_a_run_lose_and_repeat_no_element(settings, epoch):
    old = sample([A, B], [1, 1], **settings)
    for count in (0, 1, 50, 77, 360):
        before = [int(x) for x in old.take(count).iterator(epoch=epoch)]
        drawn = old.draw_counts(count, epoch=epoch)
        assert drawn == [sum(x < 100 for x in before), sum(x >= 100 for x in before)]
        rest = [ds.skip(n) for ds, n in zip((A, B), drawn, strict=True)]
        after = [int(x) for x in sample(rest, [1, 9], **settings).iterator(epoch=epoch)]
        assert sorted(before + after) == [*range(60), *range(100, 400)]


def test_repeated_datasets_continue_after_changed_weights():
    old = sample([A, B], [1, 1], seed=1, stop="never")
    drawn = old.draw_counts(1000)
    new = sample([ds.repeat().skip(n) for ds, n in zip((A, B), drawn, strict=True)], [5, 1], seed=2)
    made = [*old.take(1000).iterator(epoch=0), *new.take(1000).iterator(epoch=0)]
    of_a = [int(x) for x in made if x < 100]
    assert of_a == [int(x) for epoch in range(40) for x in A.iterator(epoch=epoch)][: len(of_a)]


def test_draw_counts_of_an_unseeded_mixture_need_the_seed_of_the_state():
    mix = sample([A, B])
    with pytest.raises(PlanError, match="without a seed"):
        mix.draw_counts(3)
    it = mix.iterator(epoch=0)
    made = [next(it) for _ in range(33)]
    drawn = mix.with_options(Options(seed=it.state_dict()["seed"])).draw_counts(33)
    assert drawn == [sum(x < 100 for x in made), sum(x >= 100 for x in made)]


@pytest.mark.parametrize("settings", [{"exact": True}, {"seed": 3}, {"seed": 3, "rerandomize_each_iteration": True}])
@pytest.mark.parametrize(("stop", "count"), [("first", 0), ("first", 50), ("never", 1), ("never", 700)])
@pytest.mark.parametrize("epoch", [0, 2])
def test_weights_of_streams_changed_during_a_run_lose_and_repeat_no_element(settings, stop, count, epoch):
    def streams():
        return [ds.filter(lambda x: x % 3 > 0) for ds in (A, B)]

    old = sample(streams(), [1, 3], stop=stop, **settings)
    made = [int(x) for x in old.take(count).iterator(epoch=epoch)]
    drawn = old.draw_counts(count, epoch=epoch)
    assert drawn == [sum(x < 100 for x in made), sum(x >= 100 for x in made)]
    if stop == "first":
        rest = [ds.skip(n) for ds, n in zip(streams(), drawn, strict=True)]
        made += [int(x) for x in sample(rest, [5, 1], **settings).iterator(epoch=epoch)]
        assert sorted(made) == [x for x in [*range(60), *range(100, 400)] if x % 3 > 0]


def test_draw_counts_needs_a_mixture_with_a_known_order():
    assert Dataset.choose_from_datasets([A, B], Dataset.from_tensor_slices([0, 1, 1])).draw_counts(2) == [1, 1]
    with pytest.raises(PlanError, match="is not a mixture"):
        A.draw_counts(3)
    with pytest.raises(ValueError, match="the mixture has 360 elements"):
        sample([A, B], seed=1).draw_counts(361)
    with pytest.raises(ValueError, match="the mixture has 360 elements"):
        sample([A.filter(lambda x: True), B], seed=1).draw_counts(361)
    with pytest.raises(PlanError, match="without a seed"):
        sample([A.filter(lambda x, *, rng: rng.random() < 0.5), B], exact=True).draw_counts(3)
    with pytest.raises(PlanError, match="without a seed"):
        sample([A, B], Dataset.random().map(lambda x: [1, x % 3])).draw_counts(3)


@pytest.mark.parametrize("stop", ["all", "first"])
@pytest.mark.parametrize("count", [1, 20, 90, 200])
def test_weights_of_streams_that_end_change_during_a_run_and_lose_no_element(stop, count):
    members = [ds.filter(lambda x: x % 3 > 0) for ds in (A, B)]
    old = sample(members, Dataset.from_tensors([5, 2]).repeat(), seed=5, stop=stop)
    made = [int(x) for x in old.take(count).iterator(epoch=1)]
    rest = [ds.skip(n) for ds, n in zip(members, old.draw_counts(len(made), epoch=1), strict=True)]
    made += [int(x) for x in sample(rest, [1, 9], seed=1).iterator(epoch=1)]
    assert sorted(made) == [x for x in [*range(60), *range(100, 400)] if x % 3 > 0]


@pytest.mark.parametrize("settings", [{"exact": True}, {"seed": 3}])
def test_a_mixture_of_streams_ends_if_the_remaining_datasets_have_weight_zero(settings):
    phases = {0: [9, 1], 30: [1, 1], 50: [0, 1], 60: [1, 0]}
    whole = sample([A.take(0), B], phases, **settings)
    streams = sample([ds.filter(lambda x: True) for ds in (A.take(0), B)], phases, **settings)
    assert [int(x) for x in streams.iterator(epoch=0)] == [int(x) for x in whole.iterator(epoch=0)]
    assert len(whole) == 60
