"""On every way by which an error reaches the user, its notes name the operation, the place and the records, once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

import penstock as ps
from penstock.core.blame import blames_of
from penstock.core.errors import ElementError
from penstock.testing import verify_determinism

NUMBERS = ps.Dataset.range(3, 23)
SEVEN = "made from the number 7"


class RefusedError(Exception):
    pass


def refuse(x):
    if np.any(np.asarray(x) == 7):
        raise RefusedError(x)
    return x


def same(x):
    return refuse(x)


def accept(x):
    refuse(x)
    return True


def one_more(state, x):
    refuse(x)
    return state + 1, x


def total(state, x):
    return state + refuse(x) * 0


def listed(x):
    return [refuse(x)]


def begun(x):
    yield x
    refuse(x)


def nothing(key):
    return 0


def window(key, elements):
    return elements


INDEXED = {
    "map(refuse)": lambda ds: ds.map(refuse),
    "map(refuse, vectorized=False)": lambda ds: ds.map(refuse, vectorized=False).batch(4),
    "map(accept)": lambda ds: ps.Dataset.zip(ds.shuffle(seed=2).map(accept), ds),
}
STREAMED = {
    "filter(accept)": lambda ds: ds.filter(accept),
    "map(same)": lambda ds: ds.filter(bool).map(same),
    "flat_map(listed)": lambda ds: ds.flat_map(listed),
    "flat_map(begun)": lambda ds: ds.flat_map(begun),
    "interleave(listed)": lambda ds: ds.interleave(listed),
    "scan(..., one_more)": lambda ds: ds.scan(0, one_more),
    "take_while(predicate=accept)": lambda ds: ds.take_while(accept),
    "unique(key_func=refuse)": lambda ds: ds.unique(refuse),
    "group_by_window(key_func=refuse)": lambda ds: ds.group_by_window(refuse, window, 2),
    "group_by_reducer(nothing, nothing, total)": lambda ds: ds.group_by_reducer(nothing, nothing, total),
    "rejection_resample(refuse)": lambda ds: ds.rejection_resample(refuse, [1 / 32] * 32, seed=0),
    "batch_by_tokens(element_length_func=refuse)": lambda ds: ds.batch_by_tokens(refuse, 64),
}
EACH = INDEXED | STREAMED
ITERATED = {
    "the whole": list,
    "inline": lambda ds: list(ds.with_options(ps.Options(executor="inline"))),
    "threads": lambda ds: list(ds.with_options(ps.Options(executor="threads", workers=3))),
    "any order": lambda ds: list(ds.with_options(ps.Options(executor="threads", workers=3, deterministic=False))),
    "batches": lambda ds: list(ds.ragged_batch(3)),
    "two steps": lambda ds: list(ds.prefetch(2)),
    "reduce": lambda ds: ds.reduce(0, lambda total, x: total),
    "as PyTorch's": lambda ds: list(ds.to_torch()),
}


@dataclass(frozen=True)
class FrozenError(Exception):
    value: int


class FalsyError(Exception):
    def __len__(self):
        return 0


class ReadOnlyError(Exception):
    def __setattr__(self, name, value):
        raise AttributeError(name)


class UndecidedError(Exception):
    def __bool__(self):
        raise ValueError


ODD = (FrozenError, FalsyError, ReadOnlyError, UndecidedError)
REACHED = {
    **{name: reach for name, reach in ITERATED.items() if name != "as PyTorch's"},
    "rows": lambda ds: [ds[row] for row in range(len(ds))],
    "isolated": lambda ds: list(ds.with_options(ps.Options(isolate=True))),
    "explained": lambda ds: ds.explain(row=4).element,
    "compared": verify_determinism,
}


def told(reach, ds, kind=RefusedError):
    with pytest.raises(kind) as caught:
        reach(ds)
    return caught.value


def assert_says(error, operation, record=SEVEN):
    notes = error.__notes__
    named = [note for note in notes if note.startswith("in ")]
    assert len(named) == 1
    assert named[0].startswith(f"in {operation}, at row ")
    assert [note for note in notes if note.startswith("made from ")][:1] == [record]
    assert len(set(notes)) == len(notes)
    (blame,) = [blame for blame in blames_of(error) if blame.operation]
    assert (blame.operation, blame.place.unit) == (operation, "row")
    assert blame.records.first[0] in record


@pytest.mark.parametrize("way", ITERATED)
@pytest.mark.parametrize(("operation", "make"), EACH.items(), ids=EACH)
def test_iterating_shows_the_notes(operation, make, way):
    if way == "as PyTorch's":
        pytest.importorskip("torch")
    assert_says(told(ITERATED[way], make(NUMBERS)), operation)


def raising(kind, x):
    if x == 7:
        raise kind(7)
    return x


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("way", REACHED)
def test_odd_exceptions_arrive_as_they_are(kind, way):
    told(REACHED[way], NUMBERS.map(partial(raising, kind)), kind)


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("name", ["processes", "worker_processes"])
def test_odd_exceptions_of_other_processes_arrive_as_they_are(kind, name, request):
    executor = request.getfixturevalue(name)
    workers = 2 if executor == "processes" else None
    ds = NUMBERS.map(partial(raising, kind))
    told(list, ds.with_options(ps.Options(executor=executor, workers=workers)), kind)


@pytest.mark.parametrize("kind", ODD)
def test_check_and_writers_keep_odd_exceptions(kind, tmp_path):
    ds = ps.Dataset.range(7, 12).map(partial(raising, kind))
    assert [type(each.error) for each in ds.check().operations] == [type(None), kind]
    told(lambda ds: ds.save(tmp_path / "saved"), ds, kind)


@pytest.mark.parametrize("name", ["processes", "worker_processes"])
@pytest.mark.parametrize(("operation", "make"), EACH.items(), ids=EACH)
def test_errors_of_other_processes_have_the_notes(operation, make, name, request):
    executor = request.getfixturevalue(name)
    workers = 2 if executor == "processes" else None
    error = told(list, make(NUMBERS).with_options(ps.Options(executor=executor, workers=workers)))
    assert_says(error, operation)


@pytest.mark.parametrize(("operation", "make"), INDEXED.items(), ids=INDEXED)
def test_rows_and_slices_show_the_notes(operation, make):
    assert_says(told(lambda ds: [ds[row] for row in range(len(ds))], make(NUMBERS)), operation)
    assert_says(told(lambda ds: list(ds[::2]) + list(ds[1::2]), make(NUMBERS)), operation)


@pytest.mark.parametrize("operation", [name for name in EACH if name not in ("map(accept)", "flat_map(begun)")])
def test_check_shows_the_notes(operation):
    check = EACH[operation](ps.Dataset.range(7, 12)).check()
    (error,) = [stage.error for stage in check.operations if stage.error is not None]
    assert_says(error, operation)
    assert "(at row 0" in str(check)


@pytest.mark.parametrize("operation", ["map(refuse)", "map(same)", "scan(..., one_more)", "flat_map(listed)"])
def test_element_spec_shows_the_notes(operation):
    assert_says(told(lambda ds: ds.element_spec, EACH[operation](ps.Dataset.range(7, 12))), operation)


@pytest.mark.parametrize(("operation", "make"), EACH.items(), ids=EACH)
def test_writers_show_the_notes(operation, make, tmp_path):
    assert_says(told(lambda ds: ds.save(tmp_path / "saved"), make(NUMBERS)), operation)
    records = make(NUMBERS).map(lambda *x: b"", vectorized=False)
    assert_says(told(lambda ds: ds.write_tfrecord(tmp_path / "a.tfrecord"), records), operation)


@pytest.mark.parametrize("operation", ["map(refuse)", "map(accept)", "map(same)", "filter(accept)"])
def test_recorded_failures_name_the_operation_and_the_record(operation, tmp_path):
    path = tmp_path / "bad.jsonl"
    list(EACH[operation](NUMBERS).ignore_errors(quarantine=path))
    (failure,) = [json.loads(line) for line in path.read_text().splitlines()]
    assert failure["operation"] == operation
    assert "the number 7" in failure["records"]
    assert f"in {operation}, at row " in failure["traceback"]


@pytest.mark.parametrize("streamed", [False, True])
def test_errors_of_a_dataset_inside_a_generator_name_both_once(streamed):
    inner = NUMBERS.filter(bool).map(refuse) if streamed else NUMBERS.map(refuse)

    def numbers():
        yield from inner

    ds = ps.Dataset.from_generator(numbers).map(lambda x: x)
    notes = told(list, ds).__notes__
    of_inner, of_outer = [at for at, note in enumerate(notes) if note.startswith("while making element 4")]
    assert notes[0].startswith("in map(refuse), at row 4")
    assert notes[1] == SEVEN
    assert notes[of_inner + 1 : of_outer] == ["in from_generator(numbers), at element 4"]


def test_the_row_of_an_inner_dataset_is_named_before_the_outer_row():
    inner = NUMBERS.map(refuse)
    error = told(list, ps.Dataset.range(100, 103).map(lambda x: inner[int(x) - 98]))
    assert error.__notes__[:4] == [
        "in map(refuse), at row 4",
        SEVEN,
        "in map(lambda), at row 2",
        "made from the number 102",
    ]
    assert len(error.__notes__) == 5


def test_errors_in_keys_of_split_and_in_choices_show_the_notes():
    parts = NUMBERS.split({"a": 0.5, "b": 0.5}, key_func=refuse)
    notes = told(len, parts["a"]).__notes__
    assert notes == ["in split(key_func=refuse), at row 4"]
    with pytest.raises(RefusedError) as caught:
        ps.Dataset.choose_from_datasets([NUMBERS, NUMBERS], ps.Dataset.range(5, 9).map(refuse))
    assert_says(caught.value, "map(refuse)")
    streams = [ps.Dataset.range(5, 9).filter(accept), NUMBERS.filter(bool)]
    with pytest.raises(RefusedError) as caught:
        ps.Dataset.sample_from_datasets(streams, seed=0, stop="all").draw_counts(20)
    assert_says(caught.value, blames_of(caught.value)[0].operation)


def test_elements_that_do_not_fit_are_named_by_their_records_everywhere():
    uneven = NUMBERS.map(lambda x: np.zeros(1 + int(x == 7)), vectorized=False)
    rows = ["row 4 is made from the number 7", "row 5 is made from the number 8"]
    for reach in (list, lambda ds: ds[2], lambda ds: ds.reduce(0, lambda total, x: total)):
        notes = told(reach, uneven.batch(2), ElementError).__notes__
        assert notes[:2] == rows
        assert len(set(notes)) == len(notes)
    streamed = told(list, uneven.filter(lambda x: True).batch(2), ElementError).__notes__
    assert streamed[:3] == [*rows, "in batch(2), at element 2"]


def three(x):
    yield from range(int(x), int(x) + 3)


@pytest.mark.parametrize("forgives", [False, True])
@pytest.mark.parametrize("name", ["processes", "worker_processes"])
@pytest.mark.parametrize("call", ["flat_map", "interleave"])
def test_other_processes_make_the_elements_of_generators(call, name, forgives, request):
    executor = request.getfixturevalue(name)
    options = ps.Options(executor=executor, workers=2 if executor == "processes" else None)
    more = {"on_error": "skip"} if forgives else {}
    for function in (three, lambda x: iter([x, x])):
        ds = getattr(ps.Dataset.range(90).map(abs), call)(function, **more)
        assert list(ds.with_options(options)) == list(ds.with_options(ps.Options(executor="inline")))
