"""Loops over datasets and feeds that are shown: elements, lengths and positions are those of the dataset."""

from __future__ import annotations

import io

import pytest

import penstock as ps
from penstock import Dataset
from penstock.watch.live.display import display


@pytest.fixture(autouse=True)
def nothing_left():
    yield
    assert not display._views
    assert display.thread is None or not display.thread.is_alive()


def squares():
    return Dataset.range(20).shuffle(seed=0).map(lambda x: x * x).batch(3)


def as_lists(batches):
    return [batch.tolist() for batch in batches]


def test_elements_are_those_of_the_dataset_in_every_epoch():
    file, shown, plain = io.StringIO(), squares(), squares()
    progress = shown.progress("train", file=file)
    assert len(progress) == 7
    assert repr(progress).startswith("<progress of <Dataset")
    for _ in range(2):
        assert as_lists(progress) == as_lists(plain)
    assert [line[:18] for line in file.getvalue().splitlines()] == ["train: 7 batches i"] * 2


def test_a_dataset_of_unknown_length_has_none_and_one_without_end_is_shown():
    with pytest.raises(TypeError, match="known only by iterating"):
        len(Dataset.range(9).filter(lambda x: x > 2).progress())
    file = io.StringIO()
    for x in Dataset.counter().progress(file=file):
        if x == 4:
            break
    assert file.getvalue().startswith("5 elements in 0:00")


def test_an_exception_of_the_loop_ends_the_view_once_it_is_handled():
    file = io.StringIO()

    def train():
        for _ in Dataset.range(9).progress(file=file):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        train()
    del caught
    assert file.getvalue().startswith("1 of 9 elements in")


def test_an_error_of_the_pipeline_is_raised_unchanged():
    file = io.StringIO()
    with pytest.raises(ZeroDivisionError) as caught:
        list(Dataset.range(6).map(lambda x: 1 // (3 - x)).progress(file=file))
    assert any("row 3" in note for note in caught.value.__notes__)
    assert file.getvalue().startswith("3 of 6 elements in")


def test_a_loop_that_was_left_continues_where_it_was():
    file, ds, rest = io.StringIO(), squares(), squares()
    progress = ds.progress("train", file=file)
    received = []
    for batch in progress:
        received.append(batch)
        if len(received) == 3:
            saved = ds.state_dict()
            break
    rest.load_state_dict(saved)
    after = list(rest.progress("train", file=file))
    assert as_lists([*received, *after]) == as_lists(squares())
    first, second = file.getvalue().splitlines()
    assert first.startswith("train: 3 of 7 batches in")
    assert second.startswith("train: 4 batches in")


def test_several_loops_at_once():
    file, pairs = io.StringIO(), []
    for x, y in zip(Dataset.range(3).progress("a", file=file), Dataset.range(3).progress("b", file=file), strict=True):
        pairs.append((int(x), int(y)))
    assert pairs == [(0, 0), (1, 1), (2, 2)]
    assert sorted(line[:2] for line in file.getvalue().splitlines()) == ["a:", "b:"]


def test_a_feed_is_shown_too():
    torch = pytest.importorskip("torch")
    file = io.StringIO()
    progress = squares().to_torch().progress("train", file=file)
    assert len(progress) == 7
    assert all(isinstance(batch, torch.Tensor) for batch in progress)
    it = squares().to_torch().iterator()
    it.live("eval", file=file)
    assert len(list(it)) == 7
    assert [line[:16] for line in file.getvalue().splitlines()] == ["train: 7 batches", "eval: 7 batches "]


def test_the_position_is_that_of_the_loop():
    ds = squares().with_options(ps.Options(executor="inline"))
    rows = [ds.state_dict()["row"] for _ in ds.progress(file=io.StringIO())]
    assert rows[:6] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("given", [{"title": 3}, {"file": "progress.txt"}])
def test_wrong_arguments_are_refused_before_the_pass(given):
    with pytest.raises(TypeError, match=r"expected an open text file|must be a string"):
        Dataset.range(3).progress(**given)
