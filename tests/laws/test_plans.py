"""Laws of every plan, with every executor."""

from __future__ import annotations

from copy import deepcopy
from itertools import islice

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.elements.nested.structure import flatten
from penstock.elements.spec import compatible, spec_of
from penstock.engine.tasks.compile import compiled
from penstock.engine.tasks.observer import Unobserved
from penstock.testing import functions
from penstock.testing.laws import difference, multiset
from penstock.testing.plans import datasets
from tests.draws import draws

EPOCHS = st.sampled_from([0, 0, 1, 5])


def elements(ds, epoch=0):
    with ds.iterator(epoch=epoch) as it:
        return list(it)


def overwrite(element):
    """Write into all containers of an element, and all arrays that can be written to."""
    for leaf in flatten(element)[0]:
        for array in leaf.arrays() if isinstance(leaf, ps.Ragged | ps.Sparse) else [leaf]:
            if isinstance(array, np.ndarray) and array.flags.writeable:
                array[...] = None if array.dtype.hasobject else 0
    functions.grown(element)


def assert_same(made, wanted):
    assert len(made) == len(wanted)
    assert [difference(one, other) for one, other in zip(made, wanted, strict=True)] == [None] * len(made)


@given(datasets(), EPOCHS)
@settings(max_examples=draws(75))
def test_optimized_equals_plain(ds, epoch):
    assert_same(elements(ds, epoch), elements(ds.with_options(ps.Options(rewrite=False)), epoch))


@given(datasets(), EPOCHS)
@settings(max_examples=draws(75))
def test_an_element_made_alone_equals_the_iterated_one(ds, epoch):
    whole = elements(ds, epoch)
    assert_same([ds[epoch, row] for row in range(len(whole))], whole)
    if epoch == 0:
        assert_same([ds[row] for row in range(-len(whole), 0)], whole)


@given(datasets(), EPOCHS)
@settings(max_examples=draws(75))
def test_an_element_made_by_a_separate_task_equals_the_one_made_among_others(ds, epoch):
    plan = ds._bound()
    program = compiled(plan, np.empty, Unobserved())
    assume(len(ds))
    rows = epoch * plan.stride + np.arange(len(ds))
    assert_same([program(rows[at : at + 1]).element(0) for at in range(len(rows))], program(rows).elements())


@given(datasets())
@settings(max_examples=draws(75))
def test_len_is_the_count(ds):
    assert len(ds) == ds.cardinality() == len(elements(ds)) == len(elements(ds, 3))
    assert bool(ds) == bool(len(ds))


@given(datasets())
@settings(max_examples=draws(50))
def test_no_element_beyond_the_last(ds):
    for row in (len(ds), -len(ds) - 1):
        with pytest.raises(IndexError):
            ds[row]


@given(datasets(), st.integers(1, 4))
@settings(max_examples=draws(50))
def test_shards_add_up_to_the_whole(ds, count):
    shards = [elements(ds.shard(count, index)) for index in range(count)]
    whole = elements(ds)
    for index, shard in enumerate(shards):
        assert_same(shard, whole[index::count])


@given(datasets(), st.integers(0, 9))
@settings(max_examples=draws(50))
def test_take_and_skip_are_the_two_parts_of_the_whole(ds, count):
    assert_same(elements(ds.take(count)) + elements(ds.skip(count)), elements(ds))


@given(datasets(), st.integers(1, 3))
@settings(max_examples=draws(50))
def test_repeat_yields_consecutive_epochs(ds, count):
    assert_same(elements(ds.repeat(count)), [each for epoch in range(count) for each in elements(ds, epoch)])


@given(datasets())
@settings(max_examples=draws(50))
def test_an_endless_repeat_never_ends(ds):
    endless = ds.repeat()
    wanted = [] if len(ds) == 0 else [each for epoch in range(30 // len(ds) + 1) for each in elements(ds, epoch)]
    with endless.iterator(epoch=0) as it:
        assert_same(list(islice(it, 30)), wanted[:30])
    with endless.iterator(epoch=7) as it:
        assert len(list(islice(it, 5))) == (5 if len(ds) else 0)


@given(datasets(seeded=False), st.integers(0, 2**64 - 1))
@settings(max_examples=draws(50))
def test_every_epoch_is_reproducible_from_the_seed(ds, seed):
    seeded = ds.with_options(ps.Options(seed=seed))
    again = ds.with_options(ps.Options(seed=seed))
    for epoch in range(3):  # the passes of one dataset take the epochs one after another
        assert_same(list(seeded), elements(again, epoch))


@given(datasets(), st.integers(0, 3), st.integers(0, 2**32))
@settings(max_examples=draws(50))
def test_a_shuffle_moves_elements_within_a_few_buffers_and_differs_in_each_epoch(ds, epoch, seed):
    whole = multiset(enumerate(elements(ds, epoch)))
    shuffled = ds.enumerate().shuffle(seed=seed)
    assert len(elements(shuffled, epoch)) == len(whole)
    numbers = sorted(int(number) for number, _ in elements(shuffled, epoch))
    assert numbers == list(range(len(whole)))
    near = [int(number) for number, _ in elements(ds.enumerate().shuffle(3, seed=seed), epoch)]
    assert sorted(near) == numbers
    assert all(-18 < number - place <= 4 for place, number in enumerate(near))


def test_epochs_of_a_shuffle_differ_and_are_reproducible():
    ds = ps.Dataset.range(100).shuffle().with_options(ps.Options(seed=1))
    first, second = list(ds), list(ds)
    assert first != second
    assert sorted(first) == sorted(second) == list(range(100))
    assert first == elements(ds, 0)
    assert second == elements(ds, 1)
    frozen = ps.Dataset.range(100).shuffle(reshuffle_each_iteration=False).with_options(ps.Options(seed=1))
    assert list(frozen) == list(frozen)


@given(datasets())
@settings(max_examples=draws(50))
def test_fingerprints_depend_on_the_plan_and_not_on_its_settings(ds):
    run = ds.prefetch(3).with_options(ps.Options(executor="threads", workers=2, deterministic=False, rewrite=False))
    assert run.fingerprint() == ds.fingerprint()
    assert ds.skip(1).fingerprint() != ds.fingerprint()


@given(datasets())
@settings(max_examples=draws(50))
def test_the_spec_fits_the_elements(ds):
    specs = [spec_of(element) for element in elements(ds)]
    if specs and all(compatible(specs[0], spec) for spec in specs):
        assert all(compatible(ds.element_spec, spec) for spec in specs)


@given(datasets())
@settings(max_examples=draws(30))
def test_a_batch_can_be_written_to(ds):
    whole = elements(ds)
    for batch in elements(ds.batch(1)):
        for leaf in flatten(batch)[0]:
            for array in leaf.arrays() if isinstance(leaf, ps.Ragged | ps.Sparse) else [leaf]:
                array[...] = None if array.dtype.hasobject else 0
    assert_same(elements(ds), whole)


@given(datasets())
@settings(max_examples=draws(50))
def test_writes_of_a_consumer_do_not_reach_other_elements(ds):
    whole = elements(ds)
    for _ in range(2):
        received = []
        for element in ds.iterator(epoch=0):
            received.append(deepcopy(element))
            overwrite(element)
        assert_same(received, whole)


@given(datasets())
@settings(max_examples=draws(30))
def test_every_plan_can_be_explained_and_located(ds):
    assert ds.explain().startswith("as written")
    assert repr(ds).startswith("<Dataset of ")
    for row in range(len(ds)):
        assert all(str(record) for record in ds.locate(row))
