"""The first elements, and the display in notebooks."""

from __future__ import annotations

import threading
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings

import penstock as ps
from penstock.dataset import preview
from penstock.testing.alike import same
from penstock.testing.plans import datasets
from tests.draws import draws

D = ps.Dataset


@given(datasets())
@settings(max_examples=draws(40))
def test_the_head_is_the_beginning_of_epoch_0(ds):
    with ds.iterator(epoch=0) as it:
        expected = list(islice(it, 3))
    assert same(list(ds.head(3)), expected)
    assert ds.epoch == 0


@given(datasets())
@settings(max_examples=draws(40))
def test_every_dataset_and_iterator_has_a_display(ds):
    html = ds._repr_html_()
    assert html.startswith('<div class="penstock">')
    assert "not drawn" not in html
    with ds.iterator(epoch=0) as it:
        first = next(it, None)
        assert it._repr_html_().startswith('<div class="penstock">')
        rest = list(it)
    whole = list(ds.iterator(epoch=0))
    assert same(([] if first is None else [first]) + rest, whole)  # a display takes no element


def test_a_head_of_an_endless_stream_takes_nothing_beyond_it():
    taken = []

    def numbers():
        number = 0
        while True:
            taken.append(number)
            yield number
            number += 1

    ds = D.from_generator(numbers).filter(lambda x: x % 2 == 0)
    assert ds.head(3) == [0, 2, 4]
    assert taken == [0, 1, 2, 3, 4]
    assert D.counter().head() == [0, 1, 2, 3, 4]
    assert D.range(3).repeat().head(4) == [0, 1, 2, 0]
    assert D.range(3).head() == [0, 1, 2]
    assert D.range(3).head(0) == []


@pytest.mark.parametrize(
    "options",
    [
        ps.Options(executor="threads", workers=2),
        ps.Options(executor="processes", workers=2),
        ps.Options(isolate=True),
        ps.Options(),
    ],
)
def test_a_head_is_made_in_this_thread(options):
    before, seen = set(threading.enumerate()), []

    def noted(x):
        seen.append(threading.get_ident())
        return x

    ds = D.range(9).map(noted).filter(lambda x: x < 9).prefetch(4).with_options(options)
    assert ds.head(2) == [0, 1]
    assert set(seen) == {threading.get_ident()}
    left = set(threading.enumerate()) - before
    assert {thread.name for thread in left} <= {"penstock-watchdog"}


def test_a_head_raises_what_iterating_would():
    ds = D.range(9).map(lambda x: 6 // (x - 2))
    assert ds.head(2) == [-3, -6]
    with pytest.raises(ZeroDivisionError) as error:
        ds.head(3)
    assert "row 2" in "".join(error.value.__notes__)


def test_the_number_of_elements_is_checked():
    with pytest.raises(ValueError, match=r"head\(n=-1\): expected at least 0"):
        D.range(3).head(-1)
    with pytest.raises(TypeError, match=r"head\(n='a'\)"):
        D.range(3).head("a")  # type: ignore[arg-type]


def test_a_display_shows_the_plan_and_the_first_elements():
    html = D.range(20).map(lambda x: {"image": np.full((16, 16, 3), x, np.uint8), "label": x})._repr_html_()
    assert "<b>Dataset</b> of 20" in html
    assert "↳ map(lambda)" in html
    assert html.count("<image ") == 8
    assert D.range(20).batch(3)._repr_html_().count("<figure class=card>") == 3
    assert "There are none" in D.range(0)._repr_html_()
    assert len(html) < 100_000


def test_a_display_shows_what_could_be_made_before_an_error():
    html = D.range(-2, 9).map(lambda x: 6 // x)._repr_html_()
    assert html.count("<figure class=card>") == 2
    assert "Making element 2 raised <code>ZeroDivisionError" in html


def test_a_display_of_a_source_that_waits_for_data_does_not_wait(monkeypatch):
    monkeypatch.setattr(preview, "DISPLAY_PATIENCE", 0.05)
    let_go, calls = threading.Event(), []

    def numbers():
        calls.append(1)
        let_go.wait()
        yield 0

    ds = D.from_generator(numbers)
    html = ds._repr_html_()
    assert "could be made within 0.05 s" in html
    assert "None yet" in ds._repr_html_()  # and does not begin another
    let_go.set()
    vars(ds)["_collector"]._thread.join(30)
    assert calls == [1]
    monkeypatch.setattr(preview, "DISPLAY_PATIENCE", 60.0)
    assert "figure" in ds._repr_html_()


def test_a_display_never_raises(monkeypatch):
    ds = D.range(3)
    monkeypatch.setattr(preview.Preview, "_html", lambda self: 1 // 0)
    assert ds._repr_html_().startswith("<pre>&lt;Dataset of 3: int64 | range(3)&gt;\n(not drawn: ZeroDivisionError")
    monkeypatch.setattr(ps.Iterator, "verdict", lambda self: 1 // 0)
    assert "not drawn" in iter(ds)._repr_html_()


def test_names_from_data_are_escaped():
    hostile = "<script>alert(1)</script>"
    html = D.from_source([{hostile: hostile}])._repr_html_()
    assert "<script" not in html


def test_an_iterator_and_stats_show_the_counts_of_now():
    it = D.range(40).map(lambda x: x).batch(4).iterator()
    assert "0 elements" in it._repr_html_()
    next(it), next(it)
    assert "2 batches · 8 rows" in it._repr_html_()
    stats = it.stats()
    assert "2 batches · 8 rows" in stats._repr_html_()
    assert repr(stats) == str(stats)
    assert repr(stats).startswith("2 batches, 8 rows in")
    assert next(it).tolist() == [8, 9, 10, 11]
