"""Caches in memory with a limit, and the elements beyond it on disk."""

import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import penstock as ps
from penstock.cache.store import CacheStore
from penstock.core.errors import CacheWarning
from penstock.testing.laws import verify_determinism, verify_resume
from tests.ops.buffer.kept import INLINE, Dataset, Noted, as_texts, rows

KINDS = {
    "arrays": lambda x: {"x": np.full(1000, x, np.uint8)},
    "texts": lambda x: {"x": np.full(1000 + x, x, np.uint8), "name": f"row {x}", "no": None},
}


class Counted:
    def __init__(self, kind):
        self.kind, self.calls = kind, []

    def fingerprint(self):
        return self.kind

    def __call__(self, x):
        self.calls.append(int(x))
        return KINDS[self.kind](int(x))


@pytest.fixture(autouse=True)
def temporary(tmp_path_factory, monkeypatch):
    """Return the folder for temporary folders."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr("penstock.cache.temporary._on_disk", lambda at: os.fspath(folder))
    return folder


@pytest.fixture
def spilled(monkeypatch):
    """Return the list of the rows that are written to disk."""
    rows, write = [], CacheStore.write

    def noting(store, numbers, chunk):
        rows.extend(numbers.tolist())
        return write(store, numbers, chunk)

    monkeypatch.setattr(CacheStore, "write", noting)
    return rows


def plan(function, *, stream=False):
    ds = Dataset.range(40).map(function).with_options(INLINE)
    return ds.filter(lambda *_: True) if stream else ds


def bytes_on_disk(folder):
    return sum(path.stat().st_size for path in folder.rglob("*.data"))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_element_is_made_once_and_those_beyond_the_limit_are_on_disk(kind, stream, temporary, spilled):
    function = Counted(kind)
    plain = as_texts(plan(Counted(kind), stream=stream))
    cached = plan(function, stream=stream).cache(limit_bytes=20_000, spill=True)
    assert as_texts(cached) == as_texts(cached) == plain == as_texts(cached.repeat(2).skip(40))
    assert sorted(function.calls) == list(range(40))
    assert bytes_on_disk(temporary) >= 1000 * len(spilled)
    assert 20 <= len(spilled) <= 26  # of 1,000 bytes, and up to 270 bytes of objects each in memory
    assert len(set(spilled)) == len(spilled)
    del cached
    assert os.listdir(temporary) == []


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_filled_in_any_order(kind):
    function = Counted(kind)
    plain = as_texts(plan(Counted(kind)))
    cached = plan(function).cache(limit_bytes=10_000, spill=True)
    assert [repr(cached[row]) for row in (39, 3, 17)] == [plain[row] for row in (39, 3, 17)]
    for epoch in cached.shuffle(seed=1).take(8), cached.shuffle(seed=2), cached.skip(30):
        list(epoch)
    assert as_texts(cached) == plain
    assert sorted(function.calls) == list(range(40))


@pytest.mark.parametrize("stream", [False, True])
def test_without_spill_a_limit_ends_the_growth_and_says_so_once(stream):
    function = Counted("arrays")
    cached = plan(function, stream=stream).cache(limit_bytes=20_000)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        epochs = [as_texts(cached) for _ in range(3)]
    assert epochs == [as_texts(plan(Counted("arrays")))] * 3
    (warning,) = [each for each in told if issubclass(each.category, CacheWarning)]
    kept = 16 if stream else 20  # arrays in one array take no objects
    assert "cache(limit_bytes=20000) keeps no more elements" in str(warning.message)
    assert "spill=True" in str(warning.message)
    again = 1 if stream else 0  # a stream goes on from the mark after the 15 elements before
    assert len(function.calls) == 3 * 40 - 2 * (kept - again)


def test_what_a_memory_budget_has_no_room_for_is_spilled_without_a_word(temporary):
    function = Counted("arrays")
    cached = plan(function).cache(spill=True).with_options(ps.Options(memory_budget=20_000))
    assert as_texts(cached) == as_texts(cached)
    assert len(function.calls) == 40
    assert 30_000 <= bytes_on_disk(temporary) < 40_000


def test_a_folder_keeps_what_was_spilled_for_the_next_run(tmp_path, temporary):
    def cached(noted):
        return rows(noted).cache(limit_bytes=400, spill=tmp_path / "spilled").with_options(INLINE)

    first, second, other = Noted(), Noted(), Noted(3)
    plain = as_texts(rows(Noted()))
    assert as_texts(cached(first)) == plain
    assert as_texts(cached(second).shuffle(seed=0))
    assert 0 < len(second.calls) < 20
    assert len(set(first.calls)) == len(first.calls) == 20
    with pytest.warns(CacheWarning, match="changed"):
        assert as_texts(cached(other)) == as_texts(rows(Noted(3)))
    assert len(other.calls) == 20
    assert os.listdir(temporary) == []


@pytest.mark.parametrize("settings", [{}, {"spill": True}, {"limit_bytes": 20_000, "spill": True}])
def test_a_stream_that_was_read_to_its_end_has_a_length_rows_and_a_global_shuffle(settings):
    function = Counted("arrays")
    cached = plan(function, stream=True).map(lambda e: e).cache(**settings)
    before, iterator = cached.batch(3), iter(cached)
    next(iterator)
    with pytest.raises(TypeError):
        len(cached)
    plain = as_texts(cached)
    assert len(cached) == len(plain) == 40
    assert repr(cached[31]) == plain[31]
    assert [repr(cached[row]) for row in (39, 0)] == [plain[39], plain[0]]
    shuffled = cached.shuffle(seed=0)
    first, second = as_texts(shuffled), as_texts(shuffled)
    assert sorted(first) == sorted(second) == sorted(plain)
    assert first != second
    assert len(list(before)) == 14
    assert as_texts(cached) == plain
    assert len(function.calls) == 40
    assert as_texts(iterator) == plain[1:]


def test_a_stream_without_room_for_all_stays_a_stream():
    cached = plan(Counted("arrays"), stream=True).cache(limit_bytes=20_000)
    with pytest.warns(CacheWarning):
        list(cached)
    with pytest.raises(TypeError, match="known only by iterating"):
        len(cached)


def test_a_state_of_the_first_pass_over_a_stream_is_loaded_after_it():
    cached = plan(Counted("arrays"), stream=True).cache(limit_bytes=20_000, spill=True)
    it = iter(cached)
    plain = as_texts([next(it) for _ in range(30)])
    state = cached.state_dict()
    rest = as_texts(it)
    assert len(cached) == 40
    cached.load_state_dict(state)
    assert as_texts(cached) == rest
    assert plain + rest == as_texts(cached)


@pytest.mark.parametrize("stream", [False, True])
def test_spilled_caches_keep_the_laws(stream):
    ds = Dataset.range(30).map(KINDS["texts"])
    ds = (ds.filter(lambda e: e["name"] != "row 7") if stream else ds).cache(limit_bytes=9000, spill=True)
    ds = ds.shuffle(8, seed=3)
    verify_resume(ds)
    verify_determinism(ds)


def test_copies_in_other_processes_share_the_folder(temporary):
    function = Counted("arrays")
    cached = plan(function).cache(limit_bytes=10_000, spill=True)
    copy = pickle.loads(pickle.dumps(cached))
    plain = as_texts(cached)
    calls = copy._plan.input.input.function.calls
    calls.clear()
    assert as_texts(copy) == plain
    assert sorted(calls) == list(range(10))  # in the memory of the other
    assert len(os.listdir(temporary)) == 1


def test_a_copy_where_the_folder_is_not_has_one_of_its_own(temporary):
    cached = plan(Counted("arrays")).cache(limit_bytes=10_000, spill=True)
    pickled, plain = pickle.dumps(cached), as_texts(cached)
    del cached
    assert os.listdir(temporary) == []
    assert as_texts(pickle.loads(pickled)) == plain


def test_each_part_of_a_stream_spills_for_itself():
    def shards(**settings):
        ds = plan(Counted("arrays"), stream=True).cache(**settings)
        return [ds.shard(2, index, streams=4) for index in range(2)]

    wanted = [as_texts(shard) for shard in shards()]
    assert [as_texts(shard) for shard in shards(limit_bytes=9000, spill=True)] == wanted
    spilled = shards(limit_bytes=9000, spill=True)
    assert [as_texts(shard) for shard in spilled * 2] == wanted * 2


def test_a_disk_that_is_full_leaves_the_elements_to_be_made(monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    cached = plan(Counted("arrays")).cache(limit_bytes=20_000, spill=True)
    monkeypatch.setattr("penstock.cache.writing.os.pwritev", refuse)
    with pytest.warns(CacheWarning, match="the disk is full") as told:
        epochs = [as_texts(cached) for _ in range(2)]
    assert epochs == [as_texts(plan(Counted("arrays")))] * 2
    assert len(told) == 1


@pytest.mark.parametrize(
    ("settings", "error", "match"),
    [
        ({"path": "x", "spill": True}, ps.errors.PlanError, "everything is on disk"),
        ({"version": 1}, ps.errors.PlanError, "version=1.*spill="),
        ({"version": 1, "spill": True}, ps.errors.PlanError, "version"),
        ({"compression": "lz4"}, ps.errors.PlanError, "compression"),
        ({"limit_bytes": 0}, ValueError, "limit_bytes"),
        ({"limit_bytes": 1.5}, TypeError, "limit_bytes"),
        ({"limit_bytes": "much"}, ValueError, "limit_bytes"),
        ({"spill": 7}, TypeError, "spill"),
        ({"spill": ""}, ValueError, "spill=''"),
        ({"spill": "s3://bucket"}, ps.errors.PlanError, "URL"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, error, match):
    with pytest.raises(error, match=match):
        Dataset.range(3).cache(**settings)


def test_explain_shows_the_limit_and_the_spill(tmp_path):
    assert "cache(limit_bytes=5, spill=True)" in Dataset.range(3).cache(limit_bytes=5, spill=True).explain()
    assert f"cache(spill={os.fspath(tmp_path)!r})" in Dataset.range(3).cache(spill=tmp_path).explain()


KILLED = """
import os, sys, tempfile
import penstock as ps
tempfile.tempdir = sys.argv[1]
ds = ps.Dataset.range(100).cache(limit_bytes=80, spill=True)
list(ds)
assert os.listdir(sys.argv[1])
os.kill(os.getpid(), 9)
"""


def test_a_killed_process_leaves_a_folder_that_the_next_one_removes(tmp_path, monkeypatch):
    monkeypatch.setattr("penstock.cache.temporary._on_disk", lambda at: os.fspath(tmp_path))
    subprocess.run([sys.executable, "-c", KILLED, tmp_path], check=False)
    assert len(left := os.listdir(tmp_path)) == 1
    cached = Dataset.range(100).cache(limit_bytes=80, spill=True)
    list(cached)
    assert not set(left) & set(os.listdir(tmp_path))
    del cached
    assert os.listdir(tmp_path) == []


THREADS = ps.Options(executor="threads", ignore_lint="all")


@pytest.mark.parametrize("executor", [INLINE, THREADS], ids=["inline", "threads"])
@pytest.mark.parametrize("cause", ["limit", "full folder", "changed", "spill in memory"])
def test_warnings_are_about_the_line_that_made_the_cache(cause, executor, tmp_path, monkeypatch):
    ds = plan(Counted("arrays")).batch(4).with_options(executor)
    if cause == "limit":
        cached, line = ds.cache(limit_bytes=9000), line_here()
    elif cause == "spill in memory":
        monkeypatch.undo()
        monkeypatch.setattr("penstock.cache.temporary.is_in_memory", lambda folder: True)
        cached, line = ds.cache(limit_bytes=9000, spill=True), line_here()
    elif cause == "full folder":
        cached, line = ds.cache(tmp_path, limit_bytes=9000), line_here()
    else:
        list(plan(Counted("texts")).cache(tmp_path))
        cached, line = ds.cache(tmp_path), line_here()
    with pytest.warns(CacheWarning) as told:
        list(cached)
    assert {(each.filename, each.lineno) for each in told} == {(__file__, line)}


def line_here():
    return sys._getframe(1).f_lineno
