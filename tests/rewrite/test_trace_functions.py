"""The rule that has a function of NumPy arithmetic run on columns."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset, Options, image
from penstock.core.errors import ElementError, FailuresError
from penstock.elements.chunks.chunk import Columns
from penstock.elements.nested.structure import flatten
from penstock.elements.spec import ArraySpec
from penstock.ops.elementwise.comparing import FIRST
from penstock.ops.elementwise.map import Map
from penstock.plan.graph import post_order
from penstock.rewrite.passes import rewritten
from penstock.rewrite.trace_functions import trace_map
from penstock.testing.laws import verify_determinism, verify_resume

DIGITS = {"image": np.arange(48, dtype=np.uint8).reshape(4, 3, 4), "label": np.arange(4)}


def normalised(d):
    return {"image": d["image"].astype(np.float32) / 255, "label": d["label"]}


def maps(ds):
    return [node for node in post_order(rewritten(ds._plan).plan) if isinstance(node, Map)]


def test_both_sides_yield_the_same_elements():
    ds = Dataset.from_tensor_slices(DIGITS).map(normalised).map(lambda x: x[:2].mean(axis=0), on="image").batch(3)
    verify_determinism(ds)
    verify_resume(ds)


def test_specs_are_known_from_one_map_to_the_next():
    ds = Dataset.from_tensor_slices(DIGITS).map(normalised).shuffle().map(lambda x: x.sum(), on="image")
    made = [node.function.made for node in maps(ds)]
    assert made[0]["image"] == ArraySpec((3, 4), np.float32)
    assert made[1] == ArraySpec((), np.float32)


def test_rows_are_numbered_as_in_the_plan_as_written():
    ds = Dataset.from_tensor_slices(np.arange(24).reshape(4, 2, 3)).map(lambda x: x * 2).unbatch()
    ds = ds.map(lambda x, rng: x + rng.random()).with_options(Options(seed=0))
    run = rewritten(ds._plan).plan
    assert (run.indexed, run.length) == (ds._plan.indexed, ds._plan.length)
    verify_determinism(ds)


def test_explain_shows_traced_functions():
    text = Dataset.range(4).map(lambda x: x + 1).batch(2).explain()
    assert "map(lambda, traced)" in text
    assert "rewrites: trace_map" in text


@pytest.mark.parametrize(
    "ds",
    [
        Dataset.range(4),
        Dataset.range(4).map(lambda x: x + 1, vectorized=False),
        Dataset.range(4).map(lambda x: x + 1, vectorized=True),
        Dataset.range(4).map(lambda x, rng: x + 1),
        Dataset.range(4).map(lambda x: x if x else 0),
        Dataset.from_source([1, 2]).map(lambda x: x + 1),
        Dataset.from_tensor_slices(DIGITS).map(image.random_flip(), on="image"),
        Dataset.range(4).batch(2),
    ],
)
def test_other_operations_are_unchanged(ds):
    assert trace_map(ds._plan) is None


def test_elements_without_columns_are_made_one_by_one_and_explain_shows_it():
    generated = Dataset.from_generator(lambda: map(float, range(9)), output_signature=ArraySpec((), np.dtype(float)))
    for ds in (generated, generated.filter(bool).take(5), Dataset.from_tensors(1.5).repeat(3)):
        assert "traced" not in ds.map(lambda x: x * 2).filter(lambda x: x > 1).explain()
    assert "traced" in generated.batch(3, drop_remainder=True).map(lambda x: x * 2).explain()
    assert list(generated.map(lambda x: x * 2).take(3)) == [0.0, 2.0, 4.0]


def test_explain_shows_vectorized_false():
    ds = Dataset.range(4).map(abs, vectorized=False)
    assert "map(abs, vectorized=False)" in ds.explain()
    assert "traced" not in ds.explain()


def test_how_it_is_run_does_not_count_in_the_fingerprint():
    prints = {Dataset.range(4).map(abs, vectorized=how).fingerprint() for how in (None, False)}
    assert len(prints) == 1
    assert Dataset.range(4).map(abs, vectorized=True).fingerprint() not in prints


def test_without_rewrites_no_function_is_traced():
    ds = Dataset.range(3).map(lambda x: x + 1).with_options(Options(rewrite=False))
    assert "traced" not in ds.explain()
    assert list(ds) == [1, 2, 3]


def test_errors_are_those_of_the_function_and_name_the_row():
    ds = Dataset.from_tensor_slices([4, 2, 0, 1]).map(lambda x: 8 // x).batch(4)
    assert "traced" in ds.explain()
    with pytest.raises(ZeroDivisionError) as caught:
        list(ds)
    notes = "\n".join(caught.value.__notes__)
    assert "in map(lambda), at row 2" in notes


def test_a_row_that_does_not_fit_columns_is_made_alone():
    huge = np.array([1, 2**62, 3])
    assert list(Dataset.from_tensor_slices(huge).map(lambda x: x * 4)) == [4, 2**64, 12]


def test_the_next_function_gets_the_same_elements():
    types = Dataset.range(3).map(lambda x: (np.sqrt(x), x / 2, np.float32(x))).map(lambda *x: str([type(y) for y in x]))
    assert list(types) == [str([np.float64, float, np.float32])] * 3


def test_the_function_is_called_for_the_first_elements_only(monkeypatch):
    calls = []

    def counted(x):
        return x + 1

    ds = Dataset.range(1000).map(counted).batch(10).with_options(Options(executor="inline"))
    plan = rewritten(ds._plan).plan
    (node,) = [each for each in post_order(plan) if isinstance(each, Map)]
    inner = node.function.function
    object.__setattr__(node.function, "function", lambda x: calls.append(x) or inner(x))
    program = node.program((lambda rows, out=None: Dataset.range(1000)._plan.source.read_many(rows),), np.empty)
    for low in range(0, 1000, 10):
        assert program(np.arange(low, low + 10)).elements() == list(range(low + 1, low + 11))
    assert calls == list(range(FIRST))


def test_threads_run_one_program():
    ds = Dataset.range(2000).map(lambda x: {"x": x * 2, "thread": 0}).batch(50)
    made = list(ds.with_options(Options(executor="threads", workers=4)))
    assert np.concatenate([batch["x"] for batch in made]).tolist() == list(range(0, 4000, 2))
    assert threading.active_count() >= 1


def test_failed_elements_are_skipped_as_without_tracing():
    def divided(x):
        return 12 // x

    ds = Dataset.range(5).map(divided, on_error="skip")
    assert list(ds) == [12, 6, 4, 3]
    assert list(ds) == list(Dataset.range(5).map(divided, on_error="skip", vectorized=False))


@pytest.mark.parametrize("kind", ["skip", "replace"])
def test_errors_are_counted_and_reported_for_each_element(kind, tmp_path):
    def made(name, **how):
        path = tmp_path / name
        on_error = (
            ps.on_error.skip(2, quarantine=path) if kind == "skip" else ps.on_error.replace(-1, 2, quarantine=path)
        )
        ds = Dataset.range(-20, 20).map(lambda x: 12 // (x % 20), on_error=on_error).with_options(Options(**how))
        return list(ds), [json.loads(line) for line in path.read_text().splitlines()]

    with_columns = made("a")
    assert with_columns == made("b", rewrite=False)
    assert [line["row"] for line in with_columns[1]] == [0, 20]
    assert len(with_columns[0]) == (38 if kind == "skip" else 40)


def test_the_budget_of_errors_is_that_of_elements():
    for how in (None, False):
        ds = Dataset.range(100).map(lambda x: 12 // (x % 10), on_error=ps.on_error.skip(4), vectorized=how)
        with pytest.raises(FailuresError):
            list(ds)


@pytest.mark.parametrize(
    "ds",
    [
        Dataset.range(3).map(lambda x: {"a": x}).map(lambda x: x + 1, on="b"),
        Dataset.range(3).map(lambda x: (x, x)).map(lambda x: x + 1, on=2),
        Dataset.range(3).map(lambda x: {"a": x}).map(image.random_flip(), on="a").map(lambda d: d["a"] + 1),
        Dataset.range(3).map(lambda x: x + 1).unbatch().map(lambda x: x + 1),
    ],
)
def test_errors_of_broadcasting_name_an_element(ds):
    ds.explain()
    told = []
    for how in (True, False):
        with pytest.raises((ValueError, TypeError)) as caught:
            list(ds.with_options(Options(rewrite=how, seed=0)))
        notes = [note.replace(", traced", "") for note in caught.value.__notes__]
        told.append((type(caught.value), str(caught.value).partition(" in an element")[0], notes))
    assert told[0] == told[1]


def test_failed_predicates_follow_on_error():
    for on_error, kept in (
        ("skip", [0, 1, 4, 5]),
        (ps.on_error.replace(True), [0, 1, 3, 4, 5]),
        (ps.on_error.replace(False), [0, 1, 4, 5]),
    ):
        for how in (None, False):
            ds = Dataset.range(6).filter(lambda x: 6 // (x - 3) != -6, on_error=on_error, vectorized=how)
            assert ("traced" in ds.explain()) is (how is None)
            assert list(ds) == kept


@pytest.mark.parametrize(
    "predicate",
    [
        lambda x: x % 3 == 1,
        lambda x: np.sin(x) > 0,
        lambda x: True,
        lambda x: np.bool_(False),
        lambda x: (x * np.arange(3)).sum() < 100,
        lambda x: bool(x),
    ],
)
def test_predicates_are_traced_if_they_return_one_bool(predicate):
    ds = Dataset.range(1000).filter(predicate)
    assert list(ds) == [x for x in range(1000) if predicate(x)]
    assert list(ds.map(type)) == [int] * len(list(ds))


@pytest.mark.parametrize("predicate", [lambda x: x, lambda x: np.arange(3) > x, lambda x: (x > 1,), lambda x: x * 0.5])
def test_other_results_of_predicates_are_refused_as_without_tracing(predicate):
    ds = Dataset.range(3).filter(predicate)
    assert "traced" not in ds.explain()
    with pytest.raises(ElementError, match="return True or False"):
        list(ds)


def test_predicates_raise_at_their_element():
    ds = Dataset.range(5).filter(lambda x: 6 // (x - 3) > 0)
    assert "traced" in ds.explain()
    with pytest.raises(ZeroDivisionError) as caught:
        list(ds)
    assert "in filter(lambda)" in "\n".join(caught.value.__notes__)


def test_columns_are_kept_up_to_the_batch(monkeypatch):
    ds = Dataset.range(3000).map(lambda x: x + 1).filter(lambda x: x % 2 == 0).map(lambda x: x * 0.5).batch(100)
    ds = ds.with_options(Options(executor="inline"))
    calls, elements = [], Columns.elements
    monkeypatch.setattr(Columns, "elements", lambda chunk: calls.append(len(chunk)) or elements(chunk))
    made = np.concatenate(list(ds))
    assert made.tolist() == [float(x) for x in range(1, 1501)]
    assert sum(calls) < 1500  # by each of three functions the first few of 3,000 or 1,500, more in small pieces


REDUCED = {
    "sum": lambda b: b.sum(),
    "mean": lambda b: b.mean(),
    "item": lambda b: b[0],
    "argmax": lambda b: b.argmax(),
    "difference": lambda b: b[1] - b[0],
    "product": lambda b: 1.0 * b.sum(),
    "truth": lambda b: (b > 3).any(),
    "dict": lambda b: {"all": b, "sum": b.sum(), "two": (b.max(), 3)},
    "tuple": lambda b: (b.std(), b),
}


@pytest.mark.parametrize("function", REDUCED.values(), ids=REDUCED)
@pytest.mark.parametrize("executor", ["inline", "threads"])
def test_numbers_of_batches_have_the_type_that_the_function_returns(function, executor):
    ds = Dataset.range(40).batch(5).map(function).with_options(Options(executor=executor))
    assert "traced" in ds.explain()
    wanted = {repr(types_in(function(np.arange(5))))}
    for _ in range(3):
        assert {repr(types_in(element)) for element in ds} == wanted
    assert repr(types_in(ds[0])) in wanted
    (stacked,) = Dataset.range(40).batch(5).map(lambda b: b.sum()).batch(8)
    assert stacked.tolist() == list(range(10, 200, 25))


def types_in(element):
    leaves, structure = flatten(element)
    return structure, list(map(type, leaves))


def test_elements_of_a_stream_are_made_in_columns_too():
    ds = Dataset.range(10).filter(lambda x: x % 2 == 0).map(lambda x: x * 0.5)
    assert "traced" in ds.explain()
    assert list(ds) == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_changes_of_globals_between_epochs_are_detected():
    settings = {"scale": 2}
    ds = Dataset.range(3).map(lambda x: x * settings["scale"])
    assert list(ds) == [0, 2, 4]
    settings["scale"] = 3
    assert list(ds) == [0, 3, 6]
    assert ps.Options is Options
