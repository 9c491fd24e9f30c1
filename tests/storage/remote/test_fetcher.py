"""What happens to announced extents, and to slow, late and refused requests."""

from __future__ import annotations

import threading

import pytest

from penstock.storage.remote import fetcher as fetching
from penstock.storage.remote.fetcher import Fetcher
from penstock.storage.remote.listing import find_objects


@pytest.fixture
def file(folder, server, options):
    (folder / "k").write_bytes(bytes(i * 31 % 256 for i in range(200_000)))
    (found,) = find_objects(["s3://data/k"], options)
    server.told()
    return found


def test_announced_extents_are_fetched_once(file, server):
    fetcher, content = Fetcher(), bytes(i * 31 % 256 for i in range(200_000))
    extents = [(file, begin, begin + 100) for begin in (0, 50_000, 150_000)]
    fetcher.announce(extents)
    assert [bytes(each) for each in fetcher.read(extents)] == [content[b:e] for _, b, e in extents]
    assert server.stats.gets == 3
    fetcher.announce(extents[:1])
    fetcher.announce(extents[:1])
    fetcher.read(extents[:1])
    fetcher.read(extents[:1])
    assert server.stats.gets == 4
    assert not fetcher._known
    assert not fetcher._held
    assert fetcher._bytes == 0


def test_an_extent_that_several_rows_share_is_kept_until_each_has_read_it(file, server):
    fetcher, shared = Fetcher(), (file, 0, 100)
    fetcher.announce([shared] * 3)
    fetcher.read([shared, shared])
    assert fetcher.ahead_bytes == 100
    fetcher.read([shared])
    assert (server.stats.gets, fetcher.ahead_bytes) == (1, 0)


def test_an_announcement_that_comes_after_the_read_is_ignored_once(file, server):
    fetcher, extents = Fetcher(), [(file, 0, 100)]
    fetcher.read(extents)
    fetcher.announce(extents)
    assert (server.stats.gets, fetcher.ahead_bytes) == (1, 0)
    fetcher.announce(extents)
    fetcher.read(extents)
    assert (server.stats.gets, fetcher.ahead_bytes) == (2, 0)
    assert not fetcher._unannounced


def test_a_read_waits_while_its_announcement_is_planned_and_shares_its_request(file, server, monkeypatch):
    fetcher, plan = Fetcher(), fetching.plan_requests
    read = []
    reader = threading.Thread(target=lambda: read.extend(fetcher.read([(file, 0, 10)])))

    def planned(extents):
        monkeypatch.setattr(fetching, "plan_requests", plan)
        reader.start()
        reader.join(0.2)
        assert reader.is_alive()
        return plan(extents)

    monkeypatch.setattr(fetching, "plan_requests", planned)
    fetcher.announce([(file, 0, 10), (file, 20, 30)])
    reader.join(10)
    assert len(read) == 1
    assert fetcher.counts.requests == 1
    fetcher.read([(file, 20, 30)])
    assert (fetcher.ahead_bytes, fetcher.counts.requests) == (0, 1)


def test_small_extents_are_cut_out_of_a_large_request_that_is_held(folder, server, options):
    content = bytes(i * 31 % 251 for i in range(600_000))
    (folder / "large").write_bytes(content)
    (file,) = find_objects(["s3://data/large"], options)
    fetcher, near = Fetcher(), [(file, begin, begin + 100) for begin in range(0, 600_000, 3000)]
    server.told()
    fetcher.announce(near)
    within = [(file, begin, begin + 7) for begin in range(0, 597_000, 100)]
    fetcher.announce(within)
    fetcher.read(near)
    within.insert(0, (file, 7000, 8000))
    assert [bytes(each) for each in fetcher.read(within)] == [content[b:e] for _, b, e in within]
    assert (server.stats.gets, fetcher.ahead_bytes, fetcher._wide) == (1, 0, {})


def test_small_extents_that_nobody_reads_make_room(file, monkeypatch):
    monkeypatch.setattr("penstock.storage.remote.fetcher.ANNOUNCED", 50 * 512)
    monkeypatch.setattr("penstock.storage.remote.fetcher._FORGOTTEN", 0.0)
    fetcher = Fetcher()
    for begin in range(0, 100_000, 1000):  # as of iterators that were left
        fetcher.announce([(file, begin, begin + 10)])
        for piece in fetcher._held:
            piece.done.wait()
        assert len(fetcher._known) <= 50
    assert fetcher.read([(file, 99_000, 99_010)])[0].nbytes == 10


def test_the_same_extent_twice_and_empty_ones(file):
    fetcher = Fetcher()
    found = fetcher.read([(file, 5, 9), (file, 7, 7), (file, 5, 9)])
    assert [len(each) for each in found] == [4, 0, 4]


def test_an_error_has_the_index_of_its_extent(file, server):
    fetcher = Fetcher()
    server.told(status=403, code="AccessDenied")
    with pytest.raises(OSError, match="access is denied") as caught:
        fetcher.read([(file, 7, 7), (file, 5, 9)])
    assert caught.value.element == 1


def test_late_requests_are_made_again(file, server):
    fetcher = Fetcher()
    for begin in range(0, 150_000, 1000):
        fetcher.read([(file, begin, begin + 900)])
    server.told(late=1.0, late_seconds=3.0, seed=1)
    server.faults.late = 0.0
    fetcher.pace._late = dict.fromkeys(fetcher.pace._late, 0.05)
    server.faults.late, server.faults.late_seconds = 1.0, 1.0
    fetcher.read([(file, 151_000, 151_900)])
    assert fetcher.counts.hedged == 1


def test_an_error_of_any_kind_ends_the_wait_for_a_request(file, monkeypatch):
    class Panic(BaseException):
        """As the one of libraries in Rust, which is no `Exception`."""

    def panic(*_):
        raise Panic

    fetcher = Fetcher()
    monkeypatch.setattr(fetcher, "_requested", panic)
    for _ in range(2 * fetcher.pace.limit):  # more than there are threads: none may be lost
        with pytest.raises(OSError, match=r"the request failed \(Panic\)"):
            fetcher.read([(file, 0, 9)])


def test_what_nobody_waits_for_leaves_its_thread_to_others(file, server, monkeypatch):
    monkeypatch.setattr(fetching, "_AHEAD_SECONDS", 0.0)
    fetcher = Fetcher()
    fetcher.pace.limit = 1
    server.told(status=503, code="SlowDown")
    fetcher.announce([(file, 0, 100)])
    (ahead,) = fetcher._held
    assert ahead.done.wait(60)  # its own budget is 20 s; the library below tries for some seconds
    assert ahead.tries == 1
    server.told()
    assert bytes(fetcher.read([(file, 0, 100)])[0]) == bytes(i * 31 % 256 for i in range(100))
