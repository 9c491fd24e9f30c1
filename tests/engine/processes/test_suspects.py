from __future__ import annotations

import os
import signal

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import WorkerDiedError

D = ps.Dataset
OPTIONS = ps.Options(executor="processes", workers=2)

pytestmark = pytest.mark.usefixtures("pool")


def deadly(x):
    if x == 57:
        os.kill(os.getpid(), signal.SIGKILL)
    return np.full(3, x)


CASES = {
    "elements": (D.range(100).map(deadly), "row 57 of map(deadly)", 57),
    "batches": (D.range(100).map(deadly).batch(10), "row 57 of map(deadly)", 5),
    "padded": (D.range(100).map(deadly).padded_batch(10), "batch 5 of padded_batch(10)", 5),
    "a stream of rows": (D.range(100).filter(lambda x: x >= 0).map(deadly), "row 57 of range(100)", 57),
    "a stream": (D.from_generator(lambda: iter(range(100))).map(deadly), "element 57 of", 57),
}


@pytest.mark.parametrize("name", CASES)
def test_an_element_that_ends_workers_is_named_after_everything_before_it(name):
    ds, named, before = CASES[name]
    it = ds.with_options(OPTIONS).iterator()
    got = []
    with pytest.raises(WorkerDiedError) as caught:
        got.extend(it)
    assert str(caught.value).startswith(f"{named}")
    assert "ends the worker that makes it" in str(caught.value)
    assert "SIGKILL" in str(caught.value)
    assert len(got) == before
    assert caught.value.row in (57, 5)
    assert any("elements are now made apart" in event.words for event in it.stats().events)


def test_later_runs_work(pool):
    with pytest.raises(WorkerDiedError):
        list(D.range(100).map(deadly).batch(10).with_options(OPTIONS))
    assert len(list(D.range(50).map(deadly).with_options(OPTIONS))) == 50


def test_elements_of_later_epochs_are_named_with_the_epoch():
    with pytest.raises(WorkerDiedError, match=r"row 57 of epoch 2 of map\(deadly\)"):
        list(D.range(100).map(deadly).batch(10).with_options(OPTIONS).iterator(epoch=2))
