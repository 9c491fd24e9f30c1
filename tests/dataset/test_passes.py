"""Loops over epochs, interrupted anywhere and resumed: each epoch comes once, in its own order."""

from __future__ import annotations

import copy
import json
import pickle
import threading
from itertools import islice

import pytest

import penstock as ps
from penstock.core.errors import CursorError
from penstock.feed.feed import FrameworkFeed, Here

D = ps.Dataset
SEEDED = D.range(23).shuffle(seed=3)


def jittered(x, *, rng):
    return x + rng.random()


def indexed():
    return D.range(23).shuffle(seed=3).map(jittered).batch(4).with_options(ps.Options(seed=5))


def stream():
    return D.range(23).filter(lambda x: x % 5 > 0).shuffle(7, seed=3).batch(4)


def counted_stream():
    return stream().assert_cardinality(5)


def unseeded():
    return D.range(23).shuffle().map(jittered).batch(4)


def fed():
    return FrameworkFeed(indexed(), Here(lambda array: array))


MAKERS = [indexed, stream, counted_stream, unseeded, fed]


def listed(batch):
    return batch.tolist()


def train(ds, epochs, *, stop=None, steps=None, seen=None):
    """A plain loop, left after `steps` of each epoch; returns what it saw, and the state after `stop` steps in all."""
    seen = [] if seen is None else seen
    for epoch in range(ds.epoch, epochs):
        for step, batch in enumerate(ds):
            seen.append((epoch, listed(batch)))
            if len(seen) == stop:
                return seen, json.dumps(ds.state_dict())
            if step + 1 == steps:
                break
        if len(seen) == stop:
            return seen, json.dumps(ds.state_dict())
    return seen, json.dumps(ds.state_dict())


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("stop", [1, 3, 5, 6, 7, 11, 12])
def test_a_loop_over_epochs_continues_where_it_stopped(make, stop):
    first = make()
    begin = json.dumps(first.state_dict())
    whole, _ = train(first, 4)
    before, after = make(), make()
    before.load_state_dict(json.loads(begin))  # the same seed, where one was drawn
    seen, saved = train(before, 4, stop=stop)
    assert seen == whole[:stop]
    after.load_state_dict(json.loads(saved))
    assert train(after, 4)[0] == whole[stop:]


@pytest.mark.parametrize("make", [indexed, stream, fed])
def test_a_loop_that_leaves_epochs_early_continues_with_the_next_epoch(make):
    whole, _ = train(make(), 4, steps=2)
    assert len({str(batches) for batches in whole}) == 8  # another order each time
    before = make()
    seen, _ = train(before, 2, steps=2)
    after = make()
    after.load_state_dict(before.state_dict())
    assert [*seen, *train(after, 4, steps=2)[0]] == whole


@pytest.mark.parametrize("make", MAKERS)
def test_the_end_of_an_epoch_is_the_beginning_of_the_next(make):
    ds = make()
    list(ds)
    state = ds.state_dict()
    assert (state["epoch"], state["row"], ds.epoch) == (1, 0, 1)
    again = make()
    again.load_state_dict(json.loads(json.dumps(state)))
    assert list(map(listed, again)) == list(map(listed, ds))
    assert ds.epoch == again.epoch == 2


@pytest.mark.parametrize("make", [indexed, counted_stream, fed])
def test_an_epoch_is_over_after_its_last_element(make):
    ds = make()
    it = iter(ds)
    for _ in range(5 if make is counted_stream else 6):
        next(it)
    state, of_iterator = ds.state_dict(), it.state_dict()
    assert (state["epoch"], state["row"]) == (1, 0)
    assert (of_iterator["epoch"], of_iterator["row"]) == (0, 5 if make is counted_stream else 6)
    for saved in (state, of_iterator):
        again = make()
        again.load_state_dict(saved)
        assert len(list(again)) == of_iterator["row"]
        assert again.epoch == 2
    assert next(it, None) is None
    assert ds.state_dict() == state


def test_a_stream_at_its_end_begins_the_next_epoch():
    ds = stream()
    it = iter(ds)
    for _ in range(5):
        next(it)
    assert not it.state_dict()["ended"]
    assert next(it, None) is None
    state = json.loads(json.dumps(it.state_dict()))
    assert state["ended"]
    again, at_end = stream(), stream().iterator()
    again.load_state_dict(state)
    assert again.epoch == 1
    at_end.load_state_dict(state)
    assert at_end.state_dict() == state
    assert list(at_end) == []
    assert at_end.state_dict() == state


def test_the_pass_after_a_restored_iterator_is_the_epoch_after_it():
    saved = SEEDED.iterator(epoch=5).state_dict()
    ds = D.range(23).shuffle(seed=3)
    it = ds.iterator()
    it.load_state_dict(saved)
    assert list(it) == list(SEEDED.iterator(epoch=5))
    assert list(ds) == list(SEEDED.iterator(epoch=6))
    with ps.Switch(train=ds) as switch:
        switch["train"].load_state_dict(saved)
        assert list(switch.begin("train")) == list(SEEDED.iterator(epoch=6))


def test_an_iterator_that_is_never_advanced_takes_no_epoch():
    ds = D.range(23).shuffle(seed=3)
    iter(ds)  # as frameworks do, to see whether they can
    unused, used = iter(ds), iter(ds)
    assert next(used) == next(SEEDED.iterator(epoch=0))
    assert next(unused) == next(SEEDED.iterator(epoch=1))
    ds.load_state_dict(SEEDED.iterator(epoch=4).state_dict())
    iter(ds)
    assert list(ds) == list(SEEDED.iterator(epoch=4))


def test_an_iterator_with_an_explicit_epoch_does_not_count():
    ds = D.range(23).shuffle(seed=3)
    assert next(ds.iterator(epoch=0)) == ds[0] == next(iter(ds))
    assert ds.epoch == 1


def test_of_several_iterators_the_one_begun_last_counts():
    ds = D.range(23).shuffle(seed=3)
    one, other = iter(ds), iter(ds)
    next(one), next(other), next(one)
    assert (ds.state_dict()["epoch"], ds.state_dict()["row"]) == (1, 1)
    aside = ds.iterator(epoch=7)
    next(aside)
    assert ds.epoch == 1
    other.close()
    assert (ds.state_dict()["epoch"], ds.state_dict()["row"]) == (2, 0)


def test_set_epoch_selects_the_next_pass_or_the_rest_of_a_loaded_one():
    ds = D.range(23).shuffle(seed=3)
    epochs = [list(SEEDED.iterator(epoch=epoch)) for epoch in range(4)]
    for epoch in (2, 0, 3):
        ds.set_epoch(epoch)
        assert list(ds) == epochs[epoch]
    it = SEEDED.iterator(epoch=2)
    received = list(islice(it, 9))
    for epoch, left in ((2, epochs[2][9:]), (1, epochs[1])):
        ds.load_state_dict(it.state_dict())
        ds.set_epoch(epoch)
        assert list(ds) == left
        assert list(ds) == epochs[epoch + 1]
    assert received == epochs[2][:9]
    with pytest.raises(ValueError, match=r"set_epoch\(epoch=-1\)"):
        ds.set_epoch(-1)


def test_states_of_other_plans_are_refused_and_change_nothing():
    ds = D.range(23).shuffle(seed=3)
    next(it := iter(ds))
    state = ds.state_dict()
    for wrong in (D.range(22).shuffle(seed=3).state_dict(), {}, None):
        with pytest.raises(CursorError):
            ds.load_state_dict(wrong)
    assert ds.state_dict() == state
    it.close()


def test_states_of_all_shards_load_into_a_dataset():
    def shard(index, shards):
        return D.range(40).shuffle(seed=1).shard(shards, index).batch(4 // shards)

    before, after = [shard(index, 4) for index in range(4)], [shard(index, 2) for index in range(2)]
    iterators = [iter(ds) for ds in before]
    for it in iterators:
        next(it), next(it)
    states = [ds.state_dict() for ds in before]
    whole = list(map(listed, shard(0, 1)))
    for ds in after:
        ds.load_state_dict(states)
    turns = [sorted(x for batch in step for x in listed(batch)) for step in zip(*after, strict=True)]
    assert turns == list(map(sorted, whole[2:]))


def test_a_state_determines_the_whole_run_of_an_unseeded_dataset():
    ds = unseeded()
    it = iter(ds)
    next(it), next(it)
    state = json.loads(json.dumps(ds.state_dict()))
    rest = [list(map(listed, it)), list(map(listed, ds)), list(map(listed, ds))]
    again = unseeded()
    again.load_state_dict(state)
    assert [list(map(listed, again)) for _ in range(3)] == rest


def test_ds_rows_are_those_of_the_first_pass():
    ds = D.range(200).shuffle().map(jittered)
    assert [ds[row] for row in range(200)] == list(ds)
    assert [ds[1, row] for row in range(200)] == list(ds)
    assert [ds.locate(row)[0].name for row in range(3)] == [ds.locate(row)[0].name for row in range(3)]


def test_a_rebuilt_dataset_draws_new_values():
    shuffled = D.range(200).shuffle()
    assert len({tuple(shuffled.take(5)) for _ in range(5)}) == 5
    assert list(shuffled) != list(shuffled.apply(lambda ds: ds.prefetch(1)))


def test_copies_draw_the_same_in_any_process():
    shuffled = D.range(200).shuffle()
    alike = [copy.copy(shuffled), copy.deepcopy(shuffled), pickle.loads(pickle.dumps(shuffled))]
    orders = [list(each) for each in (shuffled, *alike)]
    assert orders == [orders[0]] * 4


def test_a_copy_counts_its_own_passes():
    ds = D.range(23).shuffle(seed=3)
    first = list(ds)
    for copied in (copy.copy(ds), copy.deepcopy(ds), pickle.loads(pickle.dumps(ds))):
        assert list(copied) == first
        assert copied.epoch == 1


def test_the_first_state_has_the_same_keys_as_later_ones():
    for make in (indexed, stream, unseeded, counted_stream):
        ds = make()
        keys = ds.state_dict().keys()
        for _ in ds:
            assert ds.state_dict().keys() == keys
        assert ds.state_dict().keys() == keys


def test_threads_that_iterate_one_dataset_take_different_epochs():
    ds = D.range(50).shuffle(seed=3)
    found = []
    threads = [threading.Thread(target=lambda: found.append(list(ds))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reference = D.range(50).shuffle(seed=3)
    assert sorted(found) == sorted(list(reference.iterator(epoch=epoch)) for epoch in range(4))


def test_a_failed_pass_keeps_its_position():
    ds = D.range(8).map(lambda x: 6 // (x - 5)).batch(2)
    it = iter(ds)
    with pytest.raises(ZeroDivisionError):
        list(it)
    assert ds.state_dict() == it.state_dict()
    assert (ds.epoch, ds.state_dict()["row"]) == (0, 2)


def test_only_passes_left_early_are_reported():
    def codes(ds):
        return [finding.code for finding in ds.check().findings]

    ds = D.range(20).shuffle(seed=1).batch(5)
    next(iter(ds))
    assert codes(ds) == ["PS504"]
    assert codes(D.range(20).batch(5)) == []
    list(ds)
    next(iter(ds))
    assert codes(ds) == []
