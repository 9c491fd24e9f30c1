from __future__ import annotations

import threading
import warnings
from collections import OrderedDict

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import CacheWarning
from penstock.ops.buffer.cache import Store
from penstock.testing.laws import verify_determinism, verify_resume

Dataset = ps.Dataset
calls_made = []


def noted(x):
    calls_made.append(int(x))
    return {"x": x, "row": np.full(3, x)}


def uneven(x):
    calls_made.append(int(x))
    return np.arange(int(x) % 3)


@pytest.fixture(autouse=True)
def no_calls():
    calls_made.clear()


def as_lists(elements):
    return [repr(element) for element in elements]


@pytest.mark.parametrize("function", [noted, uneven])
@pytest.mark.parametrize("stream", [False, True])
def test_every_element_is_made_once(function, stream):
    ds = Dataset.range(20).map(function)
    ds = (ds.filter(lambda *_: True) if stream else ds).cache()
    first = as_lists(ds)
    assert as_lists(ds) == first == as_lists(ds.repeat(2).take(20))
    assert sorted(calls_made) == list(range(20))


def test_a_pass_that_ends_early_keeps_what_it_made():
    ds = Dataset.range(10).map(noted).cache().with_options(ps.Options(executor="inline"))
    for stream in (ds, ds.filter(lambda _: True).cache()):
        it = iter(stream)
        for _ in range(4):
            next(it)
        it.close()
    list(ds)
    assert sorted(calls_made) == list(range(10))


def test_shuffles_after_a_cache_share_the_cached_elements():
    cached = Dataset.range(50).map(noted).cache()
    shuffled = cached.shuffle(seed=1)
    a, b = ([int(e["x"]) for e in shuffled] for _ in range(2))
    assert a != b
    assert sorted(a) == sorted(b) == sorted(calls_made) == list(range(50))


@pytest.mark.parametrize("executor", ["inline", "threads"])
def test_cached_batches_are_read_only(executor):
    ds = Dataset.range(10).batch(4).cache().with_options(ps.Options(executor=executor))
    for batch in [*ds, *ds]:
        with pytest.raises(ValueError, match="read-only"):
            batch[:] = -1
    assert [batch.tolist() for batch in ds] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_cached_elements_that_are_not_copied_cannot_be_changed():
    ds = Dataset.range(3).map(uneven).cache()
    for array in ds:
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 1


def test_random_operations_before_a_cache_draw_once_for_a_seed():
    def drawn(x, *, rng):
        return rng.random()

    ds = Dataset.range(5).map(drawn).cache().with_options(ps.Options(seed=1, ignore_lint=("all",)))
    assert list(ds) == list(ds)
    other = ds.with_options(ps.Options(seed=2))
    assert list(other) != list(ds)
    verify_resume(Dataset.range(9).map(drawn).cache().with_options(ps.Options(ignore_lint=("all",))))


@pytest.mark.parametrize("function", [noted, uneven])
def test_a_restored_iterator_over_an_empty_cache_continues_exactly(function):
    streamed = Dataset.range(30).map(function).filter(lambda *_: True).cache()
    with streamed.iterator(epoch=0) as it:
        begun = as_lists([next(it) for _ in range(7)])
        state = it.state_dict()
    again = Dataset.range(30).map(function).filter(lambda *_: True).cache()
    with again.iterator(epoch=0) as it:
        it.load_state_dict(state)
        rest = as_lists(it)
    assert begun + rest == as_lists(again) == as_lists(streamed)


def test_datasets_with_caches_keep_the_laws():
    for ds in (Dataset.range(20).cache().shuffle().batch(3), Dataset.range(20).filter(lambda x: x % 3 > 0).cache()):
        verify_resume(ds)
        verify_determinism(ds)


def test_two_threads_that_fill_one_cache_get_the_same_elements():
    ds = Dataset.range(500).map(uneven).cache().with_options(ps.Options(executor="inline"))
    found = []
    threads = [threading.Thread(target=lambda: found.append(as_lists(ds))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [as_lists(ds)] * 4


def test_caching_an_endless_dataset_is_refused():
    with pytest.raises(ps.errors.PlanError, match="without end"):
        Dataset.counter().cache()


def test_an_empty_dataset_can_be_cached():
    assert list(Dataset.range(0).cache()) == []
    assert list(Dataset.range(3).filter(lambda x: x > 9).cache().repeat(2)) == []


def test_each_virtual_stream_has_its_own_lasting_store():
    store = Store()
    assert store.part(1, 4) is store.part(1, 4)
    assert len({id(part) for part in (store, store.part(0, 4), store.part(1, 4), store.part(1, 8))}) == 4
    assert store.part(0, 4).stream((7,)) is store.part(0, 4).stream((7,))


def drawn(x, *, rng):
    calls_made.append(int(x))
    return x + rng.random()


UNSEEDED = ps.Options(ignore_lint="all", executor="inline")


@pytest.mark.parametrize(
    "behind",
    [
        lambda: Dataset.range(10).map(drawn),
        lambda: Dataset.range(10).shuffle().map(noted),
        lambda: Dataset.range(10).shuffle().map(drawn).filter(lambda x: True),
        lambda: Dataset.range(10).map(drawn).cache().shuffle(),
        lambda: Dataset.sample_from_datasets([Dataset.range(5), Dataset.range(5)], stop="exact").map(drawn),
    ],
)
@pytest.mark.parametrize("seed", [None, 7])
def test_a_cache_keeps_the_draws_of_the_first_pass(behind, seed):
    ds = behind().cache().with_options(UNSEEDED).with_options(ps.Options(seed=seed))
    epochs = [as_lists(ds) for _ in range(3)]
    assert epochs[0] == epochs[1] == epochs[2]
    assert sorted(calls_made) == sorted(as_numbers(behind, seed))
    assert [repr(ds[row]) for row in range(10) if seed is None and ds.cardinality() == 10] in ([], epochs[0])


def as_numbers(behind, seed):
    calls = len(calls_made)
    list(behind().with_options(UNSEEDED))
    made = calls_made[calls:]
    del calls_made[calls:]
    return made


def test_all_datasets_built_on_a_cache_share_its_draws():
    cached = Dataset.range(10).map(drawn).cache().with_options(UNSEEDED)
    first = sorted(cached.shuffle())
    assert sorted(cached) == sorted([*cached.take(4), *cached.skip(4)]) == sorted(cached.shuffle()) == first
    assert len(calls_made) == 10


def test_a_restored_iterator_reads_the_cached_elements():
    cached = Dataset.range(10).shuffle().map(drawn).cache().with_options(UNSEEDED)
    list(cached.take(10))  # draws first, so that the others have to take its draws over
    ds = cached.batch(2)
    it = iter(ds)
    begun, state = [next(it).tolist(), next(it).tolist()], ds.state_dict()
    rest = [batch.tolist() for batch in it]
    ds.load_state_dict(state)
    assert [batch.tolist() for batch in ds] == rest
    assert [batch.tolist() for batch in ds] == begun + rest
    assert len(calls_made) == 10


def test_a_state_from_another_process_brings_its_draws():
    def pipeline():
        return Dataset.range(10).shuffle().map(drawn).cache().with_options(UNSEEDED)

    ds, other = pipeline(), pipeline()
    first = list(ds)
    list(other)
    other.load_state_dict(ds.state_dict())
    assert list(other) == list(other) == first
    assert len(calls_made) == 30


def large(x):
    calls_made.append(int(x))
    return {"x": np.full(1000, x, np.uint8), "name": f"row {x}"}


def caching(options=None, *, stream=False, shuffled=False):
    ds = Dataset.range(40).map(large)
    ds = (ds.filter(lambda *_: True) if stream else ds).cache()
    ds = ds.shuffle(seed=3) if shuffled else ds
    return ds if options is None else ds.with_options(options)


@pytest.mark.parametrize("executor", ["inline", "threads"])
@pytest.mark.parametrize(("stream", "shuffled"), [(False, False), (False, True), (True, False)])
def test_a_cache_within_a_budget_equals_one_without(executor, stream, shuffled):
    wanted = [as_lists(epoch) for ds in [caching(stream=stream, shuffled=shuffled)] for epoch in [ds] * 3]
    calls_made.clear()
    ds = caching(ps.Options(executor=executor, memory_budget=20_000), stream=stream, shuffled=shuffled)
    with pytest.warns(ps.errors.BudgetWarning, match=r"cache\(\) keeps \d+ elements .* makes the others anew") as told:
        found = [as_lists(ds) for _ in range(3)]
    assert found == wanted
    assert len({str(each.message).partition(" keeps ")[0] for each in told}) == 1
    assert 3 * 30 < len(calls_made) <= 3 * 40  # up to nine are kept: half of the budget


def test_a_full_cache_says_so_once_in_a_run():
    ds = caching(ps.Options(memory_budget=20_000)).repeat(4)
    it = ds.iterator()
    with pytest.warns(ps.errors.BudgetWarning) as told:
        assert len(list(it)) == 160
    assert len(told) == 1
    assert "caches may keep 10,000 bytes" in it.stats().notes[0]
    (held,) = [each for each in it.stats().held if each.kind == "cache"]
    assert 9_000 < held.bytes <= 10_000  # one more would not fit


def test_elements_that_are_not_kept_are_read_only_too():
    ds = caching(ps.Options(memory_budget=20_000))
    with pytest.warns(ps.errors.BudgetWarning):
        elements = [*ds, *ds]
    assert not any(element["x"].flags.writeable for element in elements)


def test_a_larger_budget_lets_a_cache_grow_on():
    ds = caching()
    with pytest.warns(ps.errors.BudgetWarning):
        list(ds.with_options(ps.Options(memory_budget=20_000)))
    before = len(calls_made)
    list(ds.with_options(ps.Options(memory_budget=1 << 20)))
    assert 30 <= len(calls_made) - before < 40
    list(ds)
    assert len(calls_made) - before < 40


def test_several_caches_share_the_budget():
    ds = Dataset.zip(caching(), caching()).with_options(ps.Options(memory_budget=40_000))
    it = ds.iterator()
    with pytest.warns(ps.errors.BudgetWarning):
        list(it)
    held = [each.bytes for each in it.stats().held if each.kind == "cache"]
    assert 10_000 < sum(held) <= 20_000


@pytest.mark.parametrize("stop", [3, 20, 39])
def test_a_full_cache_of_a_stream_continues_from_a_state(stop):
    ds = caching(ps.Options(memory_budget=20_000), stream=True)
    with pytest.warns(ps.errors.BudgetWarning):
        wanted = as_lists(ds)
    it, again = ds.iterator(), caching(ps.Options(memory_budget=20_000), stream=True).iterator()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ps.errors.BudgetWarning)
        for _ in range(stop):
            next(it)
        again.load_state_dict(it.state_dict())
        it.load_state_dict(it.state_dict())
        assert as_lists(it) == as_lists(again) == wanted[stop:]


class Box:
    def __init__(self, value):
        self.values = [value]


def tagged(box):
    box.values.append(9)
    return box


def boxes_in_array(value):
    made = np.empty(1, object)
    made[0] = Box(value)
    return made


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize(
    ("make", "tag"),
    [
        (Box, tagged),
        (lambda i: {"box": (Box(i), i)}, lambda row: tagged(row["box"][0])),
        (boxes_in_array, lambda array: tagged(array[0])),
    ],
    ids=["object", "part", "array"],
)
def test_a_function_that_changes_an_object_changes_no_later_epoch(make, tag, is_stream):
    numbers = Dataset.range(4)
    ds = (numbers.filter(lambda i: i >= 0) if is_stream else numbers).map(make).cache()
    assert [[box.values for box in ds.map(tag)] for _ in range(3)] == [[[i, 9] for i in range(4)]] * 3


def reshaped(array):
    array.shape = (-1, 1)
    return array


def retyped(array):
    array.dtype = np.uint64
    return array


def masked(array):
    array[0] = np.ma.masked
    return array


@pytest.mark.parametrize("executor", ["inline", "threads"])
@pytest.mark.parametrize("source", ["list", "rows", "stream", "cached"])
@pytest.mark.parametrize("change", [reshaped, retyped, masked])
def test_a_function_that_changes_the_form_of_an_array_changes_no_later_epoch(change, source, executor):
    make = (lambda i: np.ma.array([i, 1], mask=[False, True])) if change is masked else (lambda i: np.arange(1 + i % 3))
    rows = [make(i) for i in range(6)]
    before = as_lists(rows)
    ds = {
        "list": Dataset.from_source(rows),
        "rows": Dataset.range(6).map(make).cache(),
        "stream": Dataset.range(6).filter(lambda i: i >= 0).map(make).cache(),
        "cached": Dataset.from_source(rows).cache(),
    }[source].with_options(ps.Options(executor=executor))
    assert as_lists(ds) == before
    assert as_lists(ds.map(change)) == as_lists(ds.map(change)) == as_lists(change(make(i)) for i in range(6))
    assert as_lists(ds) == as_lists(rows) == before


def test_cached_ordered_dicts_whose_keys_were_moved_make_a_batch():
    def moved(i):
        element = OrderedDict(image=np.full(2 + i % 2, i), label=-1)
        element.move_to_end("image")
        return element

    (batch,) = Dataset.range(3).map(moved).cache().padded_batch(3)
    assert batch["image"].tolist() == [[0, 0, 0], [1, 1, 1], [2, 2, 0]]
    assert batch["label"].tolist() == [-1, -1, -1]


def test_an_image_and_a_data_frame_are_the_same_in_every_epoch():
    image, pandas = pytest.importorskip("PIL.Image"), pytest.importorskip("pandas")

    def changed(row):
        row["image"].putpixel((0, 0), row["image"].getpixel((0, 0)) + 1)
        row["frame"]["x"] += 1
        return row["image"].getpixel((0, 0)), int(row["frame"]["x"].sum())

    ds = Dataset.range(2).map(lambda i: {"image": image.new("L", (2, 2)), "frame": pandas.DataFrame({"x": [0]})})
    changing = ds.cache().map(changed)
    assert [list(changing) for _ in range(3)] == [[(1, 1)] * 2] * 3


@pytest.mark.parametrize("kept", [{"limit_bytes": 400}, {"limit_bytes": 400, "spill": True}, {}], ids=str)
@pytest.mark.parametrize("first", [False, True])
def test_runs_with_and_without_rewriting_share_what_a_stream_has_kept(kept, first):
    cached = Dataset.range(100).filter(lambda x: x % 3 != 0).shard(1, 0).skip(0).cache(**kept)
    ways = [cached.with_options(ps.Options(rewrite=rewrite, ignore_lint="all")) for rewrite in (first, not first)]
    expected = [x for x in range(100) if x % 3]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CacheWarning)
        for way in ways * 2:
            it = iter(way)
            assert [next(it) for _ in range(30)] == expected[:30]
            assert list(way) == expected
