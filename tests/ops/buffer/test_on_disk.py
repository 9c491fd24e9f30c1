"""Caches on disk: filled in any order by anybody, and never older than the pipeline."""

import errno
import os
import signal
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.core.errors import CacheWarning
from tests.ops.buffer.kept import INLINE, Dataset, Noted, as_texts, damage, rows


@pytest.mark.parametrize("executor", ["inline", "threads"])
@pytest.mark.parametrize("stream", [False, True])
def test_every_element_is_made_once_by_all_datasets_of_one_pipeline(tmp_path, executor, stream):
    noted = Noted()
    options = ps.Options(executor=executor)

    def cached():
        ds = rows(noted)
        return (ds.filter(lambda e: True) if stream else ds).cache(tmp_path).with_options(options)

    plain = as_texts(rows(Noted()))
    ds = cached()
    assert as_texts(ds) == as_texts(ds) == as_texts(cached()) == plain
    assert sorted(noted.calls) == list(range(20))


def test_rows_are_read_at_random_and_missing_ones_are_made(tmp_path):
    noted = Noted()
    ds = rows(noted).cache(tmp_path).with_options(INLINE)
    plain = as_texts(rows(Noted()))
    assert repr(ds[7]) == plain[7]
    assert repr(ds[7]) == plain[7]
    assert as_texts(ds.skip(5).take(4)) == plain[5:9]
    assert noted.calls == [7, 5, 6, 8]
    assert sorted(as_texts(ds.shuffle(seed=1))) == sorted(plain)
    assert sorted(noted.calls) == list(range(20))


def test_elements_are_read_only_and_containers_belong_to_the_consumer(tmp_path):
    for _ in range(2):
        ds = rows(Noted()).cache(tmp_path).with_options(INLINE)
        for element in ds:
            assert not element["x"].flags.writeable
            element["x"] = None
        assert ds[0]["x"] is not None


@pytest.mark.parametrize("kept", [{}, {"limit_bytes": 1, "spill": True}, {"path": True}])
@pytest.mark.parametrize("first", [0, 3])
def test_dicts_keep_the_order_of_their_keys(tmp_path, kept, first):
    def made(i):
        return {"a": 1, "b": i} if i % 2 else {"b": i, "a": 1}

    ds = Dataset.range(6).map(made).cache(**({"path": tmp_path} if kept.get("path") else kept))
    list(ds.take(first))
    for options in (INLINE, ps.Options(executor="threads", workers=2)):
        for _ in range(2):
            assert [list(row) for row in ds.with_options(options)] == [["b", "a"], ["a", "b"]] * 3
    assert [list(ds[row]) for row in range(6)] == [["b", "a"], ["a", "b"]] * 3


def test_each_epoch_is_shuffled_and_augmented_anew(tmp_path):
    ds = Dataset.range(50).cache(tmp_path).shuffle(seed=1).map(lambda x, rng: (int(x), rng.random()))
    first, second = list(ds), list(ds)
    assert [x for x, _ in first] != [x for x, _ in second]
    assert sorted(x for x, _ in first) == sorted(x for x, _ in second) == list(range(50))
    assert {r for _, r in first}.isdisjoint(r for _, r in second)


@pytest.mark.parametrize("kept", [None, "folder"])
def test_augmentation_over_a_cached_stream_differs_from_epoch_to_epoch(tmp_path, kept):
    stream = Dataset.range(9).filter(lambda x: x != 4).cache(kept and tmp_path)
    ds = stream.map(lambda x, rng: rng.random())
    first, second = list(ds), list(ds)
    assert set(first).isdisjoint(second)
    assert list(ds.iterator(epoch=0)) == first


@pytest.mark.filterwarnings("ignore:cache:penstock.core.errors.CacheWarning")
def test_random_operations_below_draw_once_for_all_processes(tmp_path):
    def cached():
        return rows(Noted()).map(lambda e, rng: rng.random()).cache(tmp_path).with_options(INLINE)

    ds = cached()
    first = list(ds)
    assert list(ds) == first == list(cached())
    assert len(set(first)) == 20
    seeded = [list(cached().with_options(ps.Options(seed=seed))) for seed in (1, 2, 1)]
    assert seeded[0] == seeded[2]
    assert seeded[0] != seeded[1]


@pytest.mark.filterwarnings("ignore:cache:penstock.core.errors.CacheWarning")
@pytest.mark.parametrize("rewrite", [True, False])
def test_draws_that_a_rewrite_moves_are_still_part_of_the_key(tmp_path, rewrite):
    images = np.random.default_rng(0).integers(0, 255, (6, 40, 40, 3), np.uint8)

    def cached(seed):
        ds = Dataset.from_tensor_slices(images).map(ps.image.random_crop(8)).map(ps.image.random_flip())
        return ds.cache(tmp_path).with_options(ps.Options(seed=seed, rewrite=rewrite, ignore_lint="all"))

    one = np.stack(list(cached(1)))
    assert (np.stack(list(cached(1))) == one).all()
    assert (np.stack(list(cached(2))) != one).any()


def change_of(make, tmp_path):
    with pytest.warns(CacheWarning) as told:
        made = list(make().cache(tmp_path).with_options(INLINE))
    assert len(told) == 1
    return str(told[0].message), made


def scaled_by(factor):
    return lambda x: int(x * factor)


def test_a_changed_pipeline_says_what_changed_and_is_never_stale(tmp_path):
    assert list(Dataset.range(3).map(scaled_by(2)).cache(tmp_path)) == [0, 2, 4]
    message, made = change_of(lambda: Dataset.range(3).map(scaled_by(3)), tmp_path)
    assert made == [0, 3, 6]
    assert message == (
        f"cache({str(tmp_path)!r}): factor (closed over by lambda) is 3 and was 2; the elements kept before are not "
        "used, and are made again"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(Dataset.range(3).map(scaled_by(2)).cache(tmp_path)) == [0, 2, 4]  # is still there


def test_a_changed_file_is_read_again(tmp_path):
    file = tmp_path / "lines.txt"
    file.write_text("a\nb\n")
    assert list(ps.read_text(str(file)).cache(tmp_path / "kept")) == ["a", "b"]
    file.write_text("c\nd\n")
    os.utime(file, ns=(1, 1))
    message, made = change_of(lambda: ps.read_text(str(file)), tmp_path / "kept")
    assert made == ["c", "d"]
    assert f"the file {file} changed" in message


def test_another_version_makes_all_elements_again(tmp_path):
    noted = Noted()
    for version in ("1", "1", 2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CacheWarning)
            list(rows(noted, 3).cache(tmp_path, version=version).with_options(INLINE))
    assert noted.calls == [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize("stream", [False, True])
def test_a_pass_that_ends_early_is_continued_later(tmp_path, stream):
    noted = Noted()

    def cached():
        ds = rows(noted)
        return (ds.filter(lambda e: True) if stream else ds).cache(tmp_path).with_options(INLINE)

    with cached().iterator() as it:
        first = [repr(next(it)) for _ in range(8)]
    with cached().iterator() as it:
        assert [repr(next(it)) for _ in range(8)] == first
    assert sorted(set(noted.calls)) == list(range(len(set(noted.calls))))
    if not stream:
        assert len(noted.calls) == len(set(noted.calls))
    assert as_texts(cached()) == as_texts(rows(Noted()))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(data=st.data())
def test_restored_equals_uninterrupted_with_a_cache_in_any_state(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("kept")
    stream = data.draw(st.booleans(), label="stream")
    executor = data.draw(st.sampled_from(["inline", "threads"]), label="executor")
    size = data.draw(st.sampled_from([1, 3]), label="batch")

    def plan():
        ds = Dataset.range(17).map(
            lambda x, rng: (int(x), int(rng.integers(100))),
        )
        ds = ds.filter(lambda x, r: x % 5 != 1) if stream else ds
        ds = ds.cache(folder).shuffle(4, seed=3).map(lambda x, r, rng: (x, r, int(rng.integers(1000)))).batch(size)
        return ds.with_options(ps.Options(executor=executor, ignore_lint="all"))

    ds = plan()
    epoch = data.draw(st.integers(0, 1), label="epoch")
    for _ in range(epoch):
        list(ds)
    it = iter(ds)
    received = [next(it) for _ in range(data.draw(st.integers(0, 4), label="received"))]
    state = it.state_dict()
    if data.draw(st.booleans(), label="goes on"):
        list(it)
    it.close()
    again = plan()
    again.load_state_dict(state)
    assert as_texts(received) + as_texts(again) == as_texts(ds.iterator(epoch=epoch))
    assert as_texts(again) == as_texts(ds.iterator(epoch=epoch + 1))


PROGRAM = """
import sys
import numpy as np
import penstock as ps

def prepared(x):
    with open(sys.argv[2], "ab") as calls:
        calls.write(b"x")
    return np.full(1000, x, np.int32)

ds = ps.Dataset.range(int(sys.argv[3])).map(prepared).cache(sys.argv[1]).shuffle(seed=int(sys.argv[4])).batch(10)
for batch in ds.with_options(ps.Options(executor="inline")):
    print(int(batch[:, 0].sum()), flush=True)
"""


def start(tmp_path, count, seed):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    arguments = [str(tmp_path / "kept"), str(tmp_path / "calls"), str(count), str(seed)]
    return subprocess.Popen([sys.executable, program, *arguments], stdout=subprocess.PIPE, text=True)


def total(process):
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return sum(map(int, out.split()))


def test_two_processes_fill_one_cache_together(tmp_path):
    expected = sum(range(200))
    both = [start(tmp_path, 200, seed) for seed in (1, 2)]
    assert [total(process) for process in both] == [expected, expected]
    calls = (tmp_path / "calls").stat().st_size
    assert 200 <= calls <= 400
    assert total(start(tmp_path, 200, 3)) == expected
    assert (tmp_path / "calls").stat().st_size == calls


def test_a_killed_process_leaves_what_it_has_made(tmp_path):
    process = start(tmp_path, 5000, 1)
    for _ in range(3):
        assert process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = (tmp_path / "calls").stat().st_size
    assert 30 <= before < 5000
    assert total(start(tmp_path, 5000, 2)) == sum(range(5000))
    assert (tmp_path / "calls").stat().st_size <= 5000 + 20  # at most the batch that was being made is made again


def test_ranks_and_shards_share_the_rows_below(tmp_path):
    noted = Noted()
    shards = [rows(noted).cache(tmp_path).shard(2, index).with_options(INLINE) for index in range(2)]
    assert sorted(as_texts(shards[0]) + as_texts(shards[1])) == sorted(as_texts(rows(Noted())))
    assert sorted(noted.calls) == list(range(20))
    assert as_texts(rows(noted).cache(tmp_path)) == as_texts(rows(Noted()))
    assert len(noted.calls) == 20


@pytest.mark.parametrize("kept", [None, "folder"])
def test_virtual_streams_keep_their_own_elements(tmp_path, kept):
    cached = Dataset.range(30).filter(lambda x: x % 3 != 1).cache(kept and tmp_path)

    def stream(count):
        return [list(cached.shard(2, index, streams=count)) for index in range(2)]

    for count in (2, 4, 2, 4):
        assert sorted(int(x) for part in stream(count) for x in part) == [x for x in range(30) if x % 3 != 1]


def test_an_executor_of_other_processes_shares_the_folder(tmp_path):
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    def made(x):
        return int(x) ** 2

    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        ds = Dataset.range(40).map(made).cache(tmp_path).batch(5).with_options(ps.Options(executor=pool))
        first = as_texts(ds)
        assert first == as_texts(ds) == as_texts(Dataset.range(40).map(made).batch(5))
    noted = Noted()
    assert list(Dataset.range(40).map(made).cache(tmp_path).map(noted).take(0)) == []
    from penstock.cache.store import CacheStore

    cache = Dataset.range(40).map(made).cache(tmp_path)._plan
    with CacheStore(tmp_path, cache.store.key.text, cache.store.key.parts) as store:
        assert store.count == 40


def test_a_full_cache_says_so_once_and_goes_on(tmp_path):
    noted = Noted()
    ds = Dataset.range(64).map(noted).map(lambda e: np.zeros(4096, np.uint8) + e["x"][0, 0])
    plain = as_texts(ds)
    cached = ds.cache(tmp_path, limit_bytes=100_000).with_options(INLINE)
    with pytest.warns(CacheWarning) as told:
        made = [as_texts(cached) for _ in range(2)]
    assert made == [plain, plain]
    assert len(told) == 1
    assert sum(path.stat().st_size for path in Path(tmp_path).rglob("*") if path.is_file()) < 200_000


def test_a_read_only_folder_is_read(tmp_path, monkeypatch):
    noted = Noted()
    with rows(noted).cache(tmp_path).with_options(INLINE).iterator() as it:
        for _ in range(5):
            next(it)
    made, opened = len(noted.calls), os.open

    def refused(path, flags, *args, **kwargs):
        if flags & os.O_CREAT:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        return opened(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", refused)
    ds = rows(noted).cache(tmp_path).with_options(INLINE)
    with pytest.warns(CacheWarning, match="Read-only file system") as told:
        both = [as_texts(ds) for _ in range(2)]
    assert both == [as_texts(rows(Noted()))] * 2
    assert len(told) == 1
    assert noted.calls == [*range(made), *range(made, 20), *range(made, 20)]


def test_damaged_rows_are_made_again(tmp_path):
    noted = Noted()
    list(rows(noted).cache(tmp_path).with_options(INLINE))
    damage(tmp_path, b"\x07" * 6)
    assert as_texts(rows(noted).cache(tmp_path).with_options(INLINE)) == as_texts(rows(Noted()))
    assert noted.calls == [*range(20), 7]


def test_many_threads_fill_one_cache(tmp_path):
    ds = rows(Noted(), 60).cache(tmp_path).with_options(INLINE)
    plain = as_texts(rows(Noted(), 60))
    with ThreadPoolExecutor(4) as pool:
        for texts in pool.map(lambda seed: as_texts(ds.shuffle(seed=seed)), range(4)):
            assert sorted(texts) == sorted(plain)


_SPAWNING = """
import dataclasses, sys
import penstock as ps
@dataclasses.dataclass
class Point:
    x: int
def made():
    ds = ps.Dataset.range(4).map(lambda x: Point(int(x))).cache(sys.argv[1])
    return list(ds.with_options(ps.Options(executor="inline", ignore_lint="all")))
if __name__ == "__main__":
    if sys.argv[2] == "child":
        import multiprocessing
        child = multiprocessing.get_context("spawn").Process(target=made)
        child.start()
        child.join()
    print(all(type(each) is Point for each in made()), *made())
"""


def test_elements_of_a_class_of_the_program_made_by_a_spawned_child_are_those_of_the_parent(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(_SPAWNING)
    for who in ("child", "alone", "child"):  # in one folder; "alone" has not even imported multiprocessing
        command = [sys.executable, str(program), str(tmp_path / "kept"), who]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["True", *(f"Point(x={x})" for x in range(4))]
        assert not done.stderr
