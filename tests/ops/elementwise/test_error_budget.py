"""Budgets of errors, and the file in which they are written down."""

from __future__ import annotations

import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock import Dataset, ErrorBudget, Options
from penstock.core.errors import FailuresError
from penstock.testing.laws import verify_resume

WAYS = [Options(executor="inline"), Options(executor="threads", workers=2), Options()]


def failing(bad):
    def function(x):
        if x in bad:
            raise LookupError(f"not {x}")
        return x

    return function


def came(ds):
    """Return the elements before the budget was exceeded, and the error if there was one."""
    received = []
    try:
        received.extend(ds)
    except FailuresError as error:
        return received, error
    return received, None


def allowed(bad, budget, count, *, replaced=None):
    """Return the result of `came` computed in plain Python, one element after another."""
    received, failed, run = [], 0, 0
    for x in range(count):
        if x not in bad:
            run = 0
            received.append(x)
            continue
        failed, run = failed + 1, run + 1
        if budget.exceeded(x + 1, failed, run):
            return received, True
        if replaced is not None:
            received.append(replaced)
    return received, bool(budget.exceeded(count, failed, run, ended=True))


BUDGETS = st.builds(
    lambda **limits: ErrorBudget(**limits) if set(limits.values()) != {None} else ErrorBudget(count=3),
    count=st.none() | st.integers(0, 20),
    rate=st.none() | st.sampled_from([0.0, 0.1, 0.5]),
    run=st.none() | st.integers(0, 4),
)


@given(st.sets(st.integers(0, 79)), BUDGETS, st.sampled_from(WAYS))
def test_the_budget_ends_the_epoch_at_the_same_element_for_any_number_of_workers(bad, budget, options):
    wanted, too_many = allowed(bad, budget, 80)
    for ds in (
        Dataset.range(80).map(failing(bad), on_error=ps.on_error.skip(budget)),
        Dataset.range(80).map(failing(bad)).ignore_errors(budget=budget),
        Dataset.range(80).filter(lambda x: failing(bad)(x) > -1, on_error=ps.on_error.skip(budget)),
        Dataset.range(80)
        .batch(1)
        .filter(lambda x: True)
        .unbatch()
        .map(failing(bad), on_error=ps.on_error.skip(budget)),
    ):
        received, error = came(ds.with_options(options))
        assert received == wanted
        assert (error is not None) == too_many


@given(st.sets(st.integers(0, 79)), BUDGETS, st.sampled_from(WAYS))
def test_replaced_elements_count_as_failures(bad, budget, options):
    wanted, too_many = allowed(bad, budget, 80, replaced=-1)
    ds = Dataset.range(80).map(failing(bad), on_error=ps.on_error.replace(-1, budget)).with_options(options)
    received, error = came(ds)
    assert received == wanted
    assert (error is not None) == too_many
    kept = Dataset.range(80).filter(lambda x: failing(bad)(x) > -1, on_error=ps.on_error.replace(True, budget))
    assert came(kept)[0] == list(range(80))[: len(wanted)]


def test_the_error_shows_the_last_and_how_many():
    ds = Dataset.from_source([f"{x}.jpg" for x in range(9)]).enumerate().map(lambda n, name: failing({2, 4, 5, 7})(n))
    with pytest.raises(FailuresError) as caught:
        list(ds.ignore_errors(budget=3))
    text = str(caught.value)
    assert text.startswith("ignore_errors(): 4 of 8 elements failed; at most 3 are allowed. The last:\n")
    assert [line.strip() for line in text.splitlines()[1:]] == [
        f"row {x} (item {x} of list): LookupError: not {x}" for x in (4, 5, 7)
    ]
    assert any("raise LookupError" in note for note in caught.value.__notes__)


def test_every_epoch_has_the_whole_budget():
    ds = Dataset.range(9).map(failing({3, 5}), on_error=ps.on_error.skip(2))
    assert len(list(ds.repeat(3))) == 21
    with pytest.raises(FailuresError):
        list(Dataset.range(9).repeat(2).map(failing({3, 5}), on_error=ps.on_error.skip(2)))


@pytest.mark.parametrize("options", WAYS[:2])
def test_counts_continue_after_a_restore(options):
    bad = {1, 2, 9, 10, 11, 17}
    for number, budget in enumerate((ErrorBudget(count=6), ErrorBudget(run=3), ErrorBudget(rate=0.3))):
        skips, replaces = ps.on_error.skip(budget), ps.on_error.replace(-1, budget)
        for at, on_error in enumerate((skips, replaces)):
            ds = Dataset.range(22).map(failing(bad), on_error=on_error)
            batches = ds.filter(lambda x: x != 4).batch(3).repeat(2)
            verify_resume(batches if (number + at) % 2 else ds, most=18, options=options)


@pytest.mark.parametrize("stop", range(0, 25, 3))
@pytest.mark.parametrize("options", WAYS[:2])
def test_the_budget_ends_the_epoch_at_the_same_element_after_a_restore(stop, options):
    ds = Dataset.range(60).map(failing({1, 2, 9, 22, 40, 41}), on_error=ps.on_error.skip(3)).with_options(options)
    whole, error = came(ds)
    it = ds.iterator()
    first = [next(it) for _ in range(min(len(whole), stop))]
    saved = json.loads(json.dumps(it.state_dict()))
    it.close()
    again = ds.iterator()
    again.load_state_dict(saved)
    rest, again_error = came(again)
    assert first + rest == whole
    assert str(again_error).splitlines()[0] == str(error).splitlines()[0]


def test_a_run_restored_with_a_larger_budget_continues_at_the_last_failure():
    function = failing({1, 2, 9, 22})
    for replaced in (False, True):
        small, large = (ps.on_error.replace(-1, n) if replaced else ps.on_error.skip(n) for n in (2, 9))
        it = iter(Dataset.range(30).map(function, on_error=small))
        received, error = came(it)
        assert error is not None
        again = Dataset.range(30).map(function, on_error=large).iterator()
        again.load_state_dict(json.loads(json.dumps(it.state_dict())))
        assert received + list(again) == list(Dataset.range(30).map(function, on_error=large))


def rows_in(path):
    return [(told["epoch"], told["row"]) for told in map(json.loads, path.read_text().splitlines())]


def test_the_quarantine_file_describes_each_failure(tmp_path):
    path = tmp_path / "bad.jsonl"
    ds = Dataset.from_source(["3", "x", "5", "?"]).map(int, on_error=ps.on_error.skip(quarantine=path))
    assert list(ds) == [3, 5]
    told = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["row"], line["records"], line["error"]) for line in told] == [
        (1, ["item 1 of list"], "ValueError"),
        (3, ["item 3 of list"], "ValueError"),
    ]
    assert "invalid literal" in told[0]["message"]
    assert "invalid literal" in told[0]["traceback"]
    assert told[0]["operation"].startswith("map(int")


def test_the_quarantine_file_names_records_after_a_shuffle_and_a_batch(tmp_path):
    path = tmp_path / "bad.jsonl"
    ds = Dataset.from_source([str(x) for x in range(6)] + ["x"]).shuffle(seed=1).map(int).batch(2)
    assert sum(len(batch) for batch in ds.ignore_errors(quarantine=path)) in (5, 6)
    (told,) = map(json.loads, path.read_text().splitlines())
    assert "item 6 of list" in told["records"]
    assert told["operation"] == "map(int)"


def told_of(ds, path):
    assert len(list(ds.ignore_errors(quarantine=path))) > 100
    lines = map(json.loads, path.read_text().splitlines())
    return [(line["row"], line.get("part"), line["operation"], line["records"]) for line in lines]


def bad_numbers(x):
    return failing({90, 102, 130})(x)


@pytest.mark.parametrize("options", WAYS)
def test_failed_elements_of_batches_are_recorded_separately_with_the_records_of_the_batch(tmp_path, options):
    def fails_if_first(batch):
        bad_numbers(int(batch[0]))
        return batch

    batches = Dataset.range(200).batch(10).map(lambda batch: batch * 1).with_options(options)
    records = {row: [f"the number {x}" for x in range(10 * row, 10 * row + 10)] for row in range(20)}
    operation = "map(bad_numbers)"
    told = told_of(batches.unbatch().filter(lambda x: x % 5 != 3).map(bad_numbers), tmp_path / "one")
    assert told == [(row, [part], operation, records[row]) for row, part in ((9, 0), (10, 2), (13, 0))]
    nested = batches.batch(2).map(lambda batch: batch * 1).unbatch().unbatch().map(bad_numbers)
    assert [line[:2] for line in told_of(nested, tmp_path / "two")] == [(4, [1, 0]), (5, [0, 2]), (6, [1, 0])]
    told = told_of(batches.map(fails_if_first).unbatch().map(bad_numbers), tmp_path / "three")
    assert [line[:2] for line in told] == [(9, None), (10, [2]), (13, None)]
    assert [line[3] for line in told] == [records[9], records[10], records[13]]


@pytest.mark.parametrize("options", WAYS)
def test_failed_elements_unbatched_from_a_generator_are_recorded_by_its_numbers(tmp_path, options):
    numbers = Dataset.from_generator(lambda: iter(range(200))).with_options(options)
    told = told_of(numbers.expand(2).map(bad_numbers), tmp_path / "one")
    assert told == [(x, [part], "map(bad_numbers)", []) for x in (90, 102, 130) for part in (0, 1)]
    told = told_of(numbers.map(bad_numbers).expand(2), tmp_path / "two")
    assert told == [(x, None, "map(bad_numbers)", []) for x in (90, 102, 130)]


def test_the_error_names_the_place_in_the_batch():
    ds = Dataset.range(200).batch(10).map(lambda batch: batch * 1).unbatch().map(bad_numbers)
    with pytest.raises(FailuresError, match=r"element 2 of row 10 .*: LookupError: not 102"):
        list(ds.ignore_errors(budget=1))


@pytest.mark.parametrize("options", WAYS)
def test_resumed_and_later_runs_record_no_failure_twice(tmp_path, options):
    path = tmp_path / "bad.jsonl"
    ds = Dataset.range(40).map(failing({3, 4, 20, 39})).ignore_errors(quarantine=path).with_options(options)
    with ds.iterator(epoch=0) as it:
        for _ in range(9):
            next(it)
        saved = it.state_dict()
    for _ in range(2):
        again = ds.iterator()
        again.load_state_dict(saved)
        assert len(list(again)) == 27
    assert len(list(ds.iterator(epoch=0))) == 36
    assert rows_in(path) == [(0, 3), (0, 4), (0, 20), (0, 39)]
    list(ds.iterator(epoch=1))
    assert rows_in(path)[4:] == [(1, 3), (1, 4), (1, 20), (1, 39)]


def test_the_fingerprint_ignores_the_quarantine_file_and_the_budget(tmp_path):
    ds = Dataset.range(9)
    prints = {
        ds.map(abs, on_error=ps.on_error.skip(budget, quarantine=path)).fingerprint()
        for budget, path in ((3, None), (5, None), (None, tmp_path / "a"), (ErrorBudget(rate=0.1), tmp_path / "b"))
    }
    assert len(prints) == 1
    others = {
        ds.map(abs).fingerprint(),
        ds.map(abs, on_error="skip").fingerprint(),
        ds.map(abs, on_error=ps.on_error.replace(0)).fingerprint(),
        ds.map(abs, on_error=ps.on_error.replace(1)).fingerprint(),
        ds.map(abs, on_error=ps.on_error.replace(0, 3)).fingerprint(),
    }
    assert len(others | prints) == 6


@pytest.mark.parametrize("options", WAYS[:2])
def test_warnings_are_logged_in_order(options, caplog):
    ds = Dataset.range(9).map(failing({2, 7})).ignore_errors(log_warning=True).with_options(options)
    with caplog.at_level(logging.WARNING, "penstock"):
        assert len(list(ds)) == 7
    assert [record.message for record in caplog.records] == [
        f"ignore_errors() left out row {x} (the number {x}): LookupError: not {x}" for x in (2, 7)
    ]


def test_explain_shows_the_budget():
    explained = Dataset.range(3).map(abs, on_error=ps.on_error.skip(ErrorBudget(rate=0.1))).explain()
    assert "errors(of map(abs), budget=ErrorBudget(rate=0.1))" in explained


@pytest.mark.parametrize("ignores", [False, True])
def test_a_state_resumes_with_another_budget_and_quarantine_file(tmp_path, ignores):
    class Noted:
        def __init__(self):
            self._made = []  # an underscore: both datasets have the same function, whatever it has written there

        def __call__(self, x):
            self._made.append(x)
            return failing({1, 2, 9, 12, 40})(x)

    noted = Noted()

    def pipeline(budget, name):
        path = tmp_path / name
        if ignores:
            ds = Dataset.range(60).map(noted).ignore_errors(budget=budget, quarantine=path)
        else:
            ds = Dataset.range(60).map(noted, on_error=ps.on_error.skip(budget, quarantine=path))
        return ds.batch(5).with_options(Options(executor="inline"))

    wanted = [batch.tolist() for batch in pipeline(9, "all.jsonl")]
    it = pipeline(5, "first.jsonl").iterator()
    assert [next(it).tolist() for _ in range(8)] == wanted[:8]
    again = pipeline(8, "second.jsonl").iterator()
    again.load_state_dict(json.loads(json.dumps(it.state_dict())))
    noted._made.clear()
    assert [batch.tolist() for batch in again] == wanted[8:]
    assert min(noted._made) > 12  # the last elements before the state, and none from the beginning on


def kept(ds):
    return ds.filter(lambda x: True)


STREAMS = {
    "take": lambda ds: ds.take(25),
    "skip": lambda ds: ds.skip(2),
    "shard": lambda ds: ds.take(30).shard(1, 0),
    "shuffle": lambda ds: ds.shuffle(7, seed=1),
    "assert_cardinality": lambda ds: ds.assert_cardinality(30),
    "exclude": lambda ds: ds.exclude([0, 4]),
    "repeat": lambda ds: ds.repeat(2),
    "prefetch": lambda ds: ds.prefetch(3),
    "enumerate": lambda ds: ds.enumerate(5).map(lambda at, x: x),
    "scan": lambda ds: ds.scan(0, lambda state, x: (state, x)),
    "take_while": lambda ds: ds.take_while(lambda x: x != "28"),
    "unique": lambda ds: ds.unique(),
    "resample": lambda ds: ds.rejection_resample(lambda x: 0, [1.0]).map(lambda cls, x: x),
    "several": lambda ds: ds.shuffle(5, seed=1).take(28).scan(0, lambda state, x: (state, x)).skip(1).shuffle(9),
    "ignore_errors": lambda ds: ds.take(30).map(failing({"3"})).ignore_errors(budget=5).take(29),
}


@pytest.mark.parametrize("way", STREAMS)
@pytest.mark.parametrize("options", WAYS[:2])
def test_the_quarantine_file_names_records_after_operations_that_fix_the_order(tmp_path, way, options):
    path = tmp_path / "failed.jsonl"
    strings = Dataset.from_source([str(x) for x in range(30)])
    ds = (
        STREAMS[way](kept(strings))
        .map(failing({"5", "17", "20"}), on_error=ps.on_error.skip(999, quarantine=path))
        .with_options(options)
    )
    assert {"5", "17", "20"}.isdisjoint(ds)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert {(line["row"], *line["records"]) for line in lines} == {(x, f"item {x} of list") for x in (5, 17, 20)}
    assert all(line["message"] == f"not {line['row']}" for line in lines)


@pytest.mark.parametrize(
    "change",
    [
        lambda ds: ds.batch(1).unbatch(),
        lambda ds: Dataset.from_source(["a", "b", "c"]).batch(1).filter(lambda batch: True).unbatch(),
        lambda ds: ds.expand(2),
        lambda ds: ds.flat_map(lambda x: [x]),
        lambda ds: Dataset.zip(ds, ds).map(lambda a, b: a),
        lambda ds: ds.concatenate(ds),
    ],
)
def test_no_record_is_named_if_the_row_is_unknown(tmp_path, change):
    path = tmp_path / "failed.jsonl"
    ds = change(kept(Dataset.from_source(["a", "b"]))).map(failing({"a"}), on_error=ps.on_error.skip(quarantine=path))
    assert len(list(ds)) > 0
    assert json.loads(path.read_text().splitlines()[0])["records"] == []


def test_a_failed_element_of_a_generator_is_recorded_by_its_number(tmp_path):
    path = tmp_path / "bad.jsonl"
    ds = Dataset.from_generator(lambda: iter(range(5))).filter(lambda x: x > 0)
    list(ds.map(failing({3}), on_error=ps.on_error.skip(quarantine=path)).repeat(2))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["epoch"], line["row"]) for line in lines] == [(0, 3), (1, 3)]


@pytest.mark.parametrize(
    ("make", "label"),
    [
        (lambda ds: ds.map(str, on_error=ps.on_error.skip(5)), "errors(of map(str), budget=5)"),
        (lambda ds: ds.ignore_errors(log_warning=True), "errors(of ignore_errors(), log_warning=True)"),
        (lambda ds: ds.filter(bool, on_error=ps.on_error.skip(ErrorBudget(run=2))), "budget=ErrorBudget(run=2))"),
    ],
)
def test_tables_name_the_operation_whose_failures_count(make, label):
    it = make(Dataset.range(9)).iterator()
    list(it)
    assert label in str(it.stats())
    assert label in str(make(Dataset.range(9)))
