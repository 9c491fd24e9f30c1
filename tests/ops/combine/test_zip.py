"""`zip`: elements side by side."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from penstock import INFINITE, Dataset, Options
from penstock.elements.spec import ArraySpec
from tests.plan.flows import assert_streams

INT = ArraySpec((), np.dtype(np.int64))


class Pair(NamedTuple):
    x: object
    y: object


ONE, OTHER = Dataset.range(3), Dataset.range(10, 15)


@pytest.mark.parametrize(
    ("nest", "first"),
    [
        ((ONE, OTHER), (0, 10)),
        ({"b": ONE, "a": OTHER}, {"b": 0, "a": 10}),
        (Pair(ONE, OTHER), Pair(0, 10)),
        ({"p": (ONE, {"q": OTHER})}, {"p": (0, {"q": 10})}),
        ((ONE,), (0,)),
    ],
)
def test_elements_are_nested_like_the_datasets(nest, first):
    for ds in (Dataset.zip(nest), Dataset.zip(datasets=nest)):
        assert ds[0] == first
        assert type(ds[0]) is type(first)
        if isinstance(first, dict):
            assert list(ds[0]) == list(first)


def test_nested_elements_stay_nested_in_the_result():
    named = Dataset.from_tensor_slices({"x": [1, 2], "y": [3, 4]})
    ds = Dataset.zip(named, Dataset.from_source(["a", "b"]))
    assert list(ds) == [({"x": 1, "y": 3}, "a"), ({"x": 2, "y": 4}, "b")]
    assert [b[0]["y"].tolist() for b in ds.batch(2)] == [[3, 4]]


@pytest.mark.parametrize(("lengths", "length"), [((7, 3), 3), ((3, 7), 3), ((7, 0), 0), ((7, -1), 7), ((-1, -1), -1)])
def test_zip_ends_with_the_shortest_dataset(lengths, length):
    inputs = [Dataset.counter() if n == INFINITE else Dataset.range(n) for n in lengths]
    ds = Dataset.zip(*inputs)
    assert ds.cardinality() == length
    assert len(list(ds.take(20))) == (20 if length == INFINITE else length)


def test_every_epoch_pairs_positions_of_the_same_epoch():
    long, short = Dataset.range(10).shuffle(seed=0), Dataset.range(4).shuffle(seed=1)
    for epoch in (0, 1, 2):
        pairs = list(zip(long.iterator(epoch=epoch), short.iterator(epoch=epoch), strict=False))
        assert list(Dataset.zip(long, short).iterator(epoch=epoch)) == pairs


def test_zip_of_one_dataset_yields_its_elements():
    assert Dataset.zip(ONE) is ONE


def test_the_spec_is_nested_too():
    assert Dataset.zip({"a": ONE, "b": OTHER.batch(5)}).element_spec == {"a": INT, "b": ArraySpec((5,), INT.dtype)}


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ((), TypeError, "pass datasets"),
        (([ONE, OTHER],), TypeError, "list of datasets is ambiguous"),
        ((3,), TypeError, "expected datasets, not int"),
        ((ONE, [1, 2]), TypeError, "expected datasets, not int"),
        (({},), ValueError, "expected at least one dataset"),
    ],
)
def test_arguments_that_are_no_datasets_are_refused(arguments, error, says):
    with pytest.raises(error, match=says):
        Dataset.zip(*arguments)


def test_datasets_are_passed_either_as_arguments_or_as_datasets():
    with pytest.raises(TypeError, match="pass datasets"):
        Dataset.zip(ONE, datasets=(OTHER,))


@pytest.mark.parametrize("first", [0, 1, 3, 7])
@pytest.mark.parametrize("second", [0, 1, 3, 7])
def test_zips_and_concatenations_of_streams_are_supported(first, second):
    node = Dataset.zip(ONE, OTHER)._plan
    one, other = range(first), range(10, 10 + second)
    assert_streams(node, [one, other], list(zip(one, other, strict=False)))


def test_nested_zips_of_streams_are_supported():
    node = Dataset.zip({"b": ONE, "a": (OTHER,)})._plan
    a, b = range(5, 9), range(3)
    assert_streams(node, [a, b], [{"b": x, "a": (5 + x,)} for x in range(3)])


def test_no_stream_is_read_past_the_end_of_another():
    never = Dataset.counter().filter(lambda x: x < 2)  # looks for a third element for ever
    ds = Dataset.zip(Dataset.range(2).filter(lambda x: True), never)
    assert list(ds.with_options(Options(executor="inline"))) == [(0, 0), (1, 1)]


def test_every_epoch_of_streams_pairs_the_same_epoch_of_all():
    long, short = Dataset.range(10).shuffle(seed=0), Dataset.range(4).shuffle(seed=1)
    streams = Dataset.zip(long.filter(lambda x: True), short)
    for epoch in (0, 1, 2):
        assert list(streams.iterator(epoch=epoch)) == list(Dataset.zip(long, short).iterator(epoch=epoch))
