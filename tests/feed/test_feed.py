"""Behavior of every feed, with a fake framework."""

from __future__ import annotations

import json

import numpy as np
import pytest

from penstock import Dataset
from penstock.core.errors import ClosedError, PlanError
from penstock.feed.clock import ArrivalClock
from penstock.feed.feed import FedIterator, FrameworkFeed, Here
from penstock.feed.parcel import parcel_of
from penstock.feed.towers import Stacked


class Tensor:
    def __init__(self, array):
        self.array = array


def fed(ds):
    return FrameworkFeed(ds, Here(Tensor))


def test_arrays_and_numbers_are_converted_and_nothing_else():
    element = {"x": np.zeros(2), "n": np.int64(3), "s": "text", "b": b"bytes", "i": 7, "o": np.array(["a"], object)}
    (made,) = list(fed(Dataset.from_source([element])))
    assert {key for key, leaf in made.items() if isinstance(leaf, Tensor)} == {"x", "n", "i"}
    assert list(made) == list(element)
    assert made["s"] == "text"


def test_text_and_bytes_in_a_batch_stay_arrays_of_objects():
    ((words, numbers),) = list(fed(Dataset.from_source([("a", 1), ("b", 2)]).batch(2)))
    assert words.tolist() == ["a", "b"]
    assert numbers.array.tolist() == [1, 2]


def test_every_pass_is_the_next_epoch_unless_one_is_requested():
    ds = Dataset.range(20).shuffle(seed=0)
    feed = fed(Dataset.range(20).shuffle(seed=0))
    for epoch in (0, 1):
        assert [int(x.array) for x in feed] == list(ds.iterator(epoch=epoch))
    assert [int(x.array) for x in feed.iterator(epoch=1)] == list(ds.iterator(epoch=1))
    assert len(feed) == 20


def test_the_cursor_is_that_of_the_iterator():
    feed = fed(Dataset.range(10).batch(2))
    with feed.iterator() as it:
        next(it)
        saved = it.state_dict()
    with pytest.raises(ClosedError):
        next(it)
    again = feed.iterator()
    assert again.verdict().startswith("Too early to say: 0 ")
    again.load_state_dict(saved)
    assert next(again).array.tolist() == [2, 3]
    assert again.stats().items == 1
    again.close()


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("make", [Dataset.range, lambda count: Dataset.range(count).filter(lambda x: x >= 0)])
def test_the_ledger_has_the_batches_handed_out(make, depth):
    ds = make(10).batch(3)
    with FrameworkFeed(ds, Here(Tensor), depth).iterator(epoch=0) as ahead, ds.iterator(epoch=0) as plain:
        for _ in range(len(list(ds.iterator(epoch=0))) + 1):
            assert ahead.ledger() == plain.ledger()
            assert (next(ahead, None) is None) == (next(plain, None) is None)
        assert ahead.ledger() == plain.ledger()


def test_a_feed_tells_of_its_last_pass():
    feed = fed(Dataset.range(10).batch(2))
    assert feed.verdict() == "Too early to say: 0 elements in 0.00 s."
    assert sum(1 for _ in feed) == feed.stats().items == 5
    assert feed.verdict().startswith("Too early to say: 5 batches in ")
    for _ in feed:
        break
    assert feed.stats().items == 1
    assert (feed.epoch, feed.state_dict()["row"]) == (2, 0)  # the pass that was left is over
    assert len(list(feed.iterator(epoch=7))) == 5
    assert feed.stats().items == 5


def test_a_feed_tells_what_the_clock_of_its_device_says():
    class Clock:
        def begin(self): ...
        def asked(self): ...
        def handed_out(self, batch): ...
        def verdict(self, waited, of_input):
            return f"By the clock, after {waited >= 0}."

    placement = Here(Tensor)
    placement.clock = Clock()
    feed = FrameworkFeed(Dataset.range(10).batch(2), placement)
    list(feed)
    assert feed.verdict() == "By the clock, after True."


def test_transfers_are_in_the_trace_and_the_report_of_a_feed(tmp_path):
    class Moving(Here):
        clock = ArrivalClock("gpu:0")

        def place(self, batches):
            return self.clock.timed(lambda parcel: Here.place(self, batches), parcel_of(batches[0]))

    it = FrameworkFeed(Dataset.range(12).batch(4), Moving(Tensor)).iterator()
    it.trace(tmp_path / "run.json")
    it.report(tmp_path / "run.html")
    list(it)
    events = json.loads((tmp_path / "run.json").read_text())
    transfers = [event for event in events if event.get("cat") == "transfer"]
    assert [(each["name"], each["args"]) for each in transfers] == 3 * [("call: to gpu:0", {"bytes": 32})]
    tracks = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert {tracks[each["tid"]] for each in transfers} == {"transfers"}
    assert ">transfers<" in (tmp_path / "run.html").read_text()
    again = FrameworkFeed(Dataset.range(12).batch(4), Moving(Tensor)).iterator()
    assert Moving.clock.note is None  # another pass, which nobody watches
    again.close()


def test_a_feed_tells_the_settings_of_its_pipeline():
    it = fed(Dataset.range(10).batch(2)).iterator()
    list(it)
    assert [task.operation for task in it.tuning().tasks] == ["batch(2)"]


def test_a_feed_shares_epochs_with_its_dataset():
    ds = Dataset.range(10).shuffle(seed=1)
    feed = fed(ds)
    it = iter(feed)
    received = [next(it).array for _ in range(3)]
    assert feed.state_dict() == ds.state_dict()
    state = feed.state_dict()
    it.close()
    assert (feed.epoch, ds.epoch) == (1, 1)
    feed.load_state_dict(state)
    assert received + [x.array for x in feed] == list(ds.iterator(epoch=0))
    feed.set_epoch(4)
    assert [x.array for x in feed] == list(ds.iterator(epoch=4))
    assert list(ds) == list(ds.iterator(epoch=5))


def test_state_of_a_feed_and_of_its_dataset_are_the_same():
    ds = Dataset.range(10)
    it = ds.iterator()
    next(it)
    other = fed(ds).iterator()
    other.load_state_dict(it.state_dict())
    assert next(other).array == 1


# Steps placed ahead


class Noting(Here):
    """A placement that notes what it is asked for, and fails to place some batches."""

    def __init__(self, fails_at=None):
        super().__init__(lambda array: array)
        self.calls = []
        self.fails_at = fails_at

    def place(self, batches):
        batch = super().place(batches)
        if self.fails_at is not None and batch[0] == self.fails_at:
            raise ValueError("no place")
        self.calls.append(("place", int(batch[0])))
        return batch

    def wait(self, placed):
        self.calls.append(("wait", int(placed[0])))
        return placed

    def release(self, placed):
        self.calls.append(("release", int(placed[0])))


def test_a_batch_is_placed_before_the_one_ahead_of_it_is_handed_out():
    noted = Noting()
    it = iter(FrameworkFeed(Dataset.range(6).batch(2), noted, depth=2))
    next(it)
    assert noted.calls == [("place", 0), ("place", 2), ("wait", 0), ("release", 0)]
    next(it)
    assert noted.calls[4:] == [("place", 4), ("wait", 2), ("release", 2)]
    it.close()
    assert noted.calls[7:] == [("release", 4)]


def test_loading_a_state_releases_what_was_placed_ahead():
    noted = Noting()
    it = iter(FrameworkFeed(Dataset.range(6).batch(2), noted, depth=3))
    next(it)
    it.load_state_dict(it.state_dict())
    assert noted.calls[-2:] == [("release", 2), ("release", 4)]
    assert next(it).tolist() == [2, 3]


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_what_cannot_be_placed_raises_after_what_was_placed_and_ends_the_run(depth):
    it = iter(FrameworkFeed(Dataset.range(8).batch(2), Noting(fails_at=4), depth))
    assert [next(it).tolist(), next(it).tolist()] == [[0, 1], [2, 3]]
    with pytest.raises(ValueError, match="no place"):
        next(it)
    with pytest.raises(ClosedError):
        next(it)
    if depth > 1:
        assert it.state_dict()["row"] == 2


def interrupted_at(number):
    class Interrupted(type(Dataset.range(9).iterator())):
        asked = 0

        def __next__(self):
            self.asked += 1
            if self.asked == number:
                raise KeyboardInterrupt
            return super().__next__()

    source = Dataset.range(9).iterator()
    source.__class__ = Interrupted
    return source


def test_an_interrupt_while_a_batch_is_taken_ahead_loses_none():
    it = FedIterator(interrupted_at(3), Here(lambda array: array), depth=2)
    assert next(it) == 0
    with pytest.raises(KeyboardInterrupt):
        next(it)
    assert it.state_dict()["row"] == 1
    assert list(it) == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("depth", [1, 2])
def test_an_interrupt_within_a_stack_loses_none_of_its_batches(depth):
    it = FedIterator(interrupted_at(6), Stacked(Here(lambda array: array), 4), depth)
    received = []
    with pytest.raises(KeyboardInterrupt):
        received.append(next(it).tolist()), next(it)
    assert it.state_dict()["row"] == 4 * len(received)
    received += [stack.tolist() for stack in it]
    assert received == [[0, 1, 2, 3], [4, 5, 6, 7], [8]]


def test_before_the_first_stack_the_state_counts_no_batch():
    it = FedIterator(interrupted_at(3), Stacked(Here(lambda array: array), 4))
    with pytest.raises(KeyboardInterrupt):
        next(it)
    assert it.state_dict()["row"] == 0


@pytest.mark.parametrize("depth", [1, 2])
def test_the_batches_before_a_failure_are_a_short_stack(depth):
    def fails(x):
        if x == 6:
            raise ValueError("six")
        return x

    it = iter(
        FrameworkFeed(Dataset.range(9).map(fails, vectorized=False), Stacked(Here(lambda array: array), 4), depth)
    )
    assert [next(it).tolist(), next(it).tolist()] == [[0, 1, 2, 3], [4, 5]]
    assert it.state_dict()["row"] == 6
    with pytest.raises(ValueError, match="six"):
        next(it)


def test_a_feed_is_watched_as_its_source_is(tmp_path):
    prometheus = pytest.importorskip("prometheus_client")
    registry = prometheus.CollectorRegistry()
    it = FedIterator(Dataset.range(12).batch(4).iterator(), Here(np.asarray), depth=2)
    it.trace(tmp_path / "run.json")
    it.to_tensorboard(tmp_path)
    it.report(tmp_path / "run.html")
    it.to_prometheus("train", registry=registry)
    next(it)
    assert registry.get_sample_value("penstock_items_total", {"pipeline": "train"}) >= 1
    assert len(list(it)) == 2
    assert "as run, inline; 3 batches:" in it.explain()
    assert sum(event.get("cat") == "wait" for event in json.loads((tmp_path / "run.json").read_text())) >= 1
    assert (tmp_path / "penstock").is_dir()
    assert (tmp_path / "run.html").read_text().startswith("<!doctype html>")
    with pytest.raises(PlanError, match="to_opentelemetry"):
        it.to_opentelemetry()


def test_the_display_of_an_iterator_has_the_verdict_of_the_feed_and_takes_nothing(monkeypatch):
    monkeypatch.setattr(FedIterator, "verdict", lambda self: "of the feed")
    it = iter(fed(Dataset.range(8).batch(2)))
    assert next(it).array.tolist() == [0, 1]
    html = it._repr_html_()
    assert "not drawn" not in html
    assert "<p class=verdict>of the feed</p>" in html
    assert "batch(2)" in html
    assert next(it).array.tolist() == [2, 3]
