"""Mixtures of datasets, indexed and streamed."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import INFINITE, UNKNOWN, Dataset, Options
from penstock.core.errors import ElementError
from penstock.testing.laws import verify_determinism, verify_resume
from tests.plan.flows import assert_streams, begun, elements_of, stream_of

EACH = 1000  # element r of input i is EACH * i + r


def parts(lengths, *, streamed=False):
    made = [Dataset.range(EACH * number, EACH * number + length) for number, length in enumerate(lengths)]
    return [ds.filter(keep) for ds in made] if streamed else made


def keep(x):
    return True


def sample(datasets, *args, **settings):
    return Dataset.sample_from_datasets(datasets, *args, **settings)


LENGTHS = st.lists(st.integers(0, 40), min_size=2, max_size=5)


@given(lengths=LENGTHS, seed=st.integers(0, 9), exact=st.booleans(), streamed=st.booleans(), data=st.data())
def test_every_element_once_and_each_input_in_its_order(lengths, seed, exact, streamed, data):
    weights = data.draw(st.lists(st.floats(0.01, 5), min_size=len(lengths), max_size=len(lengths)))
    mix = sample(parts(lengths, streamed=streamed), weights, seed=seed, exact=exact)
    made = [int(x) for x in mix]
    for number, length in enumerate(lengths):
        assert [x - EACH * number for x in made if x // EACH == number] == list(range(length))
    if not streamed:
        assert [int(mix[row]) for row in range(len(mix))] == made


@given(lengths=LENGTHS, seed=st.integers(0, 9), exact=st.booleans(), streamed=st.booleans())
def test_stop_first_ends_the_epoch_with_the_first_empty_input(lengths, seed, exact, streamed):
    mix = sample(parts(lengths, streamed=streamed), seed=seed, exact=exact, stop_on_empty_dataset=True)
    made = [int(x) // EACH for x in mix]
    counts = Counter(made)
    assert any(counts[number] == length for number, length in enumerate(lengths))
    assert all(counts[number] <= length for number, length in enumerate(lengths))


def test_streams_and_indexed_datasets_give_the_same_mixture():
    for settings in ({"exact": True}, {"seed": 5}):
        indexed = sample([Dataset.counter(0), Dataset.counter(EACH**2)], [3, 1], **settings)
        streamed = sample([Dataset.counter(0).filter(keep), Dataset.counter(EACH**2)], [3, 1], **settings)
        assert streamed.cardinality() == indexed.cardinality() == INFINITE
        origin = [[int(x) >= EACH**2 for x in ds.take(500)] for ds in (indexed, streamed)]
        assert origin[0] == origin[1] or "seed" in settings
        assert 100 <= sum(origin[1]) <= 150


def test_a_mixture_repeats_shuffles_shards_and_batches():
    mix = sample(parts([30, 10]), [3, 1], seed=1)
    whole = sorted(int(x) for x in mix)
    shards = [int(x) for rank in range(4) for x in mix.shard(4, rank)]
    assert sorted(shards) == whole
    assert sorted(int(x) for x in mix.shuffle(seed=3)) == whole
    assert [x for batch in mix.batch(7) for x in batch.tolist()] == [int(x) for x in mix]
    assert [int(x) for x in mix.skip(5).take(10)] == [int(x) for x in mix][5:15]
    assert [int(x) for x in mix.repeat(2)] == 2 * [int(x) for x in mix]


def test_stop_never_reshuffles_each_input_at_its_own_epochs():
    few, many = Dataset.range(5).shuffle(seed=1), Dataset.range(100, 120).shuffle(seed=2)
    mix = sample([few, many], [1, 1], seed=3, stop="never")
    assert mix.cardinality() == INFINITE
    made = [int(x) for x in mix.take(80).iterator(epoch=0)]
    of_few, of_many = [x for x in made if x < 100], [x for x in made if x >= 100]
    expected = [int(x) for epoch in range(10) for x in few.iterator(epoch=epoch)]
    assert of_few == expected[: len(of_few)]
    expected = [int(x) for epoch in range(10) for x in many.iterator(epoch=epoch)]
    assert of_many == expected[: len(of_many)]


def test_stop_never_works_with_streams():
    mix = sample(parts([3, 5], streamed=True), exact=True, stop="never")
    assert mix.cardinality() == INFINITE
    made = [int(x) for x in mix.take(40)]
    assert [x for x in made if x < EACH] == [0, 1, 2] * 6 + [0, 1]
    assert [x - EACH for x in made if x >= EACH] == [0, 1, 2, 3, 4] * 4


def test_stop_exact_takes_the_proportions_from_the_lengths():
    mix = sample(parts([50, 100, 0, 150]), stop="exact", exact=True)
    made = np.array([int(x) // EACH for x in mix])
    assert Counter(made.tolist()) == {0: 50, 1: 100, 3: 150}
    for number, share in ((0, 1 / 6), (1, 1 / 3), (3, 1 / 2)):
        surplus = np.cumsum(made == number) - share * np.arange(1, 301)
        assert np.abs(surplus).max() <= 1.5


@pytest.mark.parametrize("streamed", [False, True])
def test_weights_may_change_with_the_position(streamed):
    inputs = [Dataset.counter(0), Dataset.counter(10**6)]
    inputs = [ds.filter(keep) for ds in inputs] if streamed else inputs
    for weights in ({0: [1, 0], 2048: [1, 3]}, lambda row: [1, 0] if row < 2048 else [1, 3]):
        mix = sample(inputs, weights, seed=0)
        made = np.array([int(x) for x in mix.take(4096)]) >= 10**6
        assert not made[:2048].any()
        assert abs(made[2048:].mean() - 0.75) < 0.01


@pytest.mark.parametrize("streamed", [False, True])
def test_random_orders_follow_the_seed_and_the_epoch(streamed):
    def orders(**settings):
        mix = sample(parts([50, 50], streamed=streamed), **settings)
        return [[int(x) for x in mix.iterator(epoch=epoch)] for epoch in (0, 0, 1)]

    first, again, next_one = orders(seed=1)
    assert first == again == next_one
    first, again, next_one = orders(seed=1, rerandomize_each_iteration=True)
    assert first == again != next_one
    assert orders() != orders()
    first, again, next_one = orders(exact=True)
    assert first == again == next_one


@pytest.mark.parametrize("settings", [{"seed": 1}, {"exact": True}, {"stop_on_empty_dataset": True}])
@pytest.mark.parametrize("streamed", [False, True])
def test_elements_are_the_same_with_any_executor_and_after_a_restore(streamed, settings):
    mix = sample(parts([20, 3, 9], streamed=streamed), [2, 1, 1], **settings).with_options(Options(seed=4))
    verify_determinism(mix)
    verify_resume(mix, most=40)


@pytest.mark.parametrize("settings", [{"exact": True}, {"seed": 1}, {"seed": 1, "stop_on_empty_dataset": True}])
def test_the_size_of_pieces_of_streams_does_not_matter(settings):
    inputs = [range(4), range(10, 19), range(20, 20), range(30, 33)]
    node = sample(parts([1, 1, 1, 1], streamed=True), [1, 2, 1, 1], **settings)._plan
    wanted = elements_of(begun(node, *(stream_of(values, [1]) for values in inputs)), epoch=2)
    if "stop_on_empty_dataset" not in settings:
        assert sorted(wanted) == [x for values in inputs for x in values]
    assert_streams(node, inputs, wanted, epoch=2)


def test_streams_in_pieces_of_any_size_with_streams_of_weights():
    inputs = [range(4), range(10, 19), [np.array([1.0, 2.0]), np.array([0.0, 1.0]), np.array([1.0, 0.0])] * 4]
    node = sample(parts([1, 1], streamed=True), Dataset.from_tensors(np.ones(2)), seed=5)._plan
    wanted = elements_of(begun(node, *(stream_of(values, [1]) for values in inputs)))
    assert len(wanted) > 7
    assert_streams(node, inputs, wanted)


def test_a_stream_s_state_is_small():
    mix = sample(parts([500, 400], streamed=True), seed=1)
    it = iter(mix)
    for _ in range(700):
        next(it)
    assert len(json.dumps(it.state_dict()["mark"])) < 100


def test_weights_may_come_from_a_dataset():
    weights = np.zeros((300, 2))
    weights[:100, 0] = 1
    weights[100:] = [1, 3]
    mix = sample([Dataset.counter(0), Dataset.counter(10**6)], Dataset.from_tensor_slices(weights), seed=1)
    assert mix.cardinality() == UNKNOWN
    made = [int(x) for x in mix]
    assert len(made) == 300
    assert made[:100] == list(range(100))
    assert abs(sum(x >= 10**6 for x in made) - 150) < 30
    assert [x for x in made if x < 10**6] == list(range(sum(x < 10**6 for x in made)))
    verify_resume(mix.take(40))
    verify_determinism(mix)


def test_weights_from_a_dataset_apply_to_inputs_that_end():
    weights = Dataset.from_tensor_slices(np.ones((100, 2)))
    assert len(list(sample(parts([3, 50]), weights, seed=2))) == 53
    assert len(list(sample(parts([3, 50]), weights, seed=2, stop="first"))) < 20
    only_one = Dataset.from_tensor_slices(np.array([[1.0, 0.0]] * 5 + [[0.0, 1.0]] * 5))
    assert [int(x) for x in sample(parts([3, 50]), only_one)] == [0, 1, 2, *range(EACH, EACH + 5)]


@pytest.mark.parametrize("vector", [[1.0], [1.0, -1.0], [0.0, 0.0], [1.0, np.nan]])
def test_wrong_weights_in_a_dataset_are_named(vector):
    with pytest.raises(ElementError, match="element 0 of the weights is"):
        list(sample(parts([3, 3]), Dataset.from_tensors(np.array(vector))))


def test_shapes_may_differ():
    a, b = (Dataset.from_tensor_slices(np.zeros((2, n), np.float32)) for n in (3, 4))
    assert sample([a, b]).element_spec.shape == (None,)
    assert sample([a, b], exact=True).map(len).batch(4).iterator().__next__().tolist() == [3, 4, 3, 4]


def test_an_error_names_the_row_of_the_input():
    def fail(x):
        raise KeyError(x)

    mix = sample([Dataset.range(3), Dataset.range(5).map(fail)], exact=True)
    with pytest.raises(KeyError) as caught:
        list(mix)
    assert any("at row 0" in note for note in caught.value.__notes__)
    assert mix.locate(3)[0].position == 1


def test_explain_shows_the_mixture_as_written():
    mix = sample(parts([3, 3]), {0: [1, 1], 5: [0.25, 1]}, seed=7)
    assert "sample_from_datasets(2 datasets, weights={0: [1, 1], 5: [0.25, 1]}, seed=7)" in mix.explain()
