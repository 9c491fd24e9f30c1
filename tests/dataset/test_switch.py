"""Alternating between pipelines: each continues at its own position, whatever the others yielded."""

from __future__ import annotations

import json

import pytest

from penstock import Dataset, Options, Switch
from penstock.core.errors import ClosedError, CursorError, PlanError

TRAIN, VAL = Dataset.range(100).shuffle(), Dataset.range(1000, 1010)


def drawn(each):
    """Return what `next()` gives until the end."""
    found = []
    while (x := next(each, None)) is not None:
        found.append(int(x))
    return found


def test_drawing_from_one_pipeline_leaves_the_others_unchanged():
    with Switch(train=TRAIN, val=VAL) as switch:
        made = {"train": [], "val": []}
        for name in ["train", "train", "val", "train", "val", "val", "train"]:
            made[name].append(int(next(switch[name])))
        assert made["val"] == [1000, 1001, 1002]
        assert len(set(made["train"])) == 4
        assert next(switch.val) == 1003


def test_one_state_has_the_positions_of_all():
    switch = Switch(train=TRAIN, val=VAL)
    for name in ["train"] * 5 + ["val"] * 3:
        next(switch[name])
    state = json.dumps(switch.state_dict())
    rest = {name: drawn(switch[name]) for name in switch}
    again = Switch(val=VAL.prefetch(2), train=TRAIN.with_options(Options(executor="threads", workers=2)))
    next(again["val"])
    again.load_state_dict(json.loads(state))
    assert {name: [int(x) for x in again[name]] for name in again} == rest
    assert [int(x) for x in again["val"]] == list(range(1000, 1010))
    assert len(rest["train"]) == 95


def test_an_invalid_state_changes_no_position():
    switch = Switch(train=TRAIN, val=VAL)
    state = switch.state_dict()
    next(switch["train"])
    for other in (Switch(train=TRAIN), Switch(train=TRAIN, test=VAL), Switch(train=TRAIN, val=VAL.skip(1))):
        with pytest.raises(CursorError):
            switch.load_state_dict(other.state_dict())
        assert switch.state_dict()["datasets"]["train"]["row"] == 1
    for wrong in (None, {}, {"version": 1}, {"version": 2, "datasets": state["datasets"]}):
        with pytest.raises(CursorError):
            switch.load_state_dict(wrong)
    switch.load_state_dict(state)
    assert switch.state_dict() == state


def test_a_loop_begins_a_pass_and_next_continues_one():
    switch = Switch(train=TRAIN, val=VAL.shuffle(seed=1))
    first = [int(x) for x in switch["val"]]
    assert drawn(switch["val"]) == []
    second = [int(x) for x in switch["val"]]
    for left in switch["val"]:
        assert left >= 1000
        break
    assert len(drawn(switch["val"])) == 9
    assert sum(1 for _ in iter(iter(switch["val"]))) == 10
    assert sorted(first) == sorted(second)
    assert first != second
    assert [int(x) for x in switch.begin("val", epoch=0)] == first
    assert switch.state_dict()["datasets"]["train"]["row"] == 0


def test_all_are_closed_together():
    with Switch(train=TRAIN, val=VAL) as switch:
        next(switch["train"])
    for name in switch:
        with pytest.raises(ClosedError):
            next(switch[name])
    switch.close()
    assert switch.state_dict()["datasets"]["train"]["row"] == 1


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_feeds(framework):
    pytest.importorskip(framework)

    def fed(ds):
        return ds.to_torch() if framework == "torch" else ds.to_jax()

    def switch():
        return Switch(train=fed(TRAIN.repeat().batch(4)), val=fed(VAL.batch(5)), plain=VAL)

    with switch() as first, switch() as again:
        for _ in range(2):
            next(first["train"])
            assert [batch.tolist() for batch in first["val"]] == [list(range(1000, 1005)), list(range(1005, 1010))]
        next(first["val"], None), next(first["val"], None)
        for _ in range(2):
            next(first["plain"])
        state = json.loads(json.dumps(first.state_dict()))
        again.load_state_dict(state)
        assert next(again["train"]).tolist() == next(first["train"]).tolist()
        assert [int(x) for x in again["plain"]] == drawn(first["plain"])
        assert len([*again["val"]]) == 2
    with pytest.raises(ClosedError):
        next(first["train"])


def test_one_budget_is_shared():
    def budgets(switch):
        return [each._source.options().memory_budget for each in switch._passes.values()]

    plain, asking = Dataset.range(3), Dataset.range(3).with_options(Options(memory_budget=100))
    assert budgets(Switch(a=plain, b=plain, memory_budget=1000)) == [500, 500]
    assert budgets(Switch(a=plain, b=asking, memory_budget=1000)) == [500, 100]
    assert budgets(Switch(a=plain, b=asking)) == [50, 50]
    assert sum(budgets(Switch(a=plain, b=plain, c=plain))) >= 3


def test_names_are_attributes_or_keys():
    switch = Switch({"two words": VAL, "close": TRAIN})
    assert (list(switch), len(switch), repr(switch)) == (["two words", "close"], 2, "Switch(two words, close)")
    assert next(switch["two words"]) == 1000
    next(switch["close"])
    with pytest.raises(KeyError, match=r"^this switch has no dataset 'train'; it has two words, close$"):
        _ = switch["train"]
    with pytest.raises(AttributeError, match=r"^this switch has no dataset 'train'; it has two words, close$"):
        _ = switch.train


def test_wrong_arguments_of_a_switch_are_refused():
    with pytest.raises(ValueError, match="at least one dataset"):
        Switch()
    with pytest.raises(TypeError, match=r"Switch\(val=\): expected a dataset or a feed, not list"):
        Switch(train=TRAIN, val=[1])
    with pytest.raises(ValueError, match="memory_budget=1"):
        Switch(a=TRAIN, b=VAL, memory_budget=1)
    with pytest.raises(PlanError):
        Switch(a=Dataset.counter()).begin("a", epoch=1 << 40)
