"""Passes as plain data: all of it arrives, and other versions may add fields."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

import penstock as ps
from penstock import Dataset
from penstock.core.events import RunEvent
from penstock.watch.fetches import FetchStats
from penstock.watch.stats import HeldStats
from penstock.watch.top.message import as_data, from_data
from penstock.watch.top.published import Published


def a_pass():
    it = Dataset.range(10).shuffle(seed=0).map(str).batch(2).iterator(epoch=3)
    next(it)
    next(it)
    return it


def test_a_pass_arrives_whole():
    it = a_pass()
    glance = it._glance()
    more = replace(
        glance.stats,
        events=(RunEvent(1.0, "died", "map(str)", None, "a worker died"),),
        held=(HeldStats("shuffle", "buffer", 3, 4),),
        fetched=FetchStats(1, 2, 3.0, 4.0, 5, rises=True, rate=6.0, retried=7, repeated=8, cached_bytes=9),
        decisions=("2 threads",),
    )
    glance = replace(glance, stats=more, at_work=("map(str)",), waiting=1.5)
    seen = from_data(json.loads(json.dumps(as_data(Published(it._run, 7, lambda: glance)))))
    assert seen.glance == glance
    assert (seen.number, seen.name, seen.epoch, seen.glance.paused) == (7, "batch(2)", 3, False)
    assert (seen.glance.first, seen.glance.total, seen.glance.reached) == (0, 5, 2)


def test_a_pass_that_is_gone_has_no_data():
    assert as_data(Published(a_pass()._run, 1, lambda: None)) is None


def test_numbers_that_json_cannot_hold_are_left_out():
    it = a_pass()
    glance = replace(it._glance(), waiting=math.inf)
    assert json.loads(json.dumps(as_data(Published(it._run, 1, lambda: glance)), allow_nan=False))


def test_fields_of_later_versions_are_left_out_and_missing_ones_are_errors():
    it = a_pass()
    data = as_data(it._published)
    data["glance"]["stats"]["novelty"] = data["novelty"] = 1
    assert from_data(data).glance.stats.items == 2
    del data["glance"]["stats"]["items"]
    with pytest.raises(TypeError, match="items"):
        from_data(data)


def test_a_pass_in_mid_epoch_tells_its_place():
    ds = Dataset.range(10).batch(2)
    it = ds.iterator()
    next(it)
    again = Dataset.range(10).batch(2).iterator()
    again.load_state_dict(it.state_dict())
    next(again)
    seen = from_data(as_data(again._published))
    assert (seen.glance.first, seen.glance.reached, seen.glance.total) == (1, 2, 5)
    endless = ps.Dataset.counter().iterator()
    next(endless)
    assert from_data(as_data(endless._published)).glance.total < 0
