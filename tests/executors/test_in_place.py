"""Results in place, in memory like that of a store: shared between processes, with a connection to its socket."""

from __future__ import annotations

import mmap
import socket
import sys

import numpy as np
import pytest

from penstock.executors.in_place import STAYS_FROM, STORE_SHARE, ResultsInPlace

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="results are in place on Linux only")
CAPACITY = 4 * STORE_SHARE * STAYS_FROM


@pytest.fixture
def server(tmp_path):
    """The store's end of the connection of this process."""
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as end:
        listening.bind(str(tmp_path / "plasma_store.1"))
        listening.listen()
        end.connect(listening.getsockname())
        accepted, _ = listening.accept()
        with accepted:
            accepted.setblocking(False)
            yield accepted, end


@pytest.fixture
def store(server):
    return mmap.mmap(-1, CAPACITY)


def result(store, *sizes):
    """Return read-only buffers one after another in the store."""
    begins = np.cumsum([0, *sizes[:-1]])
    made = [np.frombuffer(store, np.uint8, size, begin) for begin, size in zip(begins.tolist(), sizes, strict=True)]
    for each in made:
        each.flags.writeable = False
    return made


def test_large_arrays_stay_where_they_are_and_can_be_written_to(store):
    results = ResultsInPlace()
    large, small = results.writable(result(store, STAYS_FROM, 100))
    large[:] = 7
    assert store[STAYS_FROM - 1] == 7
    small[:] = b"\x05" * 100
    assert store[STAYS_FROM] == 0


def test_the_memory_goes_back_with_the_last_array(store):
    results = ResultsInPlace()
    one, other = map(np.asarray, results.writable(result(store, STAYS_FROM, STAYS_FROM)))
    view = other[10:20].reshape(2, 5)
    del one, other
    assert results.nbytes == 2 * STAYS_FROM
    del view
    assert results.nbytes == 0


def test_what_exceeds_the_share_is_copied_until_something_is_let_go(store):
    results = ResultsInPlace()
    held = [results.writable(result(store, STAYS_FROM))[0] for _ in range(CAPACITY // STORE_SHARE // STAYS_FROM)]
    assert type(results.writable(result(store, STAYS_FROM))[0]) is bytearray
    assert results.nbytes == len(held) * STAYS_FROM == CAPACITY // STORE_SHARE
    held.pop()
    assert type(results.writable(result(store, STAYS_FROM))[0]) is np.ndarray


def test_the_store_takes_nothing_back_that_is_held(server, store):
    accepted, end = server
    results = ResultsInPlace()
    held = results.writable(result(store, STAYS_FROM))
    end.close()
    with pytest.raises(BlockingIOError):  # the connection is open
        accepted.recv(1)
    del held
    assert accepted.recv(1) == b""


def test_another_store_is_kept_open_for_itself(server, store):
    accepted, end = server
    results = ResultsInPlace()
    one, other = (results.writable(result(each, STAYS_FROM)) for each in (store, mmap.mmap(-1, CAPACITY)))
    assert results.nbytes == 2 * STAYS_FROM
    assert len(results._own) == 2
    end.close()
    del one
    with pytest.raises(BlockingIOError):
        accepted.recv(1)
    del other
    assert accepted.recv(1) == b""
    assert not results._own


def test_nothing_is_in_place_outside_of_a_store(store, server):
    results = ResultsInPlace()
    ours = np.zeros(STAYS_FROM, np.uint8)
    assert type(results.writable([ours])[0]) is bytearray
    assert results.writable([]) == []
    server[1].close()
    assert type(results.writable(result(store, STAYS_FROM))[0]) is bytearray  # the store may be gone


def test_the_connection_of_a_store_takes_no_timeout(store):
    socket.setdefaulttimeout(5)
    try:
        assert type(ResultsInPlace().writable(result(store, STAYS_FROM))[0]) is bytearray
    finally:
        socket.setdefaulttimeout(None)
