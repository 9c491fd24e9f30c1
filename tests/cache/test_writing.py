"""A writer that is killed at any instant leaves what was complete; short writes and refusals cost nothing before."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import numpy as np
import pytest

from penstock.cache.folder import bytes_in
from penstock.cache.store import CacheStore
from penstock.cache.writing import LogWriter
from tests.cache.kinds import chunk_of, exactly, images

SIDE = 30  # of images, so that rows are of two pages

CHILD = """
import os, sys
import numpy as np
from penstock.cache.store import CacheStore
from tests.cache.kinds import chunk_of, images

elements = images(64, 30)
CacheStore(sys.argv[1] + "/warm", "key", {}).write(np.arange(3), chunk_of(elements[:3]))
for line in sys.stdin:
    child = os.fork()  # costs less than a new interpreter
    if child == 0:
        os.setpgid(0, 0)
        store = CacheStore(sys.argv[1], "key", {})
        while True:
            for row in range(int(line) % 64, 64, 3):
                store.write(np.arange(row, min(row + 3, 64)), chunk_of(elements[row:row + 3]))
            store = CacheStore(sys.argv[1], str(os.getpid()), {})
    print(child, flush=True)
    sys.stdin.readline()
    os.waitpid(child, 0)
    print("dead", flush=True)
"""


def test_a_writer_killed_at_any_instant_leaves_rows_as_they_were(tmp_path):
    elements, chance = images(64, SIDE), random.Random(0)
    longest = 0.01  # seconds for a writer, until it is killed
    server = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", CHILD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        for kill in range(200):
            server.stdin.write(f"{chance.randrange(64)}\n")
            server.stdin.flush()
            child = int(server.stdout.readline())
            until = time.perf_counter() + chance.random() * longest
            while time.perf_counter() < until:
                pass
            os.kill(child, signal.SIGKILL)
            server.stdin.write("\n")
            server.stdin.flush()
            assert server.stdout.readline() == "dead\n"
            if kill % 5 == 4:
                verify(tmp_path, elements)
                if not CacheStore(tmp_path, "key", {}, readonly=True).count:  # on a busy machine
                    longest *= 1.2
        verify(tmp_path, elements)
        left = [name for _, _, names in os.walk(tmp_path) for name in names]
        assert {name.rpartition(".")[2] for name in left} <= {"data", "log", "json"}
    finally:
        server.communicate()
    assert CacheStore(tmp_path, "key", {}).count


def verify(path, elements) -> None:
    for key in ["key", *(key for key, _ in CacheStore(path, "key", {}, readonly=True).other_keys())]:
        store = CacheStore(path, key, {}, readonly=True)
        chunk, found = store.read(store.rows)
        assert found.all()
        assert store.damaged == 0
        expected = [exactly(elements[row]) for row in store.rows.tolist()]
        assert [exactly(each) for each in chunk.elements()] == expected


class Refusing:
    """`os.pwritev` that takes few bytes at a time, and after so many calls refuses."""

    def __init__(self, code: int, calls: int) -> None:
        self.code, self.left = code, calls

    def __call__(self, file: int, arrays: list[memoryview], at: int) -> int:
        if self.left == 0:
            raise OSError(self.code, os.strerror(self.code))
        self.left -= 1
        content = b"".join(arrays)
        return os.pwrite(file, content[: max(len(content) // 2, 1)], at)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO])
def test_a_disk_that_refuses_ends_the_growth_only(tmp_path, monkeypatch, code):
    elements, told = images(20), []
    store = CacheStore(tmp_path, "key", {}, tell=told.append)
    monkeypatch.setattr("penstock.cache.writing.os.pwritev", Refusing(code, 40))
    for low in range(0, 20, 4):
        made = store.fetch(np.arange(low, low + 4), lambda rows: chunk_of([elements[row] for row in rows]))
        assert [exactly(each) for each in made.elements()] == [exactly(each) for each in elements[low : low + 4]]
    assert len(told) == 1
    assert errno.errorcode[code] in told[0]
    assert store.stopped == told[0]
    assert 0 < store.count < 20
    assert CacheStore(tmp_path, "key", {}).read(np.arange(20))[1].sum() == store.count


def test_short_writes_are_continued(tmp_path, monkeypatch):
    monkeypatch.setattr("penstock.cache.writing.os.pwritev", Refusing(errno.EIO, 10**6))
    store = CacheStore(tmp_path, "key", {})
    elements = [{**image, "large": np.full((4, 5000), i, np.uint8)} for i, image in enumerate(images(20))]
    assert store.write(np.arange(20), chunk_of(elements)) == 20
    chunk, _ = CacheStore(tmp_path, "key", {}).read(np.arange(20))
    assert [exactly(each) for each in chunk.elements()] == [exactly(each) for each in elements]


def test_rows_recorded_before_a_refusal_are_found_later(tmp_path, monkeypatch):
    store = CacheStore(tmp_path, "key", {}, tell=lambda _: None)
    store.write(np.arange(2), chunk_of(images(2)))
    monkeypatch.setattr(
        "penstock.cache.writing.os.pwritev", Refusing(errno.ENOSPC, 3)
    )  # of the data, and half of the log
    assert store.write(np.arange(2, 10), chunk_of(images(10)[2:])) == 0
    monkeypatch.undo()
    again = CacheStore(tmp_path, "key", {})
    assert again.read(np.arange(10))[1].sum() >= 2
    assert again.damaged == 0


def test_only_flush_waits_for_the_disk(tmp_path, monkeypatch):
    calls = []
    for name in ("fsync", "fdatasync", "sync"):
        monkeypatch.setattr(os, name, lambda *_: calls.append("sync"))
    store = CacheStore(tmp_path, "key", {})
    store.write(np.arange(3), chunk_of("abc"))
    store.complete(3)
    assert calls == []
    store.flush()
    assert calls == ["sync", "sync"]


@pytest.mark.parametrize("call", ["fdatasync", "close"])
def test_an_error_that_comes_late_ends_the_growth(tmp_path, monkeypatch, call):
    told = []
    store = CacheStore(tmp_path, "key", {}, tell=told.append)
    store.write(np.arange(3), chunk_of(images(3)))
    real = getattr(os, call)

    def failing(file: int) -> None:
        if call == "close":
            real(file)
        raise OSError(errno.EDQUOT, "quota")

    monkeypatch.setattr(f"penstock.cache.writing.os.{call}", failing)
    store.flush() if call == "fdatasync" else store.close()
    monkeypatch.undo()
    assert "the quota is used up" in told[0]
    assert store.write(np.array([5]), chunk_of(images(1))) == 0
    assert store.read(np.arange(3))[1].all()


def test_new_files_begin_when_the_data_is_large(tmp_path, monkeypatch):
    monkeypatch.setattr("penstock.cache.writing.DATA_BYTES", 5000)
    store = CacheStore(tmp_path, "key", {})
    for row in range(6):
        store.write(np.array([row]), chunk_of([np.full(2000, row)]))
    assert len(os.listdir(tmp_path / "key.v1")) == 2 * 6 + 1
    chunk, _ = CacheStore(tmp_path, "key", {}).read(np.arange(6)[::-1])
    assert [each[0] for each in chunk.elements()] == [5, 4, 3, 2, 1, 0]


def open_files(folder: object) -> list[str]:
    """Return the files of a folder that this process has open; stores of other tests may still be collected."""
    opened = []
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # the listing's own
            opened.append(os.readlink(f"/proc/self/fd/{number}"))
    return [path for path in opened if path.startswith(f"{folder}/")]


def test_no_descriptor_is_left(tmp_path):
    for round_ in range(5):
        with CacheStore(tmp_path, "key", {}) as store:
            store.write(np.arange(round_, round_ + 3), chunk_of(images(3)))
            store.read(np.arange(round_))
            store.flush()
    assert not open_files(tmp_path)


def test_a_store_that_is_let_go_closes_its_files(tmp_path):
    store = CacheStore(tmp_path, "key", {})
    store.write(np.arange(3), chunk_of(images(3)))
    assert len(open_files(tmp_path)) == 2
    del store
    assert not open_files(tmp_path)


@pytest.mark.parametrize("limit", [None, 90_000])
def test_threads_write_at_the_same_time_to_files_of_their_own(tmp_path, monkeypatch, limit):
    store = CacheStore(tmp_path, "key", {}, limit_bytes=limit, tell=lambda _: None)
    both = threading.Barrier(2, action=store.close, timeout=60)  # files are closed once nobody writes to them
    real, has_met = os.pwritev, threading.local()

    def together(*args) -> int:
        if not hasattr(has_met, "yes"):
            has_met.yes = True
            both.wait()
        return real(*args)

    def write(first: int) -> None:
        written.append(store.write(np.arange(first, first + 10), chunk_of([np.full(500, first)] * 10)))

    monkeypatch.setattr("penstock.cache.writing.os.pwritev", together)
    written: list[int] = []
    threads = [threading.Thread(target=write, args=(first,)) for first in (0, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not open_files(tmp_path)
    assert len(os.listdir(tmp_path / "key.v1")) == 2 * 2 + 1
    assert sum(written) == store.count == CacheStore(tmp_path, "key", {}).read(np.arange(20))[1].sum()
    if limit is None:
        assert written == [10, 10]
    else:
        assert bytes_in(str(tmp_path)) <= limit
        assert sum(written) < 20


def test_a_log_that_cannot_be_made_leaves_no_data(tmp_path, monkeypatch):
    real = os.open

    def refusing(path, *args):
        if path.endswith(".log"):
            raise OSError(errno.EMFILE, "too many")
        return real(path, *args)

    monkeypatch.setattr("penstock.cache.writing.os.open", refusing)
    with pytest.raises(OSError, match="too many"):
        LogWriter(str(tmp_path))
    assert os.listdir(tmp_path) == []
    assert bytes_in(str(tmp_path)) == 0
