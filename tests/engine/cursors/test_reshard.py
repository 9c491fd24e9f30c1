"""States of all shards load into a different number of shards: the same global batches, and clear refusals."""

from __future__ import annotations

import json
from functools import cache
from itertools import islice

import numpy as np
import pytest

from penstock import Dataset, Options
from penstock.core.errors import CursorError, PlanError
from penstock.core.on_error import skip

SEED = Options(seed=3)
GLOBAL = 24  # elements that all shards together give in a step


def noisy(x, *, rng):
    return int(x), int(rng.integers(1000))


STREAM = Dataset.range(1000).shuffle().map(noisy).filter(lambda x, _: x % 3 > 0).shuffle(9)
ROWS = Dataset.range(1000).shuffle().map(noisy)
ABOVE = {
    "batch": lambda ds, size: ds.batch(size),
    "map and batch": lambda ds, size: ds.map(lambda x, y: (y, x)).map(noisy_pair).batch(size),
    "batch and map": lambda ds, size: ds.batch(size).map(lambda x, y: x + y),
    "maps around": lambda ds, size: ds.map(lambda x, y: y).batch(size).map(np.negative).map(abs).prefetch(2),
    "batches of batches": lambda ds, size: ds.batch(2).map(lambda x, y: x).prefetch(1).batch(size // 2).map(np.ravel),
    "ragged": lambda ds, size: ds.map(lambda x, y: np.arange(x % 3)).ragged_batch(size),
    "numbered": lambda ds, size: ds.enumerate().map(lambda at, pair: pair).batch(size),
}


def noisy_pair(x, y, *, rng):
    return x, y + int(rng.integers(1000))


def shards_of(ds, count, above="batch", size=GLOBAL):
    return [
        ABOVE[above](ds.shard(count, index, streams=12), size // count).with_options(SEED) for index in range(count)
    ]


def saved(iterators):
    return [json.loads(json.dumps(it.state_dict())) for it in iterators]


def step(iterators):
    """Return the elements of all shards in a step, in an order that does not depend on the number of shards."""
    batches = [next(it) for it in iterators]
    parts = [batch if isinstance(batch, tuple) else (batch,) for batch in batches]
    flat = [[list(column) for column in part] for part in parts]
    elements = [list(zip(*columns, strict=True)) for columns in flat]
    return [str(each) for row in zip(*elements, strict=True) for each in row]


@pytest.mark.parametrize(
    ("ds", "above"), [(STREAM, above) for above in ABOVE] + [(ROWS, "batch"), (ROWS, "maps around")]
)
def test_global_batches_are_the_same_across_restarts_with_any_number_of_shards(ds, above):
    alone = [it.iterator(epoch=2) for it in shards_of(ds, 1, above)]
    wanted = [step(alone) for _ in range(12)]
    states, made = None, []
    for count in (4, 2, 6, 1, 12, 3):
        iterators = [shard.iterator(epoch=2) for shard in shards_of(ds, count, above)]
        for it in iterators:
            if states is not None:
                it.load_state_dict(states)
        made += [step(iterators) for _ in range(2)]
        states = saved(iterators)
    assert made == wanted


@pytest.mark.parametrize("ds", [STREAM, ROWS], ids=["stream", "rows"])
def test_batches_may_grow_and_shrink(ds):
    alone = shards_of(ds, 1)[0].iterator(epoch=0)
    order = [each for _ in range(4) for each in step([alone])]
    first = [shard.iterator(epoch=0) for shard in shards_of(ds, 4)]
    made = [*step(first), *step(first)]
    larger = [shard.iterator() for shard in shards_of(ds, 2, size=48)]
    for it in larger:
        it.load_state_dict(saved(first))
    made += step(larger)
    assert made == order[:96]


@pytest.mark.parametrize(
    "options", [Options(executor="threads", workers=2), Options(rewrite=False), Options(memory_budget=1 << 20)]
)
def test_options_of_the_shards_may_change(options):
    before = [shard.iterator(epoch=0) for shard in shards_of(STREAM, 3)]
    alone = shards_of(STREAM, 1)[0].iterator(epoch=0)
    assert step(before) == step([alone])
    after = [shard.with_options(options).iterator() for shard in shards_of(STREAM, 4)]
    for it in after:
        it.load_state_dict(saved(before))
    assert step(after) == step([alone])
    again = [shard.iterator() for shard in shards_of(STREAM, 2)]
    for it in again:
        it.load_state_dict(saved(after))
    assert step(again) == step([alone])


@pytest.mark.parametrize("ds", [STREAM, ROWS], ids=["stream", "rows"])
def test_states_of_unbegun_and_finished_runs_can_be_redistributed(ds):
    fresh = [shard.iterator(epoch=1) for shard in shards_of(ds, 4)]
    loaded = shards_of(ds, 1)[0].iterator()
    loaded.load_state_dict(saved(fresh))
    assert step([loaded]) == step([shards_of(ds, 1)[0].iterator(epoch=1)])
    over = [shard.iterator(epoch=1) for shard in shards_of(ds, 4)]
    for it in over:
        assert list(it)
    for count in (1, 3, 4, 12):
        for shard in shards_of(ds, count):
            it = shard.iterator()
            it.load_state_dict(saved(over))
            assert list(it) == []
            assert it.state_dict()["epoch"] == 1


def test_remaining_elements_come_once_after_some_streams_have_ended():
    ds = Dataset.range(100).filter(lambda x: x % 4 > 0 or x < 20)
    before = [ds.shard(2, index, streams=4).iterator() for index in range(2)]
    made = [list(islice(it, 28)) for it in before]  # of the stream of multiples of 4 there are 5
    states = saved(before)
    for count in (1, 2, 4):
        rest = []
        for index in range(count):
            with ds.shard(count, index, streams=4).iterator() as it:
                it.load_state_dict(states)
                rest += list(it)
        assert sorted([*made[0], *made[1], *rest]) == list(ds)


def test_a_state_loaded_and_saved_again_is_the_same_position():
    before = [shard.iterator(epoch=0) for shard in shards_of(STREAM, 4)]
    step(before)
    twice = saved(before)
    for _ in range(2):
        iterators = [shard.iterator() for shard in shards_of(STREAM, 2)]
        for it in iterators:
            it.load_state_dict(twice)
        twice = saved(iterators)  # before anything is made
    alone = shards_of(STREAM, 1)[0].iterator(epoch=0)
    step([alone])
    last = shards_of(STREAM, 1)[0].iterator()
    last.load_state_dict(twice)
    assert step([last]) == step([alone])


@cache
def states_of(count=4, steps=(2, 2, 2, 2), ds=STREAM, epoch=0):
    iterators = [shard.iterator(epoch=epoch) for shard in shards_of(ds, count)]
    for it, taken in zip(iterators, steps, strict=True):
        list(islice(it, taken))
    return saved(iterators)


def changed(states, index, **fields):
    return [state | fields if at == index else state for at, state in enumerate(states)]


@pytest.mark.parametrize(
    ("states", "says"),
    [
        ([], "list of saved states is empty"),
        (states_of()[:3], "of 4 shards the saved state of shard 3 is missing"),
        (states_of()[1:2], "of 4 shards the saved state of shard 0, 2 and 3 is missing"),
        (states_of() + states_of()[:2], "several saved states of shard 0 and 1"),
        (states_of() + states_of(2, (4, 4)), "runs with 2 and 4 shards"),
        (states_of(steps=(2, 2, 3, 2)), "different steps: shard 0 has yielded 12 elements, shard 2 18"),
        (changed(states_of(), 1, epoch=1), "of the epochs 0 and 1"),
        (changed(states_of(), 1, seed=1), "different seeds.*the same Options"),
        (changed(states_of(), 1, shard=None), "cannot be redistributed"),
        (changed(states_of(), 1, shard={"of": 4}), "cannot be redistributed"),
        (changed(states_of(), 1, shard=[4, 1, 12]), r"the saved state's shard is \[4, 1, 12\]; pass"),
        (changed(states_of(), 1, shard=[4, 1, None, 0, 0, "", ""]), r"the saved state's shard is \[4, 1, None, 0, 0"),
        *(
            (changed(states_of(), 1, shard=[4, 1, *counts, *states_of()[1]["shard"][4:]]), "which is impossible")
            for counts in ((12, 13), (12, -1), (1 << 62, 0))
        ),
        (changed(states_of(), 1, version=99), "version 99"),
        (changed(states_of(), 1, ahead=[[9, 10]]), "out of order"),
        ([1, 2], "expected the dict that state_dict"),
    ],
)
def test_states_that_do_not_fit_together_are_refused(states, says):
    it = shards_of(STREAM, 2)[0].iterator()
    with pytest.raises(CursorError, match=says):
        it.load_state_dict(states)
    assert next(it)[0].shape == (12,)  # it goes on where it was


def test_states_of_another_pipeline_are_refused_with_the_difference():
    other = Dataset.range(999).filter(bool)
    with pytest.raises(CursorError, match=r"(?s)another plan.*\+ range\(999\).*- range\(1000\)"):
        shards_of(other, 2)[0].iterator().load_state_dict(states_of())
    streams = STREAM.shard(2, 0, streams=6).batch(12).with_options(SEED).iterator()
    with pytest.raises(CursorError, match=r"\+ shard\(2, 0, streams=6\)"):
        streams.load_state_dict(states_of())


def test_a_step_that_other_shards_never_take_is_refused():
    with pytest.raises(CursorError, match=r"after 48 elements .* not a multiple of 3 shards × 7 elements"):
        shards_of(STREAM, 3, size=21)[0].iterator().load_state_dict(states_of())


@pytest.mark.parametrize(
    "above",
    [
        lambda ds: ds.shuffle(9).batch(2),
        lambda ds: ds.filter(lambda x: True),
        lambda ds: ds.repeat(2).batch(4),
        lambda ds: ds.map(lambda x: x, on_error=skip()),
        lambda ds: ds.take(9),
    ],
)
def test_states_are_not_redistributed_if_more_than_maps_and_batches_come_after_the_shard(above):
    numbers = Dataset.range(99).filter(lambda x: True)
    states = saved([above(numbers.shard(2, index, streams=4)).iterator() for index in range(2)])
    assert "shard" not in states[0]
    with pytest.raises(CursorError, match=r"needs a shard\(\) that is followed only by map"):
        above(numbers.shard(1, 0, streams=4)).iterator().load_state_dict(states)
    with pytest.raises(CursorError, match="cannot be redistributed"):
        numbers.shard(1, 0, streams=4).iterator().load_state_dict(states)


def test_states_of_shards_that_make_a_whole_stream_are_not_redistributed():
    numbers = Dataset.range(99).filter(lambda x: True)
    assert "shard" not in numbers.shard(2, 0).batch(2).iterator().state_dict()
    with pytest.raises(CursorError, match="has streams= if its input is a stream"):
        numbers.shard(2, 0).batch(2).iterator().load_state_dict(states_of())


def test_a_single_state_of_another_shard_is_refused_with_the_remedy():
    with pytest.raises(CursorError, match=r"- shard\(4, 0, streams=12\)") as caught:
        shards_of(STREAM, 2)[0].iterator().load_state_dict(states_of()[0])
    assert "pass a list of the states of all" in caught.value.__notes__[0]


def test_states_altered_to_be_beyond_the_end_of_a_stream_are_refused():
    ds = Dataset.range(64).filter(lambda x: x % 2 or x < 10)
    before = [ds.shard(2, index, streams=2).batch(4).iterator() for index in range(2)]
    states = saved(before)
    for at in range(2):
        states[at]["shard"][2:4] = [24, 24]
    it = ds.shard(1, 0, streams=2).batch(8).iterator()
    it.load_state_dict(states)
    with pytest.raises(CursorError, match="beyond the end"):
        list(it)


def test_virtual_streams_need_a_plan_that_can_be_cut():
    with pytest.raises(PlanError):
        STREAM.unique().shard(2, 0, streams=4)


@pytest.mark.parametrize("streams", [2, 3])
@pytest.mark.parametrize("rows", [7, 9, 12])
def test_a_stream_that_has_ended_stays_ended_with_a_map_after_the_shard(rows, streams):
    ds = Dataset.range(rows).flat_map(lambda x: Dataset.range(x % 4)).shard(1, 0, streams=streams).map(str)
    whole = list(ds)
    for received in range(len(whole) + 1):
        before, after = ds.iterator(), ds.iterator()
        assert list(islice(before, received)) == whole[:received]
        after.load_state_dict(saved([before]))
        assert list(after) == whole[received:]


@pytest.mark.parametrize("kept", [(0, 2, 4, 6, 8, 9), (1, 2, 3, 7)], ids=str)
@pytest.mark.parametrize("options", [Options(executor="inline"), Options(), Options(workers=2)], ids=repr)
@pytest.mark.parametrize(
    "above",
    [
        lambda ds: ds.batch(1),
        lambda ds: ds.batch(2),
        lambda ds: ds.map(lambda x: -x).batch(1),
        lambda ds: ds.batch(2).map(lambda x: x + 1),
        lambda ds: ds.batch(1).batch(2),
        lambda ds: ds.enumerate(),
        lambda ds: ds.enumerate().batch(1),
    ],
    ids=["batch(1)", "batch(2)", "map, batch", "batch, map", "batch(1), batch(2)", "enumerate", "enumerate, batch"],
)
def test_the_state_of_one_shard_loads_as_a_list_once_some_streams_have_ended(above, options, kept):
    for streams in (2, 4)[options.workers == 2 :]:
        ds = above(Dataset.range(10).filter(lambda x: x in kept).shard(1, 0, streams=streams))
        whole = [str(element) for element in ds]
        for received in range(len(whole) + 1):
            with ds.iterator(epoch=0) as before, ds.with_options(options).iterator() as after:
                assert [str(element) for element in islice(before, received)] == whole[:received]
                after.load_state_dict(saved([before]))
                assert [str(element) for element in after] == whole[received:]
