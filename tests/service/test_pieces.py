"""Pieces of a stream that are made once for several consumers."""

import json
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import penstock as ps
from penstock.service.client import as_served
from penstock.service.pieces import PreparedPieces
from penstock.service.rows import MOST_LANES

D = ps.Dataset


class CountedStream:
    """Pieces of a stream whose function counts its calls."""

    def __init__(self, count, function=lambda x: x * 10, options=None):
        self.made = Counter()

        def counting(x):
            self.made[int(x)] += 1
            return function(x)

        ds = D.range(count).filter(lambda x: x % 2 == 0).map(counting, thread_safe=True)
        plan = ds.with_options(options or ps.Options())._plan
        self.prepared = PreparedPieces(plan, as_served(plan))

    def read(self, mark=None, epoch=0, most=10**9):
        """Return up to `most` elements, in whole pieces, and the mark after them."""
        elements = []
        while len(elements) < most and (piece := self.prepared.after(epoch, mark)) is not None:
            elements += piece.chunk.elements()
            mark = json.loads(json.dumps(piece.after))
        return elements, mark


@pytest.fixture
def counted():
    opened = []

    def make(*args, **named):
        opened.append(CountedStream(*args, **named))
        return opened[-1]

    yield make
    for each in opened:
        each.prepared.close()


def test_pieces_that_made_room_are_made_again_and_counted(counted):
    small = ps.Options(memory_budget=1 << 20, executor="threads", workers=2)
    stream = counted(120, lambda x: np.full(10_000, x), small)  # 80 kB each, of which 6 are kept
    assert [int(x[0]) for x in stream.read()[0]] == list(range(0, 120, 2))
    assert (stream.made, stream.prepared.again) == (Counter(range(0, 120, 2)), 0)
    assert [int(x[0]) for x in stream.read()[0]] == list(range(0, 120, 2))
    assert stream.prepared.again == sum(stream.made.values()) - 60 > 40


def test_consumers_that_go_on_together_share_every_piece(counted):
    stream = counted(400)
    with ThreadPoolExecutor(4) as threads:
        of_jobs = list(threads.map(lambda _: stream.read()[0], range(4)))
    assert of_jobs == [[x * 10 for x in range(0, 400, 2)]] * 4
    assert stream.made == Counter(range(0, 400, 2))
    assert stream.read(epoch=1)[0] == of_jobs[0]


def test_a_consumer_goes_on_from_a_mark_of_its_own_and_joins_the_others(counted):
    stream = counted(4000)
    _, mark = stream.read(most=50)
    late, _ = counted(4000).read(mark)
    assert late == stream.read(mark)[0]
    assert stream.made == Counter(range(0, 4000, 2))


def test_pieces_that_are_kept_no_longer_are_made_again(counted):
    small = ps.Options(memory_budget=4 << 20)
    stream = counted(200, lambda x: np.full(10_000, x), small)
    firsts = {}
    elements, mark, after = [0], None, None
    while elements:
        mark, (elements, after) = after, stream.read(after, most=1)
        firsts[json.dumps(mark)] = [x[0] for x in elements[:1]]
        with stream.prepared._changed:
            assert stream.prepared._nbytes <= 2 << 20 or len(stream.prepared._order) == 1
    for before, first in reversed(firsts.items()):
        again, _ = stream.read(json.loads(before), most=1)
        assert [x[0] for x in again[:1]] == first
    assert len(stream.prepared._lanes) <= MOST_LANES
    assert [x[0] for x in stream.read()[0]] == list(range(0, 200, 2))


def test_the_error_that_ends_a_stream_is_raised_for_everybody(counted):
    stream = counted(40, lambda x: 1 // (x - 12))
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            stream.read()
    elements, mark = [], None
    while len(elements) < 6:
        piece = stream.prepared.after(0, mark)
        elements += piece.chunk.elements()
        mark = piece.after
    assert elements == [1 // (x - 12) for x in range(0, 12, 2)]


def test_an_epoch_without_elements_ends_at_once(counted):
    assert counted(0).read() == ([], None)


def test_threads_end_with_it(counted):
    before = set(threading.enumerate())
    stream = counted(100_000)
    stream.read(most=3)
    stream.prepared.close()
    for thread in set(threading.enumerate()) - before:
        thread._started.wait(30)  # another thread may just be starting it
        thread.join(30)
        assert not thread.is_alive()
