"""Elements come back as they were written, by row, in this process and in others."""

from __future__ import annotations

import os
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.cache.store import CacheStore
from penstock.core.errors import CacheWarning, ElementError
from penstock.elements.chunks.chunk import Columns, Items
from penstock.elements.nested.structure import LEAF, flatten
from tests.cache.kinds import ELEMENTS, Box, Point, alike, chunk_of, exactly, images
from tests.draws import draws


def rows(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def opened(path, **settings) -> CacheStore:
    return CacheStore(path, "key", {"part": "1"}, **settings)


def written(path, elements, **settings) -> CacheStore:
    store = opened(path, **settings)
    assert store.write(np.arange(len(elements)), chunk_of(elements)) == len(elements)
    return store


def check(store: CacheStore, elements, order=None) -> None:
    order = np.arange(len(elements)) if order is None else order
    chunk, found = store.read(order)
    assert found.all()
    assert [exactly(each) for each in chunk.elements()] == [exactly(elements[i]) for i in order]


@settings(max_examples=draws(200), deadline=None)
@given(elements=st.lists(ELEMENTS, min_size=1, max_size=5), compression=st.sampled_from([None, None, "lz4", "zstd"]))
def test_any_elements_come_back_as_they_were(tmp_path_factory, elements, compression):
    path = tmp_path_factory.mktemp("cache")
    store = written(path, elements, compression=compression)
    check(store, elements)
    check(opened(path, readonly=True), elements, np.arange(len(elements))[::-1])


@settings(max_examples=draws(60), deadline=None)
@given(elements=alike(), compression=st.sampled_from([None, "lz4", "zstd"]))
def test_elements_of_one_kind_come_back_as_columns(tmp_path_factory, elements, compression):
    path = tmp_path_factory.mktemp("cache")
    store = written(path, elements, compression=compression)
    chunk, _ = store.read(np.arange(len(elements)))
    assert isinstance(chunk, Columns)
    check(opened(path), elements)


COLUMNS = {
    "int64": np.arange(6), "float64": np.arange(6.0), "bool": np.arange(6) % 2 == 0,
    "int8": np.arange(6, dtype=np.int8),
    "complex": np.arange(6) * 1j, "time": np.arange(6).astype("M8[s]"), "text": np.array(list("abcdef")),
    "images": np.arange(6 * 12, dtype=np.uint8).reshape(6, 2, 2, 3), "empty": np.zeros((6, 0, 2)),
    "strided": np.arange(24, dtype=np.float32).reshape(6, 4)[:, ::2], "big end": np.arange(6, dtype=">i4"),
    "struct": np.zeros(6, [("a", "i4"), ("b", "f8", (2,))]), "large": np.arange(6 * 20_000).reshape(6, 20_000),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_of_arrays_come_back_as_columns_of_arrays(tmp_path, name):
    column = COLUMNS[name]
    store = opened(tmp_path)
    store.write(np.arange(6), Columns(LEAF, [column], 6))
    expected = list(map(exactly, Columns(LEAF, [column], 6).elements()))
    chunk, found = opened(tmp_path).read(rows(3, 0, 5, 3))
    assert found.all()
    assert isinstance(chunk, Columns)
    assert list(map(exactly, chunk.elements())) == [expected[i] for i in (3, 0, 5, 3)]
    out = np.empty((2, *column.shape[1:]), column.dtype)
    chunk, _ = store.read(rows(4, 1), [out])
    assert chunk.columns[0] is out
    assert out.tobytes() == column[[4, 1]].tobytes()


def test_large_arrays_are_views_of_the_files_and_small_ones_copies(tmp_path):
    elements = [{"large": np.full(70_000, i, np.uint8), "small": np.full(10, i, np.uint8)} for i in range(3)]
    store = written(tmp_path, elements)
    chunk, _ = store.read(rows(2, 0))
    large, small = chunk.columns
    assert not large[0].flags.owndata
    assert large[0].ctypes.data % 64 == 0
    assert not large[0].flags.writeable
    assert small.shape == (2, 10)
    assert not small.flags.writeable
    store.close()
    del store, chunk
    assert large[0].tolist() == [2] * 70_000  # the files stay mapped as long as a view lives


def test_memory_that_does_not_fit_is_left_alone(tmp_path):
    store = written(tmp_path, [np.full(4, i) for i in range(3)])
    for out in ([np.zeros((2, 5), np.int64)], [np.zeros((2, 4), np.int32)], [], [np.zeros((3, 4), np.int64)]):
        chunk, _ = store.read(rows(1, 2), out)
        assert [each.tolist() for each in chunk.elements()] == [[1] * 4, [2] * 4]
        assert not any(each.any() for each in out)
        assert not chunk.columns[0].flags.writeable


def test_rows_may_come_in_any_order_with_gaps_and_repeats(tmp_path):
    store = opened(tmp_path)
    assert store.write(rows(10**6, 3, 3, 7), chunk_of(["a", "b", "c", "d"])) == 3
    assert store.write(rows(7, 8), chunk_of(["again", "e"])) == 1
    assert store.present(rows(3, 4, 10**6, 10**9, -1)).tolist() == [True, False, True, False, False]
    assert store.missing(rows(9, 3, 4, 9)).tolist() == [4, 9]
    chunk, found = store.read(rows(8, 1, 7, 3))
    assert (chunk.elements(), found.tolist()) == (["e", "d", "b"], [True, False, True, True])
    assert (store.count, store.rows.tolist()) == (4, [3, 7, 8, 10**6])


def test_an_empty_read_and_an_empty_write(tmp_path):
    store = opened(tmp_path / "new")
    assert store.write(rows(), Items([])) == 0
    chunk, found = store.read(rows())
    assert (len(chunk), len(found), store.count, store.prefix) == (0, 0, 0, 0)
    assert not os.path.exists(tmp_path / "new")  # nothing is made before there is a row


@pytest.mark.parametrize(("numbers", "count"), [((-1,), 1), ((1 << 40,), 1), ((0, 1), 1)])
def test_impossible_rows_are_refused(tmp_path, numbers, count):
    with pytest.raises(ValueError, match="rows"):
        opened(tmp_path).write(rows(*numbers), chunk_of([0] * count))


def test_elements_of_many_shapes_keep_few_forms(tmp_path):
    elements = [np.zeros((i % 50, 2)) for i in range(100)]
    store = opened(tmp_path)
    for i, element in enumerate(elements):
        store.write(rows(i), chunk_of([element]))
    assert len(store.forms) <= 17
    check(opened(tmp_path), elements)


def test_elements_of_countless_structures_are_pickled_whole_after_some(tmp_path):
    elements = [{f"user {i}": i} for i in range(520)]
    store = written(tmp_path, elements)
    assert len(store.forms) == 501
    assert [form.is_whole for form in store.forms].count(True) == 1
    check(opened(tmp_path), elements)


def test_only_elements_without_pickles_are_plain(tmp_path):
    plain = [{"a": 1, "b": ["x", None, b"y"]}, np.zeros(3), (np.float32(1), 2.5)]
    assert all(form.is_plain for form in written(tmp_path / "a", plain).forms)
    for i, element in enumerate([Point(1, 2), Box(1, "x"), {1: 2}, 1 << 70, np.array([None])]):
        assert not any(form.is_plain for form in written(tmp_path / f"b{i}", [element]).forms)


def test_a_leaf_that_cannot_be_pickled_is_named_and_nothing_is_kept(tmp_path):
    store = opened(tmp_path)
    elements = [{"x": {"lock": 1}}, {"x": {"lock": threading.Lock()}}]
    with pytest.raises(ElementError, match=r'row 8 at \["x"\]\["lock"\] is a lock, which cannot be pickled') as failure:
        store.write(rows(7, 8), chunk_of(elements))
    assert failure.value.rows == (8,)
    assert store.count == 0


def test_functions_are_kept_with_their_code(tmp_path):
    store = written(tmp_path, [lambda x: x + 1])
    assert store.read(rows(0))[0].elements()[0](2) == 3


def test_other_stores_see_rows_after_refresh(tmp_path):
    one, two = opened(tmp_path), opened(tmp_path)
    one.write(rows(0, 1), chunk_of(["a", "b"]))
    assert two.count == 0
    assert two.refresh() == 2
    two.write(rows(1, 2), chunk_of(["again", "c"]))
    assert one.refresh() == 1
    for store in (one, two):
        assert store.read(rows(2, 1, 0))[0].elements() == ["c", "b", "a"]
    assert one.bytes == two.bytes > 0


def test_keys_are_apart_and_their_parts_are_told(tmp_path):
    written(tmp_path, ["a"])
    other = CacheStore(tmp_path, "a/long\nkey", {"function": "def f", "version": "2"})
    assert other.count == 0
    other.write(rows(0), chunk_of(["b"]))
    assert opened(tmp_path).other_keys() == [("a/long\nkey", {"function": "def f", "version": "2"})]
    assert other.other_keys() == [("key", {"part": "1"})]
    assert opened(tmp_path).read(rows(0))[0].elements() == ["a"]


def test_a_length_is_told_to_all(tmp_path):
    store, other = opened(tmp_path), opened(tmp_path)
    assert store.length is None
    store.complete(5)
    store.complete(6)
    assert (store.length, other.length, opened(tmp_path, readonly=True).length) == (5, 5, 5)


def test_a_length_that_is_damaged_is_recorded_again(tmp_path):
    opened(tmp_path).complete(5)
    (path,) = tmp_path.glob("*/length.json")
    path.write_bytes(path.read_bytes().replace(b"5", b"6", 1))
    store = opened(tmp_path)
    assert store.length is None
    store.complete(5)
    assert opened(tmp_path).length == 5


def test_the_prefix_ends_at_the_first_gap(tmp_path):
    store = opened(tmp_path)
    store.write(rows(0, 1, 3), chunk_of("abd"))
    assert store.prefix == 2
    store.write(rows(2), chunk_of("c"))
    assert store.prefix == 4


def test_fetch_makes_and_keeps_what_is_missing(tmp_path):
    store, asked = opened(tmp_path), []

    def make(wanted):
        asked.append(wanted.tolist())
        return Items([{"x": np.array([row])} for row in wanted.tolist()])

    for wanted in ([4, 2], [2, 5, 4, 5, 9], [9, 9, 2], [7, 7]):
        made = store.fetch(rows(*wanted), make)
        assert [element["x"].tolist() for element in made.elements()] == [[row] for row in wanted]
        assert not any(element["x"].flags.writeable for element in made.elements())
    assert asked == [[4, 2], [5, 9], [7]]


def test_fetch_goes_on_where_nothing_can_be_kept(tmp_path):
    store = opened(tmp_path, readonly=True)
    for _ in range(2):
        assert store.fetch(rows(3, 1, 3), lambda wanted: Items(wanted.tolist())).elements() == [3, 1, 3]
    assert os.listdir(tmp_path) == []


def test_fetch_finds_what_others_have_written_meanwhile(tmp_path, monkeypatch):
    store, other = opened(tmp_path), opened(tmp_path)
    other.write(rows(0), chunk_of(["theirs"]))
    monkeypatch.setattr("penstock.cache.store._LOOK_EVERY", 0)
    assert store.fetch(rows(0), lambda wanted: pytest.fail("made again")).elements() == ["theirs"]


def test_a_pickled_store_opens_the_same_rows(tmp_path):
    store = written(tmp_path, images(3))
    again = pickle.loads(pickle.dumps(store))
    check(again, images(3))
    assert again.write(rows(3), chunk_of(images(4)[3:])) == 1


def test_the_child_of_a_fork_writes_files_of_its_own(tmp_path):
    store = written(tmp_path, ["a"])
    child = os.fork()
    if child == 0:
        os._exit(0 if store.write(rows(1), chunk_of(["child"])) == 1 else 1)
    store.write(rows(2), chunk_of(["parent"]))
    assert os.waitpid(child, 0)[1] == 0
    store.refresh()
    assert store.read(rows(0, 1, 2))[0].elements() == ["a", "child", "parent"]
    assert store.damaged == 0


@pytest.mark.parametrize("look_every", [1, 0])
def test_threads_share_a_store(tmp_path, monkeypatch, look_every):
    monkeypatch.setattr("penstock.cache.store._LOOK_EVERY", look_every)
    store, elements = opened(tmp_path), images(400)

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(40):
            wanted = rng.integers(0, 400, 20)
            made = store.fetch(wanted, lambda need: chunk_of([elements[i] for i in need]))
            assert [each["label"] for each in made.elements()] == wanted.tolist()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(opened(tmp_path), elements, np.flatnonzero(store.present(np.arange(400))))
    assert store.damaged == 0


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="it is a file, not a folder"):
        opened(tmp_path / "file")


def test_structures_of_sorted_keys_keep_the_users_order(tmp_path):
    store = written(tmp_path, [{"b": 1, "a": 2}])
    assert list(store.read(rows(0))[0].elements()[0]) == ["b", "a"]
    assert flatten(store.read(rows(0))[0].elements()[0])[0] == [2, 1]


def test_the_default_way_to_tell_is_a_warning(tmp_path):
    store = opened(tmp_path, limit_bytes=10)
    with pytest.warns(CacheWarning, match="does not grow any more"):
        assert store.write(rows(0), chunk_of(["a"])) == 0
    assert "limit_bytes=10" in store.stopped
