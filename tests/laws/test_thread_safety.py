"""Functions that two threads must not call at once yield what they yield inline, under every executor."""

from __future__ import annotations

import functools
import gzip
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import penstock as ps

D = ps.Dataset
ROWS = 1000
PARTIES, PATIENCE = 4, 20


@pytest.fixture(params=["auto", "threads", "workers", "pool"])
def way(request):
    with ThreadPoolExecutor(4) as pool:
        yield {
            "auto": ps.Options(),
            "threads": ps.Options(executor="threads", workers=8),
            "workers": ps.Options(workers=4),
            "pool": ps.Options(executor=pool),
        }[request.param]


class Rows:
    """Numbers in one open file."""

    def __init__(self, path):
        self.file = open(path, "rb")  # noqa: SIM115

    def __len__(self):
        return ROWS

    def __getitem__(self, i):
        self.file.seek(8 * int(i))
        return np.frombuffer(self.file.read(8), np.int64)[0]


class Scratch:
    """Works on what it keeps in its attributes."""

    def __init__(self):
        self.buffer = np.zeros(4, np.int64)

    def __call__(self, x):
        self.x = x
        self.buffer[:] = x
        total = sum(self.buffer.tolist())
        return total if self.x == x else -1


class Copied:
    """Writes into what it keeps by a function whose code is not its own."""

    def __init__(self):
        self.buffer = np.zeros(4, np.int64)

    def __call__(self, x):
        np.copyto(self.buffer, x)
        return sum(self.buffer.tolist())


@pytest.fixture
def rows(tmp_path):
    np.arange(ROWS).tofile(tmp_path / "rows")
    made = Rows(tmp_path / "rows")
    yield made
    made.file.close()


def flat(ds, way):
    return np.concatenate([np.atleast_1d(batch) for batch in ds.batch(7).with_options(way)]).tolist()


def test_one_file_handle_reads_all_rows_correctly(rows, way):
    assert flat(D.from_source(rows), way) == list(range(ROWS))
    assert flat(D.range(ROWS).map(lambda i: rows[i]), way) == list(range(ROWS))
    assert flat(D.range(ROWS).filter(lambda i: rows[i] % 2 == 0), way) == list(range(0, ROWS, 2))
    assert flat(D.range(ROWS).flat_map(lambda i: [rows[i]]), way) == list(range(ROWS))
    assert flat(D.range(ROWS).flat_map(lambda i: (rows[j] for j in (i, i))), way) == [
        x for i in range(ROWS) for x in (i, i)
    ]


@pytest.mark.parametrize("function", [Scratch, Copied])
def test_an_object_with_scratch_attributes_is_called_correctly(function, way):
    assert flat(D.range(ROWS).map(function()), way) == [4 * x for x in range(ROWS)]
    assert flat(D.range(ROWS).map(function(), vectorized=False).map(lambda x: x), way) == [4 * x for x in range(ROWS)]


def test_operations_that_share_an_object_are_serialized(way):
    shared = Scratch()
    ds = D.range(ROWS).map(shared).map(shared).filter(lambda x: shared(x) >= 0)
    assert flat(ds, way) == [16 * x for x in range(ROWS)]


def test_a_connection_to_sqlite_is_used_by_the_consumers_thread(way):
    connection = sqlite3.connect(":memory:")  # which refuses any other
    connection.execute("create table squares (x, square)")
    connection.executemany("insert into squares values (?, ?)", [(x, x * x) for x in range(200)])

    def square(x):
        for _ in range(200):  # so that threads would pay
            found = connection.execute("select square from squares where x = ?", (int(x),)).fetchone()[0]
        return found

    ds = D.range(200).map(square)
    for each in (ds, ds.filter(lambda x: x >= 0), D.from_generator(lambda: map(square, range(200)))):
        it = each.with_options(way).iterator()
        assert list(it) == [x * x for x in range(200)]
        assert it.stats().mode == "inline"
    connection.close()


def test_an_attribute_thread_safe_of_the_function_is_used():
    barrier = threading.Barrier(PARTIES)

    class Declared:
        thread_safe = True

        def __call__(self, x):
            self.x = x
            if x < PARTIES:
                barrier.wait(PATIENCE)  # all threads are in here at a time, or this fails
            return x

    options = ps.Options(executor="threads", workers=PARTIES)
    assert list(D.range(4 * PARTIES).map(Declared()).with_options(options)) == list(range(4 * PARTIES))


def test_thread_safe_true_lets_all_threads_call():
    barrier, kept = threading.Barrier(PARTIES), [0]
    waits = barrier.wait

    class Unsafe:
        def __call__(self, x):
            self.x = x
            kept[0] += 1
            if x < PARTIES:
                getattr(self, "wait")(PATIENCE)  # noqa: B009
            return x

    function = Unsafe()
    Unsafe.wait = staticmethod(lambda seconds: waits(seconds))  # noqa: PLW0108
    options = ps.Options(executor="threads", workers=PARTIES)
    ds = D.range(4 * PARTIES)
    for each in (ds.map(function, thread_safe=True), ds.filter(lambda x: function(x) >= 0, thread_safe=True)):
        assert list(each.with_options(options)) == list(range(4 * PARTIES))


def test_thread_safe_false_serializes_calls():
    lock, inside, most = threading.Lock(), set(), [0]

    def function(x):  # it has a lock, so nothing is seen to be unsafe
        with lock:
            inside.add(threading.get_ident())
            most[0] = max(most[0], len(inside))
        sum(range(2000))
        with lock:
            inside.discard(threading.get_ident())
        return x

    options = ps.Options(executor="threads", workers=4)
    assert list(D.range(400).map(function, thread_safe=False).with_options(options)) == list(range(400))
    assert most == [1]


def test_plain_functions_are_called_by_all_threads():
    barrier, table, names = threading.Barrier(PARTIES), np.arange(100), {"a": 1}

    class Plain:
        def __init__(self):
            self.table = table

        def __call__(self, x):
            if x < PARTIES:
                barrier.wait(PATIENCE)
            return self.table[x] + names["a"]

    options = ps.Options(executor="threads", workers=PARTIES)
    assert list(D.range(4 * PARTIES).map(Plain()).with_options(options)) == list(range(1, 4 * PARTIES + 1))
    assert D.range(4).map(Plain()).iterator().stats().alone == ()


def test_a_pipeline_within_such_a_function_runs_inline():
    kept = Scratch()
    inner = D.range(3).map(kept).with_options(ps.Options(executor="threads", workers=2))

    def total(x):
        return kept(x) + sum(inner)

    ds = D.range(40).map(total).with_options(ps.Options(executor="threads", workers=4))
    assert list(ds) == [4 * x + 12 for x in range(40)]


def test_explain_shows_functions_called_by_one_thread_with_the_reason(rows):
    ds = D.from_source(rows).map(Scratch())
    told = (
        "from_source(Rows) is called by one thread at a time: an open file, `self.file`",
        "map(Scratch) is called by one thread at a time: writes `self.x`",
    )
    assert ds.explain().endswith("\n".join(told))
    with ds.iterator() as it:
        next(it)
        assert it.stats().alone == told
    assert D.range(3).map(Scratch(), thread_safe=True).iterator().stats().alone == ()
    assert "thread" not in D.range(3).map(lambda x: x + 1).explain()


@pytest.mark.parametrize("call", ["map", "filter", "flat_map", "interleave"])
def test_thread_safe_must_be_a_bool(call):
    with pytest.raises(TypeError, match=rf"{call}\(thread_safe='yes'\): expected True or False"):
        getattr(D.range(3), call)(lambda x: x, thread_safe="yes")
    with pytest.raises(TypeError, match=r"from_source\(thread_safe=3\)"):
        D.from_source([1], thread_safe=3)


class Doubled:
    """A function that works on stored state and checks it late, to detect concurrent calls from another thread."""

    def __init__(self, result):
        self.result = result

    def __call__(self, *given):
        self.given = given
        sum(range(300))
        assert self.given is given
        return self.result(*given)


def key_of(x):
    return int(x) % 3


STREAMED = {
    "scan": lambda safe: D.range(ROWS).scan(0, Doubled(lambda s, x: (s + x, x)), thread_safe=safe),
    "take_while": lambda safe: D.range(ROWS).take_while(Doubled(lambda x: True), thread_safe=safe),
    "unique": lambda safe: D.range(ROWS).unique(Doubled(int), thread_safe=safe),
    "bucket_by_sequence_length": lambda safe: (
        D.range(ROWS).bucket_by_sequence_length(Doubled(key_of), [1, 2], [9, 9, 9], thread_safe=safe).unbatch()
    ),
    "batch_by_tokens": lambda safe: (
        D.range(ROWS).batch_by_tokens(Doubled(key_of), 9, no_padding=True, thread_safe=safe).unbatch()
    ),
    "group_by_window": lambda safe: D.range(ROWS).group_by_window(
        key_of, Doubled(lambda key, window: window), 7, thread_safe=safe
    ),
    "group_by_reducer": lambda safe: (
        D.range(ROWS)
        .group_by_reducer(Doubled(key_of), lambda key: [], lambda kept, x: [*kept, x], thread_safe=safe)
        .flat_map(lambda kept: kept)
    ),
    "rejection_resample": lambda safe: (
        D.range(ROWS)
        .rejection_resample(Doubled(lambda x: 0), [1.0], [1.0], seed=0, thread_safe=safe)
        .map(lambda number, x: x)
    ),
    "split": lambda safe: (
        D.range(ROWS).filter(lambda x: True).split({"all": 1.0}, key_func=Doubled(int), thread_safe=safe)["all"]
    ),
}


@pytest.mark.parametrize("call", STREAMED)
def test_functions_of_other_operations_are_serialized(call, way):
    made = list(STREAMED[call](None).with_options(way))
    assert sorted(made) == list(range(ROWS))


@pytest.mark.parametrize("call", STREAMED)
def test_explain_shows_serialized_functions_of_other_operations(call):
    with pytest.raises(TypeError, match=rf"{call}\(thread_safe='yes'\): expected True or False"):
        STREAMED[call]("yes")
    assert "one thread at a time" not in STREAMED[call](True).explain()
    if call != "scan":  # which one thread calls anyway
        assert "is called by one thread at a time: writes `self.given`" in STREAMED[call](None).explain()
    STREAMED[call](False)


def test_a_key_and_a_reduction_of_one_object_are_serialized():
    class Sums:
        def key(self, x):
            self.seen = x
            sum(range(300))
            assert self.seen is x
            return int(x) % 2

        def add(self, total, x):
            self.seen = x
            sum(range(300))
            assert self.seen is x
            return total + x

    sums = Sums()
    ds = D.range(ROWS).group_by_reducer(sums.key, lambda key: 0, sums.add)
    assert list(ds.with_options(ps.Options(executor="threads", workers=4))) == [
        sum(range(0, ROWS, 2)),
        sum(range(1, ROWS, 2)),
    ]


@pytest.mark.parametrize("suffix", ["tar", "tar.gz"])
def test_decoders_of_archives_are_serialized(tmp_path, way, suffix):
    for number in range(3):
        rows = [{"__key__": f"{i:04}", "num": str(1000 * number + i).encode()} for i in range(300)]
        ps.Dataset.from_source(rows).write_tar(tmp_path / f"{number}.tar", index=False)
        if suffix == "tar.gz":
            data = (tmp_path / f"{number}.tar").read_bytes()
            (tmp_path / f"{number}.tar").unlink()
            (tmp_path / f"{number}.tar.gz").write_bytes(gzip.compress(data))
    paths = str(tmp_path / f"*.{suffix}")

    def numbers(**settings):
        decode = {"num": Doubled(int)}
        return ps.read_tar(paths, columns=["num"], decode=decode, **settings)

    made = [x["num"] for x in numbers().with_options(way)]
    assert made == [1000 * number + i for number in range(3) for i in range(300)]
    assert "is called by one thread at a time: writes `self.given`" in numbers().explain()
    assert "one thread" not in numbers(thread_safe=True).explain()
    assert "thread_safe=False" in numbers(thread_safe=False).explain()
    with pytest.raises(TypeError, match=r"read_tar\(thread_safe=1\)"):
        numbers(thread_safe=1)


@functools.lru_cache
def scratch():
    return Scratch()


def test_an_object_that_a_cached_function_makes_is_used_by_one_thread_at_a_time(way):
    scratch.cache_clear()
    assert flat(D.range(ROWS).map(lambda x: scratch()(x) + 1), way) == [4 * x + 1 for x in range(ROWS)]
    scratch.cache_clear()
    assert flat(D.range(ROWS).filter(lambda x: scratch()(x) >= 0), way) == list(range(ROWS))
