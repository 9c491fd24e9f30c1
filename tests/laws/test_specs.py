"""Every element matches `element_spec`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import Dataset, Options
from penstock.core.errors import ElementError, PlanError
from penstock.elements.spec import ArraySpec, compatible, spec_of
from tests.draws import draws

INT = np.dtype(np.int64)
FLOAT = np.dtype(np.float32)


def as_float(x):
    return np.float32(x) if np.ndim(x) == 0 else np.asarray(x, np.float32)


def pair(x):
    return {"x": x, "twice": x + x}


def first_of(x):
    return x["x"] if isinstance(x, dict) else x


STEPS = {
    "map": lambda ds, n: ds.map(as_float),
    "filter": lambda ds, n: ds.filter(lambda x: True),
    "batch": lambda ds, n: ds.batch(n),
    "batch, whole": lambda ds, n: ds.batch(n, drop_remainder=True),
    "rebatch": lambda ds, n: ds.rebatch([n, n]),
    "rebatch unevenly": lambda ds, n: ds.rebatch([n, n + 1]),
    "unbatch": lambda ds, n: ds.unbatch(),
    "take": lambda ds, n: ds.take(3 * n),
    "skip": lambda ds, n: ds.skip(n),
    "repeat": lambda ds, n: ds.repeat(2),
    "prefetch": lambda ds, n: ds.prefetch(n),
    "shuffle": lambda ds, n: ds.shuffle(4 + n, seed=n),
    "options": lambda ds, n: ds.with_options(Options(seed=n)),
    "cache": lambda ds, n: ds.cache(),
    "concatenate": lambda ds, n: ds.concatenate(ds.skip(n)),
    "expand": lambda ds, n: ds.expand(2),
    "shard": lambda ds, n: ds.shard(2, n % 2),
    "pairs": lambda ds, n: ds.map(pair).map(first_of),
    "zip": lambda ds, n: Dataset.zip(ds, ds).map(lambda x, y: x),
}
BATCHES = ("batch", "batch, whole")


@st.composite
def pipelines(draw):
    ds, depth = Dataset.range(draw(st.integers(5, 20))), 0
    for name in draw(st.lists(st.sampled_from(list(STEPS)), max_size=6)):
        if depth == 0 and ("rebatch" in name or name == "unbatch"):
            continue
        if depth == 2 and name in BATCHES:
            continue
        depth += (name in BATCHES) - (name == "unbatch")
        ds = STEPS[name](ds, draw(st.integers(1, 4)))
    return ds.with_options(Options(ignore_lint="all", executor="inline"))


@given(pipelines())
@settings(max_examples=draws(150))
def test_every_element_fits_its_spec(ds):
    try:
        elements = list(ds)
    except ElementError:  # batches of several sizes do not stack
        return
    try:
        spec = ds.element_spec
    except PlanError:
        assert not elements
        return
    for element in elements:
        assert compatible(spec_of(element), spec), (spec_of(element), spec)


@pytest.mark.parametrize("name", ["take", "repeat", "prefetch", "options", "shuffle", "cache", "skip", "filter", "map"])
@pytest.mark.parametrize("begin", [lambda: Dataset.range(10), lambda: Dataset.range(10).map(as_float)])
def test_the_size_of_batches_with_a_shorter_last_one_is_unknown(name, begin):
    ds = STEPS[name](begin().batch(4), 1).with_options(Options(ignore_lint="all"))
    assert ds.element_spec.shape == (None,)
    assert {len(batch) for batch in ds} <= {4, 2}
    whole = STEPS[name](begin().batch(4, drop_remainder=True), 1).with_options(Options(ignore_lint="all"))
    assert whole.element_spec.shape == (4,)


def test_a_rebatch_of_one_size_has_a_known_size_if_all_are_full():
    batches = Dataset.range(8).batch(4)
    assert batches.rebatch([2, 2]).element_spec == ArraySpec((2,), INT)
    assert batches.rebatch(2).element_spec == ArraySpec((2,), INT)
    assert batches.rebatch([3, 3]).element_spec == ArraySpec((None,), INT)
    assert batches.rebatch([3, 3], drop_remainder=True).element_spec == ArraySpec((3,), INT)
    assert batches.rebatch([2, 3], drop_remainder=True).element_spec == ArraySpec((None,), INT)
    assert batches.map(as_float).rebatch([3, 3], drop_remainder=True).element_spec == ArraySpec((3,), FLOAT)


def test_other_sizes_stay_known():
    images = Dataset.range(10).map(lambda x: np.zeros((8, 3), np.float32)).batch(4)
    assert images.map(lambda batch: batch + 1).element_spec == ArraySpec((None, 8, 3), FLOAT)
    assert images.map(lambda batch: batch.mean(axis=0)).element_spec == ArraySpec((8, 3), FLOAT)
