"""A dry run makes one element of every operation, be it indexed, elementwise or a stream."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from penstock import Dataset
from penstock.dryrun import dry_run
from penstock.dryrun.dry_run import DryRun
from penstock.elements.spec import ArraySpec
from penstock.rewrite.seeds import bind_seeds
from penstock.testing.plans import datasets
from tests.draws import draws

INT = ArraySpec((), np.dtype(np.int64))


def tried(ds, rows=1):
    return DryRun(bind_seeds(ds._plan, 0), rows).stages


@pytest.mark.parametrize(
    "ds",
    [
        Dataset.range(30).map(abs).batch(4),
        Dataset.range(30).filter(lambda x: True).batch(4),
        Dataset.range(30).shuffle().filter(lambda x: True).map(abs).shuffle(5).batch(4),
    ],
)
def test_every_stage_is_made_once_with_all_that_the_last_takes(ds):
    *above, last = tried(ds)
    assert last.made == 1
    assert last.element == ArraySpec((4,), np.dtype(np.int64))
    assert all(stage.made >= 4 for stage in above)
    assert {stage.element for stage in above} == {INT}
    assert all(stage.seconds is not None and stage.seconds >= 0 for stage in (*above, last))


@pytest.mark.parametrize("ds", [Dataset.range(30), Dataset.counter(), Dataset.range(30).filter(bool)])
def test_a_dry_run_makes_the_number_of_rows_asked_for(ds):
    assert [tried(ds, rows)[-1].made for rows in (1, 3)] == [1, 3]


@pytest.mark.parametrize("ds", [Dataset.range(2), Dataset.range(3).filter(bool)])
def test_a_dry_run_ends_with_the_dataset(ds):
    assert tried(ds, 9)[-1].made == 2


@pytest.mark.parametrize("streamed", [False, True])
def test_an_error_belongs_to_the_operation_that_raised_it(streamed):
    source = Dataset.range(8).filter(lambda x: True) if streamed else Dataset.range(8)
    *above, at_fault, after = tried(source.map(lambda x: 6 // (3 - x)).batch(8))
    assert isinstance(at_fault.error, ZeroDivisionError)
    assert [stage.error for stage in (*above, after)] == [None] * (len(above) + 1)
    assert after.made == 0


def test_inputs_of_a_node_with_several_are_one_level_deeper():
    ds = Dataset.zip(Dataset.range(3).skip(1), Dataset.zip(Dataset.range(2), Dataset.range(2))).take(1)
    assert [stage.depth for stage in tried(ds)] == [1, 1, 2, 2, 1, 0, 0]


def test_a_source_ends_early_if_all_its_elements_are_dropped(monkeypatch):
    monkeypatch.setattr(dry_run, "MOST_SOURCE_ELEMENTS", 50)
    source, kept = tried(Dataset.counter().filter(lambda x: x < 0))
    assert (source.made, kept.made) == (50, 0)
    monkeypatch.setattr(dry_run, "LONGEST_DRY_RUN", 0.0)
    source, kept = tried(Dataset.counter().filter(lambda x: x < 0))
    assert (source.made, kept.made) == (1, 0)


def test_an_empty_dataset_is_not_run():
    assert [stage.made for stage in tried(Dataset.range(3).map(abs).take(0))] == [0, 0, 0]


@given(datasets(seeded=False))
@settings(max_examples=draws(40))
def test_a_dry_run_works_on_any_plan(ds):
    stages = tried(ds)
    assert [stage.error for stage in stages] == [None] * len(stages)
    if ds.cardinality() >= 0:
        assert stages[-1].made == min(ds.cardinality(), 1)


def test_datasets_that_are_elements_are_run_too():
    ds = Dataset.range(4).interleave(lambda x: Dataset.range(3).shuffle(), cycle_length=2).batch(2)
    assert [stage.made > 0 for stage in tried(ds)] == [True] * 4
    failing = Dataset.range(4).flat_map(lambda x: Dataset.range(3).map(lambda y: 1 // y))
    assert isinstance(tried(failing)[-1].error, ZeroDivisionError)
    assert [stage.error for stage in tried(failing)[:-1]] == [None, None]


def test_a_dry_run_writes_nothing_to_caches(monkeypatch):
    monkeypatch.setattr(dry_run, "MOST_SOURCE_ELEMENTS", 5)
    cached = Dataset.range(20).filter(lambda x: True).cache()
    *_, kept, _ = tried(cached.filter(lambda x: x < 0))
    assert kept.made == 5
    assert list(cached) == list(range(20))


def test_ignored_failures_are_no_errors_and_the_dry_run_ends(monkeypatch):
    monkeypatch.setattr(dry_run, "MOST_SOURCE_ELEMENTS", 50)
    some = tried(Dataset.range(9).map(lambda x: 6 // x).ignore_errors())
    assert [stage.error for stage in some] == [None] * 3
    assert some[-1].made == 1
    none = tried(Dataset.counter().map(lambda x: 6 // (x - x)).ignore_errors())
    assert (none[0].made, none[-1].made) == (50, 0)


def test_the_time_of_one_operation_is_not_counted_for_another():
    ds = Dataset.range(40).filter(lambda x: True).window(4).map(lambda window: np.zeros(50_000).sum()).batch(2)
    assert all(stage.seconds for stage in tried(ds))
