"""The verdict, in every case it knows."""

from __future__ import annotations

import pickle
from time import perf_counter_ns, sleep

import numpy as np
import pytest

import penstock as ps
from penstock.core.verdicts import Verdict
from penstock.feed.clock import DeviceTimes
from penstock.kernels.clocks import thread_times
from penstock.memory.limits import available_cores
from penstock.watch.fetches import FetchStats
from penstock.watch.verdict import verdict
from tests.watch.measured import operation, stats


def test_an_input_bound_run_names_who_waits_the_limit_and_its_ceiling():
    text = verdict(stats())
    assert text.startswith("Input-bound: the consumer waited 60 % of the time.")
    assert "The limit is map(decode), with 75 % of the work" in text
    assert "its ceiling is 13 batches/s (on 2 threads)" in text  # 2 workers x 100 batches / 15 s


@pytest.mark.parametrize(
    ("mode", "where"),
    [
        ("isolated: inline", "(inline in a process of its own)"),
        ("isolated: 2 threads", "(on 2 threads in a process of its own)"),
    ],
)
def test_the_process_of_an_isolated_run_is_named(mode, where):
    assert where in verdict(stats(mode=mode))
    assert where in verdict(stats(mode=mode, waited=0.1, stepped=9.9))
    assert "as configured" in verdict(stats(mode="isolated: inline", workers=1, chosen=True))


@pytest.mark.parametrize(
    ("changed", "advice"),
    [
        ({}, "All 2 cores are busy"),
        ({"workers": 1, "mode": "1 thread"}, "Only 1 of 2 cores are requested: raise Options(workers=)"),
        ({"mode": "inline", "workers": 1}, "Batches this cheap stay inline; functions of whole columns"),
        (
            {"mode": "inline", "workers": 1, "items": 10**6, "rows": 2 * 10**6},
            "Handing over batches takes much of the time: make batches larger.",
        ),
        ({"mode": "inline", "workers": 1, "items": 10**6, "unit": "element"}, "take them in batches, with batch()."),
        (
            {"mode": "inline", "workers": 1, "chosen": True},
            "The run is inline, as configured: Options(executor='auto')",
        ),
        ({"blocked": 15.0}, "It mostly waits: more calls at a time hide that, with Options(workers=4)"),
        ({"starved": 10.0}, "Other processes used the cores for 50 % of the time"),
        ({"holds_gil": True}, "Its functions hold the GIL"),
        (
            {"holds_gil": True, "chosen": True, "items": 10**6, "work": 20.0},
            "Batches this cheap cost less than their hand-over: Options(executor='auto') makes them inline.",
        ),
        ({"holds_gil": True, "blocked": 15.0}, "Its functions hold the GIL"),
        (
            {"blocked": 610.0, "work": 630.0, "workers": 64, "mode": "64 threads"},
            "It mostly waits, and 64 calls at a time keep the GIL busy: let each call do more, such as",
        ),
        (
            {"work": 6.0, "blocked": 5.0, "uneven": 20.0},
            "Workers are idle for at least 50 % of the time that the consumer waits, behind elements that take much",
        ),
        ({"work": 6.0, "blocked": 5.0, "uneven": 7.0}, "It mostly waits"),  # that is soon over
        ({"work": 7.0, "items": 10**5, "uneven": 40.0, "blocked": 5.0}, "It mostly waits"),  # as 40 x 70 us are
        (
            {"work": 4.0, "blocked": 3.0, "uneven": 20.0},
            "It mostly waits",
        ),  # the consumer waits for more
        ({"work": 4.0, "uneven": 20.0}, "All work takes less time than the consumer waits; the rest is hand-overs"),
        ({"work": 6.0, "blocked": 5.0, "uneven": 2.0}, "It mostly waits: more calls at a time hide that"),
        ({"work": 9.0, "blocked": 8.0, "uneven": 20.0}, "It mostly waits: more calls at a time hide that"),
        ({"work": 19.0, "blocked": 15.0, "uneven": 20.0}, "It mostly waits: more calls at a time hide that"),
    ],
)
def test_the_verdict_advises_a_change(changed, advice):
    assert advice in verdict(stats(**changed))


def test_the_ceiling_of_an_operation_that_one_thread_at_a_time_calls_has_no_waits_for_turns():
    turns = "map(decode) is called by one thread at a time: writes `self.last`"
    found = verdict(stats(alone=(turns,)))
    assert found.operation_ceiling == pytest.approx(100 / 10)  # batches in all of the time
    assert found.change.startswith(turns)


def test_a_run_that_is_not_input_bound_shows_the_ceiling():
    text = verdict(stats(waited=0.2, stepped=9.8, work=2.0))
    assert text == (
        "Step-bound: the consumer waited 2.0 % of the time. It took 10 batches/s; the pipeline could make "
        "100 batches/s (on 2 threads), then limited by map(decode)."
    )


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"items": 0, "waited": 0.0, "stepped": 0.0}, "Too early to say: 0 batches in 0.00 s."),
        ({"items": 2, "waited": 0.01, "stepped": 0.02}, "Too early to say: 2 batches in 0.03 s."),
        ({"items": 1, "waited": 1.0, "stepped": 9.0}, "Too early to say: 1 batch in 10.00 s."),
        ({"items": 5, "unit": "element", "operations": ()}, "Too early to say: 5 elements in 10.00 s."),
    ],
)
def test_too_few_items_give_no_verdict(changed, text):
    assert verdict(stats(**changed)) == text


def test_slow_runs_have_rates_with_digits():
    assert "It took 0.3 batches/s" in verdict(stats(items=3, waited=0.1, stepped=9.9))


def test_the_last_event_ends_with_the_innermost_line_of_its_stack():
    stack = "nothing moves; thread main is in:\n  File 'a.py', line 1, in f\n    g()\n  File 'b.py', line 2\n    read()"
    event = ps.RunEvent(0.0, "stuck", "map(f)", None, stack)
    assert verdict(stats(events=(event,))).endswith("The event of the run: nothing moves; thread main is in: read().")


# Kinds


READS = (operation("read_files", 15.0, wait=12.0, reads=True), operation("map(decode)", 5.0))


@pytest.mark.parametrize(
    ("changed", "kind", "named"),
    [
        ({}, "input", "Input-bound"),
        ({"waited": 0.2, "stepped": 9.8, "holds_gil": True}, "step", "Step-bound"),
        ({"holds_gil": True}, "gil", "GIL-bound"),
        ({"operations": READS}, "storage", "Storage-bound"),
        ({"operations": READS, "holds_gil": True}, "gil", "GIL-bound"),
        ({"short": 40, "work": 8.0, "budget": 10**6}, "memory", "Memory-bound"),
        ({"short": 40, "work": 18.0, "budget": 10**6}, "input", "Input-bound"),  # all workers are busy
        ({"short": 20, "work": 8.0}, "input", "Input-bound"),  # now and then
        ({"items": 0}, "early", "Too early"),
        ({"seconds": 0.01}, "early", "Too early"),
    ],
)
def test_each_kind_is_named(changed, kind, named):
    if "seconds" in changed:
        changed = {"waited": changed["seconds"], "stepped": 0.0}
    found = verdict(stats(**changed))
    assert found.kind == kind
    assert found.startswith(named)


def test_one_step_is_too_early_for_a_verdict_and_one_long_wait_is_not():
    begun = {"items": 1, "rows": 64, "warm_up": 6.0}
    assert verdict(stats(**begun, stepped=4.0)).kind == "early"
    assert verdict(stats(**begun, stepped=7.0)).kind == "early"
    assert verdict(stats(items=1, rows=64, stepped=0.1)).kind == "input"


def test_a_verdict_has_parts():
    found = verdict(stats())
    assert (found.operation, found.next_operation) == ("map(decode)", "read_files")
    assert found.operation_ceiling == pytest.approx(2 * 100 / 15)
    assert found.ceiling == pytest.approx(2 * 100 / 20)
    assert "the next limit is read_files, at 50 batches/s" in found
    assert found.change in found
    assert type(pickle.loads(pickle.dumps(found))) is Verdict
    assert vars(pickle.loads(pickle.dumps(found))) == vars(found)


def test_the_second_operation_of_a_name_has_a_number():
    found = verdict(stats(operations=(operation("map(f)", 4.0), operation("map(f)", 15.0))))
    assert (found.operation, found.next_operation) == ("map(f) 2", "map(f)")
    assert "The limit is map(f) 2, with 79 % of the work" in found
    assert "the next limit is map(f), at" in found


def test_a_sequential_operation_is_the_limit_before_one_that_all_workers_share():
    of_one = operation("from_generator(f)", 8.0, sequential=True)
    found = verdict(stats(operations=(of_one, operation("map(decode)", 12.0))))
    assert found.operation == "from_generator(f)"  # 8 s of one thread, against 6 s of each worker
    assert found.operation_ceiling == pytest.approx(1000 / 8)
    assert "one element after another" in found
    assert found.gain == pytest.approx(10 / (10 - 8 / 2))


def test_half_of_the_work_of_an_operation_at_most_doubles_the_rate():
    of_several_threads = operation("from_generator(f)", 19.9, sequential=True)
    assert verdict(stats(operations=(of_several_threads,), waited=9.0, stepped=1.0)).gain == pytest.approx(2.0)


# Each kind in a run


def finished(ds, **options):
    with ds.with_options(ps.Options(**options)).iterator() as it:
        for _ in it:
            pass
        return it.verdict()


def busy(x):
    return sum(range(20_000 + int(x)))


class Slow:
    """A source that takes its time, as a remote disk does."""

    def __len__(self):
        return 64

    def __getitem__(self, row):
        sleep(0.004)
        return row


def test_a_slow_consumer_is_step_bound():
    with ps.Dataset.range(4000).batch(4).iterator() as it:
        for _ in it:
            sleep(0.02)
            if it.verdict().kind == "step":  # soon, since only the first batch is waited for
                break
        assert it.verdict().kind == "step"


def test_work_on_one_core_is_input_bound():
    found = finished(ps.Dataset.range(300).map(busy).batch(4), executor="inline")
    assert (found.kind, found.operation) == ("input", "map(busy)")


def test_a_slow_source_is_storage_bound():
    found = finished(ps.Dataset.from_source(Slow()).batch(4), executor="threads", workers=2)
    assert (found.kind, found.operation) == ("storage", "from_source(Slow)")
    assert found.change in found


@pytest.mark.parametrize(
    ("nbytes", "advice"),
    [(120_000, "A read has only 120 bytes: let the local cache keep the files"), (1 << 30, "take fewer reads")],
)
def test_small_reads_of_a_remote_store_are_named(nbytes, advice):
    fetched = FetchStats(1000, nbytes, 30.0, 6.0, 16, rises=False, rate=0.0, retried=0, repeated=0, cached_bytes=0)
    text = verdict(stats(operations=(operation("read_text", 20.0, 19.0),), blocked=19.0, fetched=fetched))
    assert "It waits for the store: 30 ms a read, 16 at a time; more did not raise the rate." in text
    assert advice in text


def test_more_calls_hide_a_slow_source():
    found = verdict(stats(operations=READS, blocked=15.0))
    assert "It mostly waits for its source: more calls at a time hide that, with Options(workers=4), or keep" in found
    assert found.gain > 1


def test_a_small_memory_budget_is_memory_bound():
    def slow(x):
        sleep(0.01)
        return np.full(1 << 18, x, np.uint8)

    ds = ps.Dataset.range(48).map(slow).batch(1)
    found = finished(ds, executor="threads", workers=8, memory_budget=1 << 20)
    assert found.kind == "memory"
    assert "raise Options(memory_budget=)" in found


def python(x):
    total = 0
    for each in range(20_000):
        total += each % 3
    return x + total


MANY_CORES = pytest.mark.skipif(available_cores() < 2, reason="threads wait for the only core")


@pytest.fixture
def free_cores(monkeypatch):
    """Clocks as on a machine with nothing else to do: threads that are ready have a core; one core is always used."""

    def times():
        now, cpu, starved, *counts = thread_times()
        return now, cpu + starved, 0, *counts

    monkeypatch.setattr("penstock.engine.tasks.cost.thread_times", times)
    monkeypatch.setattr("penstock.watch.steps.process_time_ns", perf_counter_ns)


def found_kind(kind, ds, step=lambda: None, **options):
    """The verdict on an endless pass, as soon as it is of a kind."""
    with ds.repeat().with_options(ps.Options(**options)).iterator() as it:
        for _ in range(2000):
            next(it)
            step()
            found = it.verdict()
            if found.kind == kind:
                break
    return found


@MANY_CORES
@pytest.mark.usefixtures("free_cores")
def test_functions_that_hold_the_gil_are_gil_bound():
    ds = ps.Dataset.range(200).map(python, vectorized=False).batch(4)
    found = found_kind("gil", ds, executor="threads", workers=2)
    assert (found.kind, found.operation) == ("gil", "map(python, vectorized=False)")
    assert "Options(executor='processes')" in found.change
    assert found.gain > 1


@MANY_CORES
@pytest.mark.usefixtures("free_cores")
def test_a_step_that_holds_the_gil_is_gil_bound(monkeypatch):
    held = [0]
    monkeypatch.setattr("penstock.watch.steps.thread_time_ns", lambda: held[0])
    monkeypatch.setattr("penstock.watch.steps.process_time_ns", lambda: perf_counter_ns() * 4 // 5)

    def step():
        began = perf_counter_ns()
        for each in range(8):
            python(each)
        held[0] += (perf_counter_ns() - began) // 2  # the other half it waits for the GIL

    ds = ps.Dataset.range(200).map(python, vectorized=False).batch(4)
    found = found_kind("gil", ds, step, executor="threads", workers=1)
    assert found.kind == "gil"
    assert found.gain > 1


def test_threads_that_wait_for_the_gil_are_promised_what_their_process_made():
    waiting = {"holds_gil": True, "work": 20.0, "blocked": 2.0, "cpu": 10.0, "waited": 10.0, "stepped": 0.0}
    assert verdict(stats(**waiting)).gain == pytest.approx(2.0)
    assert verdict(stats(**waiting | {"mode": "2 processes"})).gain == pytest.approx(20 / 18)


def test_a_thread_that_never_waits_is_not_gil_bound():
    found = verdict(stats(mode="1 thread", workers=1, work=9.9, cpu=10.0, waited=9.9, stepped=0.1, contention=0.5))
    assert (found.kind, found.gain) == ("input", pytest.approx(2.0, rel=0.02))


def test_transfers_are_known_from_the_events_of_a_device():
    found = DeviceTimes("cuda:0", 10, seconds=1.0, waited=0.5, moving=0.9).verdict(0.1, lambda: verdict(stats()))
    assert found.kind == "transfer"


# The start of a run


def test_the_start_of_a_run_is_no_part_of_its_limit():
    started = stats(waited=1.0, stepped=9.0, warm_up=0.9, work=2.0)
    found = verdict(started)
    assert (started.wait_share, started.steady_share) == (pytest.approx(0.1), pytest.approx(0.1 / 9.1))
    assert found.kind == "step"
    assert found.startswith(
        "Step-bound: the consumer waited 1.1 % of the time since the run was under way, 0.9 s after its start. It took"
    )
    assert verdict(stats(waited=2.0, stepped=8.0, warm_up=0.9)).kind == "input"


@pytest.mark.parametrize(("work", "ceiling"), [(2.0, 100), (40.0, 20)])
def test_rates_are_those_once_the_run_was_under_way(work, ceiling):
    found = verdict(stats(waited=5.1, stepped=4.9, warm_up=5.0, work=work))
    assert f"It took 20 batches/s; the pipeline could make {ceiling} batches/s" in found
    assert found.ceiling == ceiling


def test_a_run_that_is_hardly_under_way_is_judged_as_a_whole():
    assert stats(waited=9.9, stepped=0.1, warm_up=9.8).steady_share == pytest.approx(0.99)
    assert stats(waited=0.0, stepped=0.0).steady_share == 0


@pytest.mark.parametrize("options", [{}, {"executor": "threads"}, {"executor": "processes", "workers": 1}])
def test_the_first_item_and_the_start_of_workers_are_the_start_of_a_run(options):
    with ps.Dataset.range(8).batch(2).with_options(ps.Options(**options)).iterator() as it:
        assert it.stats().warm_up == 0
        next(it)
        first = it.stats()
        assert 0 < first.warm_up == first.waited
        for _ in it:
            pass
        assert first.warm_up <= it.stats().warm_up <= it.stats().waited


def test_a_start_of_threads_is_part_of_the_start():
    with ps.Dataset.range(64).map(lambda x: sleep(0.002) or x).iterator() as it:
        modes = []
        for _ in range(12):
            before = it.stats().warm_up
            next(it)
            modes.append((it.stats().mode, it.stats().warm_up > before))
    changes = [begins for (mode, begins), (earlier, _) in zip(modes[1:], modes, strict=False) if mode != earlier]
    assert changes
    assert all(changes)
    assert sum(begins for _, begins in modes) == len(changes) + 1
