"""Spans of tasks and operations, recorded in every kind of worker."""

from __future__ import annotations

import copy
import os
import pickle
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from penstock import Dataset, Options
from penstock.engine.tasks.compile import compiled
from penstock.engine.tasks.cost import EVERY, FULLY, Meter
from penstock.watch.counters import SHORTEST_SPAN, Counters
from penstock.watch.trace.spans import LONG, MOST_IN_A_WINDOW, CountedSpans, RecordTimes, Span, SpanCounters
from penstock.watch.viewers import NEVER


def slow(x):
    return sum(range(20_000)) + x  # more than 20 µs


def end_of(span):
    return span.begin + span.took


def spans_of(ds):
    """Return the spans of one pass, as a viewer sees them."""
    seen: list[Span] = []

    class Collector:
        records = "operations"

        def look(self, moment, spans):
            seen.extend(spans)

        def close(self, last, spans):
            seen.extend(spans)

    with ds.iterator() as it:
        it._add_viewer("collect", Collector)
        made = [np.asarray(each).tolist() for each in it]
    return made, seen


@pytest.mark.parametrize("executor", ["inline", "threads"])
def test_every_task_is_a_span_with_its_items_and_operations_inside(executor, monkeypatch):
    monkeypatch.setattr("penstock.watch.trace.spans.MOST_IN_A_WINDOW", 10_000)
    ds = Dataset.range(24).map(slow).batch(4).with_options(Options(executor=executor, rewrite=False))
    made, spans = spans_of(ds)
    assert made == [np.asarray(each).tolist() for each in ds.iterator(epoch=0)]
    tasks = [span for span in spans if span.kind in ("task", "part")]
    maps = [span for span in spans if span.name == "map(slow)" and span.kind == "operation"]
    assert {span.name for span in tasks} == {"batch(4)"}
    assert {span.process for span in spans} == {os.getpid()}
    assert sum(span.rows for span in maps) == 24
    for inner in maps:
        within = [task for task in tasks if task.thread == inner.thread and task.begin <= inner.begin < end_of(task)]
        assert [end_of(inner) <= end_of(task) for task in within] == [True]  # slices nest, as viewers require


def test_tasks_of_worker_processes_come_with_their_process():
    ds = Dataset.range(400).map(slow).batch(4).with_options(Options(executor="processes", workers=1))
    processes: set[int] = set()
    for _ in range(20):  # until the worker, which starts meanwhile, takes tasks
        _, spans = spans_of(ds)
        processes |= {span.process for span in spans if span.kind == "task"}
        if processes != {os.getpid()}:
            break
    assert len(processes - {os.getpid()}) == 1
    _, spans = spans_of(ds)  # of a later pass in the same process
    assert {span.process for span in spans if span.kind == "task"} == processes - {os.getpid()}


def test_a_task_of_a_stream_and_its_flows_are_spans():
    ds = Dataset.from_generator(lambda: map(slow, range(6))).map(slow).batch(2)
    _, spans = spans_of(ds.with_options(Options(executor="inline")))
    assert {"from_generator(lambda)", "batch(2)", "map(slow)"} <= {span.name for span in spans}


def test_results_are_the_same_and_nothing_is_recorded_without_a_viewer():
    ds = Dataset.range(9).batch(2)
    it = ds.iterator()
    list(it)
    assert type(it._counters) is Counters
    assert it._run._observer.recorder is None


def test_counters_in_another_process_record_too():
    counters = pickle.loads(pickle.dumps(SpanCounters(notes_operations=True)))
    assert type(counters) is SpanCounters
    assert counters.notes_operations
    assert type(copy.copy(counters)) is SpanCounters
    began = time.perf_counter_ns() - 7
    counters.note(_Task(), "map(f)", began, 7)
    drained = counters.drain()
    assert [(span.kind, span.rows, span.item) for span in drained.spans] == [("task", 3, 5)]
    assert [(span.begin, span.took) for span in drained.spans] == [(began, 7)]
    assert counters.drain().spans == []
    here = SpanCounters()
    here.absorb(drained)
    assert here.taken() == drained.spans


def test_spans_of_another_clock_end_when_they_arrive():
    far = Span("task", "map(f)", 1, 1, 10**18, 1000, 4, 0)
    counters = SpanCounters()
    counters.absorb(CountedSpans(Counters().drain(), [far]))
    (span,) = counters.taken()
    assert span.begin < far.begin


def test_operations_are_recorded_for_traces_alone(tmp_path):
    it = Dataset.range(24).map(slow).batch(4).iterator()
    it.report(tmp_path / "run.html")
    assert not it._counters.notes_operations
    it.trace(tmp_path / "run.json")
    assert it._counters.notes_operations
    it.close()


def calls_of_a_pass(ds, prepare):
    """Return the number of functions called in a pass, from its second item on."""
    it, calls = ds.iterator(), [0]
    prepare(it)

    def count(frame, event, argument):
        calls[0] += event in ("call", "c_call")

    next(it)
    sys.setprofile(count)
    try:
        for _ in it:
            pass
    finally:
        sys.setprofile(None)
    return calls[0]


def test_a_report_takes_few_calls_for_each_task(tmp_path, monkeypatch):
    monkeypatch.setattr("penstock.engine.tuning.tuner.Tuner.group_items", lambda tuner, *, beside=False: 1)
    looks_once = "penstock.watch.page.viewer.ReportViewer.look"
    monkeypatch.setattr(looks_once, lambda viewer, moment, spans: setattr(viewer, "due", NEVER))
    monkeypatch.setattr("penstock.watch.page.viewer.ReportViewer.close", lambda viewer, last, spans: None)
    monkeypatch.setattr("penstock.watch.trace.spans.LONG", 0)  # all are recorded
    ds = Dataset.range(64_000).map(lambda x: x + 1, vectorized=True).batch(64).with_options(Options(executor="inline"))
    without = calls_of_a_pass(ds, lambda it: None)
    more = calls_of_a_pass(ds, lambda it: it.report(tmp_path / "run.html")) - without
    assert more < 15 * 1000  # of each task; with its operations there were 130


def test_short_calls_of_operations_are_left_out():
    _, spans = spans_of(Dataset.range(64).map(lambda x: x + 1, vectorized=False).batch(2))
    assert all(span.took >= SHORTEST_SPAN for span in spans if span.kind == "operation")


def test_of_many_cheap_tasks_some_are_recorded_and_the_others_counted(monkeypatch):
    now = [0]
    monkeypatch.setattr("penstock.watch.trace.spans.perf_counter_ns", lambda: now[0])
    counters = SpanCounters()
    meter = Meter(counters)
    for _ in range(FULLY + 10 * EVERY):
        made(counters, meter, now, 1000)
    spans = counters.taken()
    assert [span.kind for span in spans] == ["task"] * 2 * MOST_IN_A_WINDOW  # the second half in the first window
    now[0] += 10**9
    for _ in range(EVERY + 1):  # until one is measured in full, which looks at the time
        made(counters, meter, now, 1000)
    left_out, *tasks = counters.taken()
    assert left_out.kind == "left out"
    assert abs(left_out.rows - (FULLY + 10 * EVERY - 2 * MOST_IN_A_WINDOW)) <= 2 * EVERY
    assert {(span.kind, span.rows, span.took) for span in tasks} == {("task", 3, 1000)}


def test_a_long_task_after_many_short_ones_is_recorded():
    def sleep_once(number):
        if number == 130:
            time.sleep(0.002)
        return number

    ds = Dataset.range(140).map(sleep_once).with_options(Options(executor="threads", workers=1))
    _, spans = spans_of(ds)
    assert max(span.took for span in spans if span.kind == "task") > LONG


def test_all_long_tasks_are_recorded(monkeypatch):
    now = [0]
    monkeypatch.setattr("penstock.watch.trace.spans.perf_counter_ns", lambda: now[0])
    counters = SpanCounters()
    for _ in range(2 * MOST_IN_A_WINDOW):
        made(counters, Meter(counters), now, LONG)
    assert [span.kind for span in counters.taken()] == ["task"] * 2 * MOST_IN_A_WINDOW


def test_of_functions_of_cheap_elements_some_calls_are_timed(monkeypatch):
    timed = []
    begin = RecordTimes.__enter__
    monkeypatch.setattr("penstock.watch.trace.spans.perf_counter_ns", lambda: 0)
    monkeypatch.setattr("penstock.engine.tuning.tuner.Tuner.group_items", lambda tuner, *, beside=False: 1)
    monkeypatch.setattr(RecordTimes, "__enter__", lambda self: (timed.append(1), begin(self))[1])
    monkeypatch.setattr("penstock.watch.trace.spans.MOST_IN_A_WINDOW", 0)
    monkeypatch.setattr("penstock.watch.counters.perf_counter_ns", lambda: 0)
    spans_of(Dataset.range(320).map(str).batch(2).with_options(Options(executor="inline")))
    looks = [5, 7, 11, 19, 35, 67, 128]  # calls until then: twice as many are left out each time, up to 60
    assert len(timed) == looks[0] + len(looks) - 1


def test_threads_may_record_while_others_take(monkeypatch):
    monkeypatch.setattr("penstock.watch.trace.spans.MOST_IN_A_WINDOW", 10_000)
    counters = SpanCounters()

    def record(_):
        for _ in range(500):
            counters.note(_Task(), "map(f)", 0, 0)

    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(record, number) for number in range(4)]
        taken = counters.taken()
        [each.result() for each in asked]
    taken += counters.taken()
    assert len(taken) == 2000
    assert len({span.thread for span in taken} - {threading.get_ident()}) >= 1


def made(counters, meter, now, took):
    """Make a task that takes so long, as a `Work` does."""
    meter.measure(lambda: now.__setitem__(0, now[0] + took))
    if counters.room > 0 or took >= counters.long:
        counters.note(_Task(), "map(f)", now[0] - took, took)


class _Task:
    low = 5
    part = None
    given = (1, 2, 3)


def test_expensive_elements_are_timed_one_by_one(monkeypatch):
    counters = SpanCounters()
    ds = Dataset.range(12).map(lambda x: x, vectorized=False)
    plan = ds._bound()
    for least, calls in ((0, 3), (10**12, 1)):  # the first call is timed in any case
        monkeypatch.setattr("penstock.watch.trace.spans.LEAST_TIMED", least)
        program = compiled(plan, np.empty, counters)
        for rows in (range(4), range(4, 8), range(8, 12)):
            program(np.array(rows))
        timed = [span for span in counters.taken() if span.kind == "records"]
        assert [span.times[0] for span in timed] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]][:calls]
        assert all(len(span.times[1]) == span.rows == 4 for span in timed)
        assert {span.name for span in timed} == {"map(lambda, vectorized=False)"}
