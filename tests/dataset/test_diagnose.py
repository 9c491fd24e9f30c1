"""Diagnoses of datasets: rates as they are, of the step alone, and up to each operation."""

from __future__ import annotations

import threading
from itertools import count

import pytest

import penstock as ps
from penstock import Dataset
from penstock.core.verdicts import Verdict
from penstock.dataset import diagnose as room
from penstock.dataset.diagnose import Diagnosis, WidthRates, diagnose
from penstock.engine.runs.session import Session


def ticking(monkeypatch):
    """Let every look at the clock take a tenth of a second."""
    ticks = count()
    monkeypatch.setattr(room, "perf_counter", lambda: next(ticks) / 10)


def test_every_part_is_measured(monkeypatch):
    ticking(monkeypatch)
    monkeypatch.setattr(room, "_widths", lambda cores: [1, 2])
    seen = []
    ds = Dataset.range(40).shuffle(seed=0).map(abs).batch(4).with_options(ps.Options(executor="inline"))
    found = diagnose(ds, seen.append, seconds=30)
    assert [each.operation for each in found.operations] == ["range(40)", "shuffle(seed=0)", "map(abs)", "batch(4)"]
    assert {tuple(each.by_workers) for each in found.operations} == {(1, 2)}
    assert all(value > 0 for each in found.operations for value in each.by_workers.values())
    assert (found.unit, type(found.verdict)) == ("batch", Verdict)
    assert found.rate > 0
    assert found.step_rate > 0
    assert {len(batch) for batch in seen} == {4}
    assert ds.epoch == 0  # the next pass is the first


def test_elements_below_a_batch_are_asked_for_as_the_batch_does(monkeypatch):
    ticking(monkeypatch)
    monkeypatch.setattr(room, "_widths", lambda cores: [1])
    source = Dataset.from_generator(lambda: iter(range(40)))
    found = diagnose(source.map(lambda x: {"x": [x]}).map(lambda x: x["x"]).batch(8).map(sum), seconds=20)
    rates = [each.by_workers[1] for each in found.operations]
    assert min(rates[:3]) == pytest.approx(max(rates[:3]), rel=0.1)
    assert rates[2] > 4 * rates[3]  # of 8 elements at each look at the clock
    odd = diagnose(Dataset.from_source([{"a": 1}, {"b": 2}, "c"] * 9).map(len).batch(4), seconds=5)
    assert odd.operations[0].by_workers[1] > odd.operations[2].by_workers[1]  # elements that no batch can hold


def test_one_worker_is_the_consumers_own_thread_unless_options_say_otherwise(monkeypatch):
    ticking(monkeypatch)
    monkeypatch.setattr(room, "_widths", lambda cores: [1, 2])
    threads = set()

    def noting(x):
        threads.add(threading.current_thread() is threading.main_thread())
        return x

    ds = Dataset.range(4).map(noting).with_options(ps.Options(workers=2))
    node = ds._plan.input
    room._measured(room._up_to(node, ps.Options(workers=2), 1), 1)
    assert threads == {True}
    room._measured(room._up_to(node, ps.Options(executor="threads"), 1), 1)
    assert threads == {True, False}


def test_the_start_of_worker_processes_is_not_measured(monkeypatch):
    waits, now = [True] * 5, [0.0]  # until the processes have started: ten seconds for each item

    def clock():
        now[0] += 10.0 if waits else 0.1
        return now[0]

    monkeypatch.setattr(room, "perf_counter", clock)
    monkeypatch.setattr(Session, "made_elsewhere", ["range(99)"])
    monkeypatch.setattr(Session, "waits_for_processes", property(lambda _: bool(waits) and waits.pop()))
    found = room._measured(Dataset.range(99), 2.0)
    assert found.rate == pytest.approx(10, rel=0.1)
    assert found.starting >= 10


def test_the_process_of_an_isolated_run_starts_before_the_time_that_is_measured():
    found = room._measured(Dataset.range(99).with_options(ps.Options(isolate=True)), 0.01)
    assert found.starting > 0
    assert room._measured(Dataset.range(99), 0.01).starting == 0


def test_the_verdict_is_that_of_the_longest_pass(monkeypatch):
    ticking(monkeypatch)
    monkeypatch.setattr(room, "_widths", lambda cores: [1])
    found = diagnose(Dataset.range(20), seconds=30)
    assert "Too early to say: 20 elements" in found.verdict


def test_a_diagnosis_ends_for_short_empty_and_endless_datasets(monkeypatch):
    ticking(monkeypatch)
    monkeypatch.setattr(room, "_widths", lambda cores: [1])
    for ds in (Dataset.range(1), Dataset.range(0), Dataset.range(3).repeat(), Dataset.range(3).filter(lambda x: x > 5)):
        found = diagnose(ds, lambda _: None, seconds=5)
        assert len(found.operations) >= 1
    assert found.step_rate is None  # without an element


def test_a_diagnosis_ends_in_time_if_items_take_long(monkeypatch):
    ticking(monkeypatch)
    monkeypatch.setattr(room, "_widths", lambda cores: [1, 2])
    found = diagnose(Dataset.range(40).map(abs).batch(4), seconds=0.5)
    measured = [(each.operation, width) for each in found.operations for width in each.by_workers]
    assert 0 < len(measured) < 6
    assert "no time left" in str(found)


def test_a_diagnosis_prints_as_a_table():
    rates = (WidthRates("read", {1: 1000.0, 2: 2000.0}), WidthRates("map(f)", {1: 9.5, 2: 9.5}))
    found = Diagnosis("batch", 4.25, Verdict("Input-bound: x."), 8.0, rates)
    assert str(found).splitlines() == [
        "as it is: 4.25 batches/s",
        "the step alone, on one batch again and again: 8 batches/s",
        "Input-bound: x.",
        "",
        "up to   1 worker  2 workers",
        "read     1,000/s    2,000/s",
        "map(f)     9.5/s      9.5/s",
    ]
    assert "step alone" not in str(Diagnosis("element", 1.0, Verdict("x"), None, ()))


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        (([1, 2],), TypeError, "expected a Dataset, not list"),
        ((Dataset.range(3), 3), TypeError, "expected a function of a batch, not int"),
    ],
)
def test_wrong_arguments_are_refused(given, error, says):
    with pytest.raises(error, match=says):
        diagnose(*given)
    with pytest.raises(ValueError, match="above 0"):
        diagnose(Dataset.range(3), seconds=0)


def test_an_error_of_the_pipeline_is_raised():
    with pytest.raises(ZeroDivisionError):
        diagnose(Dataset.range(3).map(lambda x: 1 // x), seconds=1)
