"""Plans of thousands of operations: built, described, run, saved and sent like short ones."""

from __future__ import annotations

import json
import pickle
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import Dataset, Options
from penstock.ops.combine.concatenate import Concatenate
from tests.draws import draws

MANY = 2_000
"""Operations that are described and run once."""
SEVERAL = 550
"""Operations beyond what `few_frames` lets functions call one another, of kinds that take longer."""


@pytest.fixture
def few_frames():
    """Let functions call one another half as deep as Python does, so that half as many operations are too many."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(500)
    yield
    sys.setrecursionlimit(before)


def add_one(x):
    return x + 1


def is_positive(x):
    return x >= 0


def count_up(state, x):
    return state + 1, x


def first(a, b):
    return a


def twice(x):
    return Dataset.range(2).map(lambda i: x)


def maps(count):
    ds = Dataset.range(20)
    for _ in range(count):
        ds = ds.map(add_one, vectorized=False)
    return ds


def columns(count):
    ds = Dataset.range(20)
    for _ in range(count):
        ds = ds.map(add_one, vectorized=True)
    return ds


def filters(count):
    ds = Dataset.range(20)
    for _ in range(count):
        ds = ds.filter(is_positive, vectorized=True)
    return ds


def concatenates(count):
    ds = Dataset.range(1)
    for _ in range(count):
        ds = ds.concatenate(Dataset.range(2))
    return ds


def moves(count):
    ds = Dataset.range(count + 20)
    for at in range(count):
        ds = [ds.skip(1), ds.shuffle(seed=at), ds.repeat(1), ds.take(count + 5)][at % 4]
    return ds


def zips(count):
    ds = Dataset.range(20)
    for _ in range(count // 2):
        ds = Dataset.zip(ds, Dataset.range(20)).map(first, vectorized=False)
    return ds


def batches(count):
    ds = Dataset.range(20)
    for _ in range(count // 2):
        ds = ds.batch(3).unbatch()
    return ds


def scans(count):
    ds = Dataset.range(20)
    for _ in range(count):
        ds = ds.scan(0, count_up)
    return ds


def moved_streams(count):
    ds = Dataset.range(20).filter(is_positive)
    for at in range(count):
        ds = [ds.enumerate().map(lambda i, x: x), ds.shuffle(2, seed=0), ds.shard(1, 0), ds.take(20 + at)][at % 4]
    return ds


def expect_alike(ds, elements):
    """A dataset that behaves as a short one does."""
    assert "range" in repr(ds)
    assert len(ds.explain()) > 1000
    with ds.with_options(Options(executor="inline")).iterator() as it:
        received = [int(next(it)) for _ in range(3)]
        saved = json.loads(json.dumps(it.state_dict()))
        rest = [int(x) for x in it]
        assert it.verdict()
        assert it.stats().operations[0].rows > 0
    assert received + rest == elements
    again = ds.with_options(Options(executor="inline")).iterator()
    again.load_state_dict(saved)
    assert [int(x) for x in again] == rest
    assert ds.element_spec is not None
    assert ds.check().ok
    if ds.cardinality() >= 0 and ds._plan.indexed:
        assert len(ds) == len(elements)
        assert int(ds[1]) == elements[1]
        assert ds.locate(1)


def test_thousands_of_maps():
    ds = columns(MANY)
    assert ds[3] == 3 + MANY
    assert len(repr(ds)) > MANY


def test_thousands_of_filters():
    with filters(MANY).with_options(Options(executor="inline", rewrite=False)).iterator() as it:
        assert [next(it), next(it)] == [0, 1]


def test_thousands_of_concatenates():
    ds = concatenates(MANY)
    assert len(ds) == 2 * MANY + 1
    assert sum(len(batch) for batch in ds.batch(1000)) == 2 * MANY + 1


def test_thousands_of_moves():
    ds = moves(MANY)
    assert len(set(map(int, ds.take(10)))) == 10
    assert len(ds.locate(0)) == 1


@pytest.mark.usefixtures("few_frames")
@pytest.mark.parametrize(
    ("make", "elements"),
    [
        (maps, list(range(SEVERAL, SEVERAL + 20))),
        (columns, list(range(SEVERAL, SEVERAL + 20))),
        (filters, list(range(20))),
        (concatenates, [0, *[0, 1] * SEVERAL]),
        (zips, list(range(20))),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_deep_plan_behaves_as_a_short_one(make, elements):
    expect_alike(make(SEVERAL), elements)


@pytest.mark.parametrize("make", [batches, scans, moved_streams], ids=lambda make: make.__name__)
def test_deep_nesting_continues_in_other_threads(make):
    """Nested work continues in other threads, so that no Python stack grows too deep."""
    ds = make(300).with_options(Options(executor="inline"))
    with ds.iterator() as it:
        received = [int(next(it)) for _ in range(5)]
        saved = json.loads(json.dumps(it.state_dict()))
        rest = [int(x) for x in it]
    assert sorted(received + rest) == list(range(20))
    again = ds.iterator()
    again.load_state_dict(saved)
    assert [int(x) for x in again] == rest


@pytest.mark.usefixtures("few_frames")
def test_an_error_far_below_names_its_row_and_ends_the_run():
    ds = Dataset.range(5).map(lambda x: 6 // (2 - x))
    for _ in range(SEVERAL):
        ds = ds.map(add_one, vectorized=False)
    with pytest.raises(ZeroDivisionError) as info:
        list(ds)
    assert any("row 2" in note for note in info.value.__notes__)
    ds = ds.scan(0, count_up)
    for _ in range(100):
        ds = ds.scan(0, count_up)
    with pytest.raises(ZeroDivisionError):
        list(ds)


@pytest.mark.usefixtures("few_frames")
def test_a_deep_plan_is_pickled_and_sent_to_processes():
    ds = maps(SEVERAL)
    copy = pickle.loads(pickle.dumps(ds))
    assert copy.fingerprint() == ds.fingerprint()
    assert copy[2] == SEVERAL + 2
    with ProcessPoolExecutor(1, get_context("spawn")) as executor:
        run = ds.batch(5).with_options(Options(executor=executor))
        assert [batch.tolist()[0] for batch in run] == [SEVERAL + at for at in range(0, 20, 5)]


def test_a_pickled_plan_keeps_shared_nodes_shared():
    shared = Dataset.range(3).map(add_one)
    ds = pickle.loads(pickle.dumps(Dataset.zip(shared, shared)))
    one, other = ds._plan.inputs
    assert one is other


def test_building_a_plan_inspects_only_the_input(monkeypatch):
    asked = []
    own = Concatenate.spec

    def spec(self):
        asked.append(self)
        return own(self)

    monkeypatch.setattr(Concatenate, "spec", spec)
    ds = concatenates(200)
    for _ in range(100):
        ds = ds.concatenate(Dataset.range(2)).map(str, on=None)
    assert len(asked) < 1000


OPERATIONS = {
    "map": lambda ds: ds.map(add_one),
    "vectorized": lambda ds: ds.map(add_one, vectorized=True),
    "skip": lambda ds: ds.skip(1),
    "take": lambda ds: ds.take(30),
    "shuffle": lambda ds: ds.shuffle(seed=3) if ds._plan.indexed else ds.shuffle(5, seed=3),
    "buffer": lambda ds: ds.shuffle(4, seed=3),
    "shard": lambda ds: ds.shard(1, 0),
    "repeat": lambda ds: ds.repeat(1),
    "enumerate": lambda ds: ds.enumerate().map(lambda i, x: x),
    "batch": lambda ds: ds.batch(4).unbatch(),
    "prefetch": lambda ds: ds.prefetch(2),
    "options": lambda ds: ds.with_options(Options(seed=1)),
    "concatenate": lambda ds: ds.concatenate(Dataset.range(2)),
    "cache": lambda ds: ds.cache(),
    "zip": lambda ds: Dataset.zip(ds, Dataset.range(100)).map(first),
    "filter": lambda ds: ds.filter(is_positive),
    "scan": lambda ds: ds.scan(0, count_up),
    "flat_map": lambda ds: ds.flat_map(lambda x: Dataset.range(1).map(lambda i: x)).take(30),
    "interleave": lambda ds: ds.interleave(lambda x: Dataset.range(1).map(lambda i: x), cycle_length=2),
    "skip_errors": lambda ds: ds.map(add_one, on_error="skip"),
    "ignore_errors": lambda ds: ds.map(add_one).ignore_errors(),
}
CHAINS = st.lists(st.tuples(st.sampled_from(sorted(OPERATIONS)), st.integers(1, 40)), min_size=3, max_size=12).filter(
    # each input of an interleave is opened again by itself, so that every one below multiplies what a restore takes
    lambda chain: sum(times for name, times in chain if name == "interleave") <= 4
)


@pytest.mark.filterwarnings("ignore::penstock.core.errors.PlanWarning")  # of chains that nobody would write
@given(CHAINS)
@settings(max_examples=draws(5), deadline=None)
def test_a_chain_of_any_operations_yields_what_its_plain_form_does(chain):
    ds = Dataset.range(40).with_options(Options(executor="inline"))
    for name, times in chain:
        for _ in range(times):
            ds = OPERATIONS[name](ds)
    plain = ds.with_options(Options(rewrite=False))
    whole = [int(x) for x in ds]
    assert whole == [int(x) for x in plain.iterator(epoch=0)]
    it = ds.iterator(epoch=0)
    begun = [int(x) for _, x in zip(range(len(whole) // 2), it, strict=False)]
    saved = json.loads(json.dumps(it.state_dict()))
    it.close()
    again = ds.iterator()
    again.load_state_dict(saved)
    assert begun + [int(x) for x in again] == whole
