"""Settings that a run has found, used again as they are."""

from __future__ import annotations

import re
from dataclasses import replace
from time import sleep

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset, Options, TaskTuning
from penstock.core.errors import PlanError


def slow(x):
    sleep(0.002)
    return x


def tuned(ds):
    with ds.iterator() as it:
        for _ in it:
            pass
        return it.tuning()


def pinned(ds, tuning, **options):
    """The iterator of a finished run that uses the settings."""
    it = ds.with_options(Options(tuning=tuning, **options)).iterator()
    assert sum(len(batch) for batch in it) == 200
    return it


DS = Dataset.range(200).map(slow).batch(4)


def test_a_run_tells_what_it_has_found():
    found = tuned(DS)
    assert found.executor == "threads"
    assert found.workers > 1
    assert found.operations == ("map(slow)", "batch(4)")
    assert [task.operation for task in found.tasks] == ["batch(4)"]
    assert any("threads" in why for why in found.why)


def test_nothing_is_tuned_before_the_first_item():
    with pytest.raises(PlanError, match="before the first item"):
        DS.iterator().tuning()


@pytest.mark.parametrize("workers", [1, 3, 5])
def test_pinned_workers_and_tasks_are_used_exactly(workers, monkeypatch):
    task = TaskTuning("batch(4)", 2, 1, 1, 4, 1)
    tuning = replace(tuned(DS), workers=workers, tasks=(task,))
    seen = set()
    submit = ps.engine.runs.loop.Loop._submit
    monkeypatch.setattr(
        ps.engine.runs.loop.Loop,
        "_submit",
        lambda loop, job, current: (seen.add((job.items, len(job.tasks))), submit(loop, job, current)),
    )
    it = pinned(DS, tuning)
    assert it.stats().mode == f"{workers} thread{'' if workers == 1 else 's'}"
    assert it.tuning().tasks == (task,)
    assert it.tuning().workers == workers
    assert seen == {(2, 1)}


def test_another_seed_needs_no_other_tuning():
    def made(seed):
        mixed = Dataset.sample_from_datasets([Dataset.range(300), Dataset.range(300)], seed=seed)
        parts = [
            mixed.take(200).shuffle(seed=seed).map(slow),
            Dataset.range(400).split({"a": 0.5, "b": 0.5}, seed=seed or 0)["a"],
        ]
        return parts[0].batch(4), parts[1].batch(4)

    for at in range(2):
        found = tuned(made(1)[at])
        assert not any("seed" in operation for operation in found.operations)
        for seed in (1, 2, None):
            pinned(made(seed)[at], found)


def test_a_run_pinned_inline_stays_there():
    it = pinned(DS, replace(tuned(DS), executor="inline", workers=1, tasks=(TaskTuning("batch(4)", 4, 1, 1, 3, 0),)))
    assert it.stats().mode == "inline"
    assert it._run.made.items == 50


def test_what_a_run_has_found_pins_the_next():
    found = tuned(DS)
    again = pinned(DS, found).tuning()
    assert (again.executor, again.workers, again.tasks) == (found.executor, found.workers, found.tasks)


def test_options_set_themselves_come_first():
    found = tuned(DS)
    assert pinned(DS, found, workers=7).stats().mode == "7 threads"
    assert pinned(DS, found, executor="inline").stats().mode == "inline"


def test_stages_of_a_stream_are_pinned_each():
    ds = Dataset.range(200).filter(lambda x: x >= 0).batch(5).map(slow)
    found = tuned(ds)
    assert len(found.tasks) == 2
    it = pinned(ds, found)
    assert it.tuning().tasks == found.tasks


def test_a_tuning_of_another_pipeline_is_an_error():
    found = tuned(DS)
    with pytest.raises(PlanError, match=r"found for map\(slow\) → batch\(4\), and this pipeline is batch\(4\)"):
        next(Dataset.range(8).batch(4).with_options(Options(tuning=found)).iterator())


def test_other_data_has_the_same_tuning():
    ds = Dataset.from_tensor_slices(np.arange(200)).map(slow).batch(4)
    assert pinned(ds, tuned(DS)).stats().items == 50


def test_another_number_of_cores_is_told():
    found = tuned(DS)
    assert not pinned(DS, found).stats().events
    (event,) = pinned(DS, replace(found, cores=found.cores + 6)).stats().events
    assert "the tuning was found on" in event.words


def test_an_isolated_run_is_pinned_in_its_process():
    task = TaskTuning("batch(4)", 2, 1, 1, 4, 1)
    found = replace(tuned(DS), workers=3, tasks=(task,))
    it = pinned(DS, found, isolate=True)
    assert it.stats().mode == "isolated: 3 threads"


def test_an_isolated_run_tells_of_its_worker_processes_which_are_pinned_too():
    options = {"isolate": True, "executor": "processes", "workers": 2}
    found = tuned(DS.with_options(Options(**options)))
    assert (found.executor, found.workers) == ("processes", 2)
    assert pinned(DS, found, isolate=True).stats().mode == "isolated: 2 processes"


def test_an_inline_tuning_without_tasks_pins_the_executor():
    inline = replace(tuned(DS), executor="inline", workers=1, tasks=())  # as that of an isolated stream
    it = pinned(DS, inline)
    assert (it.stats().mode, it.tuning().executor) == ("inline", "inline")


def test_anything_else_is_no_tuning():
    with pytest.raises(TypeError, match=r"expected it\.tuning"):
        Options(tuning="tuned.json")


@pytest.mark.parametrize(
    ("ds", "says"),
    [
        (Dataset.range(200).batch(4), "no threads: an item costs .* ms, and threads pay from 0.3 ms on"),
        (Dataset.range(20_000).batch(4), r"\d+ items a task: an item costs .* ms, and a task of \d ms costs little"),
        (DS.with_options(Options(executor="inline")), "inline, as required by the options"),
        (DS.with_options(Options(cores=1)), r"threads: 1 core, as Options\(cores=1\) allows, × "),
        (DS.with_options(Options(workers=3)), "3 threads: as requested"),
        (
            Dataset.range(200).map(slow).map(lambda x: np.zeros(3000)).with_options(Options(memory_budget=100_000)),
            r"Options\(memory_budget=100,000\) leaves no room for more items ahead",
        ),
    ],
)
def test_the_reasons_are_told_in_words(ds, says):
    assert re.search(f"because: .*{says}", str(tuned(ds)))
