"""From a plan to the function that opens its pieces: where stretches begin and end, and who observes them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from penstock import Dataset, Options
from penstock.engine.runs import lowering
from penstock.engine.runs.lowering import first_element, in_stage, open_stretch, opened
from penstock.engine.runs.scope import CarryOver
from penstock.engine.runs.session import Session
from penstock.engine.runs.stage import Stretch
from penstock.engine.tasks.observer import Unobserved
from penstock.engine.tuning.settings import settings_of
from penstock.ops.read.given import Given
from penstock.rewrite.passes import PASSES
from tests.plan.flows import assert_reopens, elements_of

STREAM = Dataset.range(30).filter(lambda x: x % 3 > 0)
ONE = "0-range-program 1-filter-spread stage"  # as STREAM is opened


class Noted(Unobserved):
    """An observer that records the calls to wrap."""

    def __init__(self):
        self.asked = []

    def wrap(self, of, function):
        self.asked.append((None, "", "stage") if of is None else (of.number, of.node.name.split("(")[0], of.kind))
        return function


def begun(ds, observer=None):
    settings = settings_of(ds.with_options(Options(executor="inline"))._plan)
    return opened(ds._plan, Session(settings, CarryOver(), observer or Unobserved()).scope())


@pytest.mark.parametrize(
    ("ds", "asked"),
    [
        (STREAM, ONE),
        (STREAM.map(int), "0-range-program 1-filter-spread 2-map-spread stage"),
        (
            Dataset.range(9).skip(1).map(int).filter(bool),
            "0-range-program 1-skip-step 2-map-step 3-filter-spread stage",
        ),
        (STREAM.skip(1), f"{ONE} 2-skip-flow"),
        (STREAM.skip(1).map(int).filter(bool), f"{ONE} 2-skip-flow 3-map-spread 4-filter-spread stage"),
        (STREAM.skip(1).take(3), f"{ONE} 2-skip-flow 3-take-flow"),
        (Dataset.zip(STREAM, Dataset.range(3)), f"{ONE} 2-range-program stage 3-zip-flow"),
        (
            Dataset.zip(STREAM.skip(1).map(int), STREAM),
            f"{ONE} 2-skip-flow 3-map-spread stage 4-range-program 5-filter-spread stage 6-zip-flow",
        ),
        (
            Dataset.range(3).flat_map(lambda x: [x]),
            "0-range-program 1-flat_map-step 2-unpack-spread stage 3-flat_map-flow",
        ),
        (Dataset.from_generator(lambda: iter([1])).map(int), "0-from_generator-flow 1-map-spread stage"),
    ],
    ids=str,
)
def test_elementwise_nodes_over_an_indexed_or_sequential_node_are_one_stage(ds, asked):
    observer = Noted()
    begun(ds, observer)
    assert " ".join("-".join(str(part) for part in one if part not in (None, "")) for one in observer.asked) == asked


@pytest.mark.parametrize(
    "ds",
    [
        STREAM,
        STREAM.skip(2).map(lambda x: x + 1).filter(lambda x: x % 2 == 0).shuffle(4, seed=1).batch(2),
        Dataset.zip(STREAM.take(9), STREAM.skip(3).expand(2), Dataset.range(40)),
        Dataset.range(4).flat_map(lambda x: Dataset.range(int(x)).filter(lambda y: y != 1)),
        Dataset.range(6).interleave(lambda x: Dataset.range(int(x)).map(int).filter(lambda y: y != 1), cycle_length=2),
    ],
    ids=str,
)
def test_every_mark_of_a_plan_resumes_the_rest(ds):
    assert_reopens(begun(ds), begun(ds), elements_of(begun(ds)))


def test_a_mark_is_small():
    ds = STREAM.skip(2).map(int).filter(bool).shuffle(4, seed=1).batch(2).repeat(2).enumerate()
    for piece in begun(ds)(0):
        assert len(json.dumps(piece.after)) < 200


def test_pieces_belong_to_the_requested_epoch():
    ds = Dataset.range(30).shuffle(seed=1).filter(lambda x: x % 3 > 0)
    assert elements_of(begun(ds), 4) == list(ds.iterator(epoch=4))


def test_first_element_makes_few_elements():
    calls = []
    ds = Dataset.range(100).filter(lambda x: calls.append(x) or x == 3).map(np.zeros)
    assert first_element(ds._plan).shape == (3,)
    assert len(calls) < 20
    with pytest.raises(StopIteration):
        first_element(Dataset.range(5).filter(lambda x: x > 5)._plan)


def test_first_element_closes_all_flows():
    ended = []

    def generate():
        try:
            yield from range(1000)
        finally:
            ended.append(True)

    assert first_element(Dataset.from_generator(generate).filter(lambda x: x == 2).batch(1)._plan).tolist() == [2]
    assert ended == [True]


def test_a_stretch_without_input_is_refused():
    scope = Session(settings_of(STREAM._plan), CarryOver(), Unobserved()).scope()
    with pytest.raises(RuntimeError, match="has no input to read"):
        open_stretch(Stretch(Given(), None), scope, in_stage)


def test_virtual_streams_are_opened_in_one_session_and_as_one_operation():
    session = Session(settings_of(STREAM._plan), CarryOver(), Unobserved())
    source = opened(STREAM.batch(2).map(len).shard(2, 0, streams=8)._plan, session.scope())
    assert sum(len(piece) for piece in source(0)) > 0
    assert len(session.tuners) == 2
    noted = Noted()
    begun(STREAM.shard(1, 0, streams=2), noted)
    one = [(0, "range", "program"), (1, "filter", "spread"), (None, "", "stage")]
    assert noted.asked == [*one, *one, (2, "shard", "flow")]


def test_the_first_element_of_a_shard_belongs_to_the_shard():
    assert first_element(Dataset.range(9).filter(lambda x: x > 2).shard(2, 1, streams=2)._plan) == 3
    assert first_element(Dataset.range(9).filter(lambda x: x > 2).shard(2, 0, streams=2)._plan) == 4


def doubled_twice(n):
    return Dataset.range(n, n + 600).filter(lambda x: x % 2 == 0).skip(2).skip(3).map(lambda x: x * 2)


@pytest.mark.parametrize(
    "outer",
    [
        lambda: Dataset.range(0, 4000, 1000).flat_map(doubled_twice),
        lambda: Dataset.range(0, 4000, 1000).interleave(doubled_twice, cycle_length=2),
        lambda: Dataset.range(2).flat_map(lambda _: Dataset.range(0, 4000, 1000).flat_map(doubled_twice)),
        lambda: Dataset.range(0, 4000, 1000).filter(lambda x: True).flat_map(doubled_twice).shard(2, 1, streams=2),
    ],
    ids=["flat_map", "interleave", "in one another", "a virtual stream"],
)
def test_inner_datasets_run_as_written_if_the_outer_one_does(outer, monkeypatch):
    applied = []

    rewritten = lowering.rewritten

    def noting(plan, passes=PASSES):
        done = rewritten(plan, passes)
        applied.extend(done.applied)
        return done

    monkeypatch.setattr(lowering, "rewritten", noting)
    made = list(outer().iterator(epoch=0))
    assert {"merge_skips", "trace_map"} <= set(applied)
    applied.clear()
    plain = outer().with_options(Options(rewrite=False))
    assert list(plain.iterator(epoch=0)) == made
    assert set(applied) <= {"drop_run_settings"}


def test_a_state_resumes_with_and_without_rewrites_of_inner_datasets():
    ds = Dataset.range(0, 4000, 1000).flat_map(doubled_twice)
    plain = ds.with_options(Options(rewrite=False))
    whole = list(ds)
    for one, other in ((ds, plain), (plain, ds), (plain, plain), (ds, ds)):
        it = one.iterator(epoch=0)
        before = [next(it) for _ in range(700)]
        again = other.iterator(epoch=0)
        again.load_state_dict(it.state_dict())
        assert before + list(again) == whole
