"""Exactly the failing elements are left out, from every kind of input: compared with plain Python."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock import Dataset, Options
from penstock.core.errors import FailuresError, PlanError
from penstock.testing.laws import verify_resume
from tests.draws import draws

WAYS = [Options(executor="inline"), Options(executor="threads", workers=2), Options()]


@dataclass(frozen=True)
class Fails:
    """Add a number; fail on one in `every` numbers, or on batches whose sum is one of them."""

    every: int
    rest: int

    def __call__(self, x):
        if int(np.sum(x)) % self.every == self.rest % self.every:
            raise LookupError("one of some")
        return x + 3


@dataclass(frozen=True)
class FailsByChance(Fails):
    """A failing function whose failures and summands are random."""

    def __call__(self, x, *, rng):
        drawn = int(rng.integers(0, 5))
        if drawn == self.rest % 5 or int(np.sum(x)) % self.every == self.rest % self.every:
            raise LookupError("one of some")
        return x + 2 + drawn


@dataclass(frozen=True)
class Marks:
    """A function that marks failing elements with a negative number instead of raising, and keeps marks."""

    function: Fails

    def __call__(self, x, *, rng):
        marked = np.array([-1]) if np.ndim(x) else -1
        if np.min(x) < 0:
            return marked
        try:
            return self.function(x, rng=rng)
        except LookupError:
            return marked


def is_no_multiple_of_three(x):
    return x % 3 > 0


def some(x):
    return [x] * (int(x) % 3)


# A step: its name and a number. Those in ORDERED take elements in order, so errors below them are not ignored above.

FAILING = st.tuples(st.sampled_from(["map", "map", "map of batches"]), st.integers(0, 9))
HARMLESS = st.tuples(st.sampled_from(["filter", "expand", "expand", "take", "batch", "flat_map"]), st.integers(1, 4))
STEPS = st.lists(FAILING | HARMLESS, max_size=6).map(lambda steps: [*steps, ("map", 4)])
ORDERED = ("map of batches", "take", "batch", "flat_map")


def last_ordered(steps):
    return max((at for at, (name, _) in enumerate(steps) if name in ORDERED), default=-1)


def pipeline(steps, *, on_error):
    """The dataset: where nothing above ignores what fails, `on_error` does."""
    ds: Dataset[Any] = Dataset.range(30).filter(lambda x: True)
    last = last_ordered(steps)
    for at, (name, n) in enumerate(steps):
        below = {"on_error": on_error} if at < last else {}
        match name:
            case "map":
                ds = ds.map(Fails(2 + n % 5, n), **below)
            case "map of batches":
                ds = ds.batch(1 + n % 4).map(Fails(3, n), **below).unbatch()
            case "filter":
                ds = ds.filter(is_no_multiple_of_three)
            case "expand":
                ds = ds.expand(n)
            case "take":
                ds = ds.take(9 * n)
            case "batch":
                ds = ds.batch(n).unbatch()
            case _:
                ds = ds.flat_map(some)
    return ds


def expected(steps, *, instead=None):
    """Return the elements from plain Python, and the number failed above the last operation that needs an order."""
    elements: list[Any] = list(range(30))
    last, failed = last_ordered(steps), 0
    for at, (name, n) in enumerate(steps):
        made: list[Any] = []
        if name in ("map", "map of batches"):
            size = 1 if name == "map" else 1 + n % 4
            function = Fails(2 + n % 5, n) if name == "map" else Fails(3, n)
            for low in range(0, len(elements), size):
                try:
                    made += (function(np.array(elements[low : low + size]))).tolist()
                except LookupError:
                    failed += at >= last
                    if at < last and instead is not None:
                        made += [instead] if name == "map" else [instead, instead]
        elif name == "filter":
            made = [x for x in elements if x % 3]
        elif name == "expand":
            made = [x for x in elements for _ in range(n)]
        elif name == "take":
            made = elements[: 9 * n]
        elif name == "flat_map":
            made = [y for x in elements for y in some(x)]
        else:
            made = elements
        elements = made
    return elements, failed


@given(STEPS, st.sampled_from(WAYS))
@settings(max_examples=draws(45))
def test_exactly_the_failed_elements_are_left_out(steps, options):
    elements, failed = expected(steps)
    ds = pipeline(steps, on_error="skip").with_options(options)
    it = ds.ignore_errors().iterator()
    assert [int(x) for x in it] == elements
    assert it.stats().operations[-1].failed == failed
    assert all(operation.wall >= 0 for operation in it.stats().operations)
    assert [int(x) for x in ds.ignore_errors(budget=failed)] == elements
    if failed:
        with pytest.raises(FailuresError, match=rf"{failed} of \d+ elements failed"):
            list(ds.ignore_errors(budget=failed - 1))


@given(st.lists(FAILING.filter(lambda step: step[0] == "map") | HARMLESS, max_size=6), st.sampled_from(WAYS))
@settings(max_examples=draws(25))
def test_exactly_the_failed_elements_are_replaced(steps, options):
    steps = [*steps, ("map", 4)]
    ds = pipeline(steps, on_error=ps.on_error.replace(7, budget=999)).with_options(options)
    assert [int(x) for x in ds.ignore_errors()] == expected(steps, instead=7)[0]


@given(STEPS)
@settings(max_examples=draws(12))
def test_a_restore_loses_no_other_element(steps):
    ds = pipeline(steps, on_error=ps.on_error.skip(999))
    verify_resume(ds.ignore_errors(), most=12)
    verify_resume(ds.ignore_errors(budget=999).batch(3), most=12, options=WAYS[1])


@given(st.lists(st.integers(0, 9), min_size=1, max_size=3), st.integers(1, 3), st.sampled_from(WAYS))
@settings(max_examples=draws(25))
def test_draws_of_other_elements_are_unchanged(numbers, copies, options):
    def run(change):
        ds: Dataset[Any] = Dataset.range(40).filter(lambda x: True)
        for n in numbers:
            ds = ds.batch(2).map(change(FailsByChance(9, n))).unbatch() if n % 3 == 0 else ds
            ds = ds.expand(copies).map(change(FailsByChance(4, n)))
        return ds.with_options(options).with_options(Options(seed=3))

    last = max((at for at, n in enumerate(numbers) if n % 3 == 0), default=0)
    numbers = numbers[last:]  # what fails below the last batch ends the stream
    ignored = run(lambda function: function).ignore_errors()
    marked = run(Marks)
    assert [int(x) for x in ignored] == [int(x) for x in marked if x >= 0]


@pytest.mark.parametrize("options", WAYS)
def test_few_failures_lose_few_elements(options):
    streams = (
        Dataset.range(200).filter(lambda x: True).batch(100).unbatch(),
        Dataset.range(200).filter(lambda x: True).batch(100).map(np.sort).unbatch(),
        Dataset.range(200).batch(100).map(np.sort).unbatch(),
        Dataset.from_generator(lambda: iter(range(200))).batch(100).unbatch(),
        Dataset.from_generator(lambda: iter(range(200))).expand(1),
    )
    for ds in streams:
        ignored = ds.map(lambda x: 1 // (x - 150)).ignore_errors().with_options(options)
        assert len(list(islice(ignored, 300))) == 199


def test_the_spec_is_that_of_the_first_sound_element():
    ds = Dataset.range(4).map(lambda x: np.full(2, 6 // x)).ignore_errors()
    assert repr(ds.element_spec) == "int64[2]"
    assert repr(ds.batch(2).element_spec) == "int64[?, 2]"
    with pytest.raises(PlanError, match="no element to take the spec from"):
        _ = Dataset.range(4).map(lambda x: np.full(2, 6 // (x - x))).ignore_errors().element_spec
