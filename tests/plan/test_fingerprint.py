"""Fingerprints of plans depend on the elements, not on the execution, and are equal in every process."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset, Options
from penstock.core.errors import CursorError
from penstock.plan.fingerprint import form
from penstock.rewrite.passes import rewritten

PROGRAM = textwrap.dedent("""
    import numpy as np
    import penstock as ps

    MEAN = {"r": 0.5, "g": 0.4}

    def scale(x, table=frozenset({"a", "b", "c"})):
        return x * MEAN["r"] if x in {1, 2, 3} else np.float64(x)

    ds = ps.Dataset.from_tensor_slices({"x": np.arange(6.0), "y": list("abcdef")}).shuffle(seed=3)
    ds = ds.map(scale, on="x").batch(2)
    print(ds.fingerprint())
""")


def squared(x):
    return x * x


def pipeline(**changed):
    settings = {"data": np.arange(10), "seed": 0, "function": squared, "size": 4, "drop": False, "on": None} | changed
    ds = Dataset.from_tensor_slices(settings["data"]).shuffle(seed=settings["seed"])
    return ds.map(settings["function"], on=settings["on"]).batch(settings["size"], settings["drop"])


def test_equal_in_every_process():
    prints = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    ]
    assert prints[0] == prints[1]
    assert len(prints[0].strip()) == 32


def test_equal_pipelines_have_equal_fingerprints():
    assert pipeline().fingerprint() == pipeline(data=np.arange(10)).fingerprint()


@pytest.mark.parametrize(
    "changed",
    [
        {"data": np.arange(11)},
        {"data": np.arange(10)[::-1].copy()},
        {"data": np.arange(10, dtype=np.int32)},
        {"seed": 1},
        {"seed": None},
        {"function": lambda x: x + x},
        {"size": 5},
        {"drop": True},
    ],
    ids=["data", "order", "dtype", "seed", "no-seed", "function", "size", "drop"],
)
def test_fingerprints_differ_if_the_elements_differ(changed):
    assert pipeline(**changed).fingerprint() != pipeline().fingerprint()


@pytest.mark.parametrize(
    "change",
    [
        lambda ds: ds.prefetch(3),
        lambda ds: ds.with_options(Options(workers=3, seed=1)),
        lambda ds: ds.prefetch(3).with_options(Options(executor="threads")).prefetch(0),
    ],
)
def test_how_it_is_run_does_not_count(change):
    assert change(pipeline()).fingerprint() == pipeline().fingerprint()


def test_calls_in_parallel_do_not_count():
    plain = Dataset.range(5).map(squared).batch(2)
    parallel = Dataset.range(5).map(squared, num_parallel_calls=4, deterministic=False)
    assert parallel.batch(2, num_parallel_calls=2).fingerprint() == plain.fingerprint()


def test_the_order_of_operations_and_of_inputs_counts():
    ds, other = Dataset.range(10), Dataset.range(20)
    assert ds.skip(2).take(5).fingerprint() != ds.take(5).skip(2).fingerprint()
    assert Dataset.zip(ds, other).fingerprint() != Dataset.zip(other, ds).fingerprint()
    assert ds.concatenate(other).fingerprint() != other.concatenate(ds).fingerprint()
    assert Dataset.zip({"a": ds, "b": ds}).fingerprint() != Dataset.zip({"a": ds, "c": ds}).fingerprint()


def test_a_request_for_the_fingerprint_changes_no_function():
    ds = Dataset.range(5).map(squared)
    before = ds.fingerprint()
    assert list(ds) == [0, 1, 4, 9, 16]
    assert ds.element_spec is not None
    assert ds.fingerprint() == before


def logging(log):
    return lambda x: (log.append(x), x)[1]


class Counting:
    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return x


@pytest.mark.parametrize("function", [logging([]), Counting()], ids=["a log", "a counter"])
@pytest.mark.parametrize(
    "run",
    [list, lambda ds: ds[3], lambda ds: ds.element_spec, lambda ds: ds.check(), lambda ds: ds.skip(1).reduce(0, max)],
    ids=["iterating", "a row", "the spec", "a check", "another dataset on it"],
)
def test_values_that_functions_change_do_not_count(function, run):
    ds = Dataset.range(5).map(function)
    it = ds.iterator()
    saved = it.state_dict()
    run(ds)
    assert next(it) == 0
    assert it.state_dict()["fingerprint"] == saved["fingerprint"] == ds.fingerprint()
    again = ds.iterator()
    again.load_state_dict(it.state_dict())
    assert list(again) == [1, 2, 3, 4]


def test_values_before_the_first_call_count_at_any_time():
    def made():
        return Dataset.range(5).map(logging([]))

    ds = made()
    assert list(ds) == list(range(5))
    assert ds.fingerprint() == made().fingerprint()
    assert ds.fingerprint() != Dataset.range(5).map(logging([1])).fingerprint()


def test_changes_before_a_dataset_was_made_count_for_that_dataset():
    settings = [1, 2]

    def scaled(x):
        return x * settings[-1]

    ds = Dataset.range(5).map(scaled)
    it = ds.iterator()
    assert next(it) == 0
    settings[-1] = 3  # by the user, not by the function: a position of what was is none of what is
    other = Dataset.range(5).map(scaled).iterator()
    with pytest.raises(CursorError, match="as of the first use of the dataset"):
        other.load_state_dict(it.state_dict())
    settings[-1] = 2
    again = Dataset.range(5).map(scaled).iterator()
    again.load_state_dict(it.state_dict())
    assert list(again) == [2, 4, 6, 8]


class Hidden:
    def __init__(self):
        self._calls = 0

    def __call__(self, x):
        self._calls += 1
        return x


def test_attributes_with_an_underscore_do_not_count():
    function = Hidden()
    it = Dataset.range(5).map(function).iterator()
    assert next(it) == 0
    again = Dataset.range(5).map(function).iterator()
    again.load_state_dict(it.state_dict())
    assert list(again) == [1, 2, 3, 4]


def test_states_of_shards_with_a_log_load_into_other_shards():
    def of_rank(rank, ranks):
        stream = Dataset.range(60).filter(bool).shard(ranks, rank, streams=4)
        return stream.map(logging([])).batch(8 // ranks).iterator()

    before = [of_rank(rank, 2) for rank in range(2)]
    received = np.concatenate([next(it) for it in before])
    after = of_rank(0, 1)
    after.load_state_dict([it.state_dict() for it in before])
    rest = np.concatenate(list(after))
    assert sorted([*received.tolist(), *rest.tolist()]) == list(range(1, 60))


def test_a_form_is_that_of_the_plan_as_it_is_run():
    ds = Dataset.range(9).filter(bool)
    assert form(ds._plan) == form(Dataset.range(9).filter(bool)._plan)
    assert form(ds._plan) != form(ds.skip(0)._plan)


@pytest.mark.parametrize(
    "change",
    [
        lambda ds, budget, path: ds.map(squared, on_error=ps.on_error.skip(budget, quarantine=path)),
        lambda ds, budget, path: ds.map(squared, on_error=ps.on_error.replace(0, budget, quarantine=path)),
        lambda ds, budget, path: ds.ignore_errors(budget=budget, quarantine=path, log_warning=budget == 3),
    ],
    ids=["skip", "replace", "ignore"],
)
def test_a_form_ignores_error_budgets_and_quarantine_files(change):
    ds = Dataset.range(9)
    assert form(change(ds, 3, None)._plan) == form(change(ds, 4, "here.jsonl")._plan)
    assert form(change(ds, 3, None)._plan) != form(ds.filter(bool)._plan)


def test_a_form_ignores_settings_of_a_run():
    ds = Dataset.range(9).filter(bool)
    assert form(ds.prefetch(3)._plan) == form(ds.with_options(Options(workers=2))._plan) == form(ds._plan)


def test_forms_differ_if_marks_differ():
    ds = Dataset.range(9).filter(bool).with_options(Options(ignore_lint="all"))
    batches = ds.batch(2)
    several = (ds, batches, batches.rebatch([2, 1]), batches.rebatch(3), ds.take(2), ds.take(3), ds.shuffle(5))
    assert len({form(each._plan) for each in several}) == len(several)


def test_the_form_includes_the_parts_of_virtual_streams():
    def run(ds):
        return form(rewritten(ds.shard(2, 0, streams=4)._plan).plan)

    stream = Dataset.range(20).filter(bool)
    assert run(stream.batch(2)) == run(Dataset.range(30).filter(int).batch(2))
    assert run(stream.batch(2)) != run(stream.batch(3))
    assert run(stream.take(8)) != run(stream)
