"""A memory budget never changes the elements or their order, and is kept whatever the sizes of the elements are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.core.errors import BudgetError, BudgetWarning
from penstock.engine.workers.processes.pool import pool_for
from penstock.engine.workers.processes.starting import PoolSetup
from penstock.testing.laws import same
from tests.draws import draws

D = ps.Dataset
KB = 1 << 10


def sized(x):
    """Return an element of 1 byte to 8 KiB, by its number."""
    return {"x": np.full(1 << (int(x) * 7 % 14), int(x) % 251, np.uint8), "row": x}


def numbers():
    yield from range(40)


ROWS = D.range(40).map(sized)
STREAM = ROWS.filter(lambda e: e["row"] % 5 > 0)
PIPELINES = {
    "map": ROWS,
    "batch": ROWS.map(lambda e: {"x": e["x"][:1], "row": e["row"]}).batch(3),
    "padded": ROWS.padded_batch(3),
    "ragged": ROWS.ragged_batch(4),
    "shuffled": ROWS.shuffle(seed=1).prefetch(10),
    "filter": STREAM.map(lambda e: e | {"sum": e["x"].sum()}),
    "generator": D.from_generator(numbers).map(sized).prefetch(7),
    "stream shuffle": STREAM.shuffle(4, seed=1),
    "shuffle of bytes": STREAM.shuffle(buffer_bytes=4 * KB, seed=1),
    "interleave": D.range(5).interleave(lambda x: ROWS.skip(int(x) * 5).take(7), cycle_length=3),
    "flat_map": D.range(5).flat_map(lambda x: ROWS.take(int(x))),
    "zip": D.zip(STREAM, STREAM.skip(2)),
    "cache": ROWS.cache().repeat(2),
    "cache of a stream": STREAM.cache().repeat(2),
    "cache and shuffle": ROWS.cache().shuffle(seed=2).repeat(2),
    "pack": ROWS.map(lambda e: e["x"].astype(np.int32)).pack(512, window=1024).batch(2),
    "bucket": ROWS.bucket_by_sequence_length(lambda e: len(e["x"]), [16, 256], [4, 3, 2], drop_remainder=False),
    "groups": ROWS.group_by_window(lambda e: int(e["row"]) % 3, lambda key, group: group.padded_batch(5), 5),
    "unique": ROWS.map(lambda e: bytes(e["x"][:5])).unique(),
    "reducer": ROWS.group_by_reducer(lambda e: int(e["row"]) % 3, lambda key: 0, lambda state, e: state + len(e["x"])),
    "scan": ROWS.scan(0, lambda total, e: (total + len(e["x"]), total)),
    "unbatch": ROWS.padded_batch(3).unbatch(),
    "mixture": D.sample_from_datasets([STREAM, STREAM], [0.5, 0.5], seed=1),
}
WANTED = {}


def elements(ds, budget, options):
    return list(ds.with_options(ps.Options(memory_budget=budget, **options)))


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.filterwarnings("ignore::penstock.core.errors.BudgetWarning")
@given(
    budget=st.integers(40 * KB, 400 * KB),
    options=st.sampled_from([{"executor": "inline"}, {}, {"executor": "threads", "workers": 3}]),
)
@settings(max_examples=draws(6))
def test_elements_and_their_order_are_the_same_under_any_budget(name, budget, options):
    if name not in WANTED:
        WANTED[name] = list(PIPELINES[name].with_options(ps.Options(executor="inline")))
    try:
        found = elements(PIPELINES[name], budget, options)
    except BudgetError:  # never another order: a buffer either fits, or says that it does not
        assert name in ("stream shuffle", "bucket", "groups", "pack")
        return
    assert len(found) == len(WANTED[name])
    assert all(map(same, found, WANTED[name]))


@pytest.fixture(scope="module")
def ready():
    """Options with two worker processes that are kept ready."""
    pool = pool_for(PoolSetup(2, budget=400 * KB), 400 * KB)
    assert pool.crew.begun.wait(60)
    yield {"executor": "processes", "workers": 2}
    pool.close()


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.filterwarnings("ignore::penstock.core.errors.BudgetWarning")
def test_elements_from_worker_processes_are_the_same_within_a_budget(name, ready):
    wanted = list(PIPELINES[name].with_options(ps.Options(executor="inline")))
    found = elements(PIPELINES[name], 400 * KB, ready)
    assert len(found) == len(wanted)
    assert all(map(same, found, wanted))


# Operations that must hold what they hold


@pytest.mark.parametrize(
    ("ds", "message"),
    [
        (
            STREAM.map(lambda e: np.zeros(KB * 10, np.uint8)).shuffle(1000, seed=1).repeat(),
            (
                r"^shuffle\(1000, seed=1\) holds \d+ elements of about 10,2\d\d bytes \(\d+,\d+ in all; a buffer .*"
                r"up to 1,500\), and Options\(memory_budget=\) allows 100,000 bytes; .*buffer_bytes=, or raise"
            ),
        ),
        (
            D.range(1000).filter(lambda x: True).map(lambda x: np.zeros(KB * 10)).shuffle(buffer_bytes=1 << 20, seed=1),
            r"shuffle\(buffer_bytes=1048576, seed=1\) holds up to 1,572,864 bytes .* reduce buffer_bytes=",
        ),
        (
            D.range(1000).map(lambda x: np.zeros(KB, np.int64)).bucket_by_sequence_length(len, [9], [1, 1000]),
            r"bucket_by_sequence_length\(.*\) holds \d+ elements \(\d+,\d+ bytes\) in 1 groups",
        ),
        (
            D.range(1000).map(lambda x: np.zeros(KB, np.int64)).pack(64 * KB, window=1000 * KB),
            r"pack\(65536, .*\) holds the tokens of a window .* window=",
        ),
        (
            D.range(100_000).map(lambda x: f"the number {x}").unique(),
            r"unique\(\) remembers [\d,]+ keys \(\d+,\d+ bytes\)",
        ),
    ],
    ids=["shuffle", "shuffle of bytes", "bucket", "pack", "unique"],
)
def test_a_buffer_that_does_not_fit_is_an_error_with_figures_and_advice(ds, message):
    with pytest.raises(BudgetError, match=message):
        for _ in ds.with_options(ps.Options(memory_budget=100_000, executor="inline")):
            pass


def test_a_buffer_that_the_stream_does_not_fill_fits():
    ds = STREAM.shuffle(1_000_000, seed=1).with_options(ps.Options(memory_budget=200_000))
    assert len(list(ds)) == 32


def test_a_buffer_larger_than_the_default_budget_is_told_and_goes_on(monkeypatch):
    monkeypatch.setattr("penstock.engine.tuning.settings.default_memory_budget", lambda: 50_000)
    ds = D.range(40).map(lambda x: np.zeros(10 * KB, np.uint8)).filter(lambda x: True).shuffle(20, seed=1)
    with pytest.warns(BudgetWarning, match=r"shuffle\(20, .* holds .* more than the default budget of 50,000 bytes"):
        assert len(list(ds)) == 40


def test_a_single_element_larger_than_the_budget_comes_alone():
    ds = D.range(6).map(lambda x: np.zeros(100_000 if x % 2 else 10, np.uint8))
    for options in ({"executor": "inline"}, {"executor": "threads", "workers": 2}):
        with pytest.warns(BudgetWarning, match=r"one element of .* takes about [\d,]+ bytes") as told:
            assert [len(x) for x in elements(ds, 50_000, options)] == [10, 100_000] * 3
        assert len(told) == 1


# The memory of the process

BUDGET = 200 << 20
LARGEST = 50 << 20
SCRIPT = Path(__file__).with_name("peak_of_memory.py")
FOR_PROCESSES = (
    "map",
    "prefetch",
    "padded_batch",
    "filter",
    "generator",
    "shuffle of bytes",
    "interleave",
    "zip",
    "cache",
)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the system does not tell the memory in use")
@pytest.mark.parametrize(
    ("executor", "beyond", "names"),
    [
        ("inline", 1, ()),  # the element that the consumer holds
        ("threads", 1, ()),
        ("processes", 2, FOR_PROCESSES),  # and the first of its size that another worker makes
        ("pool", 3, ("map", "cache", "shuffle")),  # and one that each worker has in hand
    ],
)
def test_elements_from_1_kb_to_50_mb_stay_within_the_budget(executor, beyond, names):
    """In all processes together, also the memory that the C library keeps."""
    command = [sys.executable, str(SCRIPT), executor, str(BUDGET), *names]
    made = subprocess.run(command, capture_output=True, text=True, check=False, timeout=170)
    assert made.returncode == 0, made.stderr
    peaks = {name: int(peak) for name, peak in (line.rsplit(" ", 1) for line in made.stdout.splitlines())}
    most = BUDGET + beyond * LARGEST
    assert peaks.pop("everything at once") > most  # the measurement sees what is held
    assert len(peaks) >= (len(names) or 15)
    assert {name: peak >> 20 for name, peak in peaks.items() if peak > most} == {}
