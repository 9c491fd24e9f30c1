"""The options of a feed."""

from __future__ import annotations

import pytest

from penstock.core.errors import ElementError, PlanError
from penstock.feed.arrangement import Arrangement, BatchRows
from penstock.feed.feed import Here
from penstock.feed.towers import MicroBatches, RoundRobin, Split, Stacked

HERE = Here(lambda array: array)


@pytest.mark.parametrize(
    ("options", "kind", "gathers"),
    [
        ({}, Here, 1),
        ({"steps": 3}, Stacked, 3),
        ({"micro_batches": 3}, MicroBatches, 1),
        ({"split": True}, Split, 1),
        ({"round_robin": True}, RoundRobin, 2),
        ({"round_robin": True, "steps": 3}, RoundRobin, 6),
        ({"split": True, "micro_batches": 2}, Split, 1),
    ],
)
def test_options_make_a_placement_of_steps(options, kind, gathers):
    arranged = Arrangement("to_torch", **options)
    devices = [HERE] * (2 if arranged.split or arranged.round_robin else 1)
    placement = arranged.placement(devices)
    assert type(placement) is kind
    assert placement.gathers == gathers


@pytest.mark.parametrize(
    ("options", "rows", "says"),
    [
        (
            {"steps": 2},
            BatchRows(4, 1, 6),
            r"to_torch\(\): steps=2 stacks .* the last batch of an epoch has 1 row, and",
        ),
        ({"steps": 5}, BatchRows(4, 1, 6, repeats=True), "steps=5 stacks batches of one shape"),
        ({"round_robin": True, "steps": 4}, BatchRows(4, 1, 6), "steps=4 stacks"),
        (
            {"micro_batches": 3},
            BatchRows(4, 1, 6),
            "micro_batches=3 cuts .* 3 parts, but the last batch of an epoch has 1",
        ),
        (
            {"micro_batches": 5},
            BatchRows(4, 4, 6),
            "micro_batches=5 cuts batches into 5 parts, but batches have 4 rows",
        ),
        (
            {"split": True},
            BatchRows(4, 1, 6),
            "split=True cuts batches into 2 parts, but the last batch of an epoch has 1",
        ),
        ({"split": True, "micro_batches": 2}, BatchRows(4, 3, 6), "split=True, micro_batches=2 cuts batches into 4"),
    ],
)
def test_batches_that_are_sure_to_come_and_do_not_fit_are_refused_at_once(options, rows, says):
    arranged = Arrangement("to_torch", **options, rows=rows)
    with pytest.raises(PlanError, match=says):
        arranged.placement([HERE] * (2 if arranged.split or arranged.round_robin else 1))


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ({"steps": 5}, BatchRows(4, 1, 6)),  # the short batch is a stack of its own
        ({"steps": 4}, BatchRows(4, 4, 6)),
        ({"steps": 1}, BatchRows(4, 1, 6, repeats=True)),
        ({"steps": 2}, BatchRows(1, 1, 1)),
        ({"micro_batches": 4}, BatchRows(4, 4, 6)),
        ({"split": True}, BatchRows(4, 2, 6)),
        ({"split": True, "micro_batches": 2}, BatchRows(5, 4, 6)),
    ],
)
def test_batches_that_fit_are_accepted(options, rows):
    arranged = Arrangement("to_torch", **options, rows=rows)
    arranged.placement([HERE] * (2 if arranged.split else 1))


def test_a_finish_without_a_result_is_an_error():
    for options, given in (({}, [3, 4]), ({"micro_batches": 2}, [[3], [4]])):
        finish = Arrangement("to_torch", finish=lambda batch: None, **options).finishing
        with pytest.raises(ElementError, match="returned None for a batch; return the batch") as caught:
            finish(given)
        assert caught.value.__notes__ == ["in to_torch(finish=lambda)"]


def test_an_error_in_finish_names_the_argument():
    def halve(batch):
        return batch["x"]

    for options in ({}, {"micro_batches": 2}):
        finish = Arrangement("to_torch", finish=halve, **options).finishing
        with pytest.raises(TypeError) as caught:
            finish([3, 4])
        assert caught.value.__notes__ == ["in to_torch(finish=halve)"]
    assert Arrangement("to_torch").finishing is None


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"split": True, "round_robin": True}, PlanError, "choose one"),
        ({"split": True, "steps": 2}, PlanError, r"steps=2\) stacks whole batches"),
        ({"micro_batches": 2, "steps": 2}, PlanError, "does not go with"),
        ({"depth": 0}, ValueError, r"to_torch\(depth=0\): expected at least 1"),
        ({"steps": "2"}, TypeError, "steps"),
        ({"micro_batches": 0}, ValueError, "at least 1"),
        ({"finish": 3}, TypeError, r"to_torch\(finish=\): expected a function, not int"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, error, says):
    with pytest.raises(error, match=says):
        Arrangement("to_torch", **options)


def test_several_devices_ask_for_a_way_to_share_batches():
    with pytest.raises(
        PlanError, match=r"to_torch\(\) of 2 devices: pass split=True to divide each batch, or round_robin"
    ):
        Arrangement("to_torch").placement([HERE, HERE])
    with pytest.raises(PlanError, match="expected at least one device"):
        Arrangement("to_torch").placement([])


def test_a_device_has_two_steps_placed_and_the_host_one():
    assert Arrangement("to_torch").depth_for(is_here=True) == 1
    assert Arrangement("to_torch").depth_for(is_here=False) == 2
    assert Arrangement("to_torch", depth=4).depth_for(is_here=True) == 4
