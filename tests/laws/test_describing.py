"""Descriptions of random datasets: of all elements, and the same after an interruption."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.testing.plans import datasets
from tests.draws import draws


def exact(described: ps.Description) -> str:
    return json.dumps(described.to_dict())


class StopNowError(BaseException):
    """Not an error that anything in a pipeline handles."""


@given(datasets(), st.integers(1, 9))
@settings(max_examples=draws(30))
def test_an_interrupted_description_ends_with_the_same(ds, after):
    whole = ds.describe()
    assert whole.elements == len(list(ds.iterator(epoch=0)))
    if whole.elements < after:
        return

    def progress(done, total):
        if done >= after:
            raise StopNowError

    with tempfile.TemporaryDirectory() as folder, patch("penstock.dataset.describing.progress.TOLD_EVERY", -1.0):
        path = Path(folder) / "state.json"
        with pytest.raises(StopNowError):
            ds.describe(checkpoint=path, progress=progress)
        assert exact(ds.describe(checkpoint=path)) == exact(whole)
    assert ds.epoch == 0


@given(datasets())
@settings(max_examples=draws(20))
def test_every_description_has_a_text_and_html(ds):
    described = ds.describe()
    assert repr(described).startswith(f"{described.elements:,} element")
    assert "not drawn" not in described._repr_html_()


@given(datasets())
@settings(max_examples=draws(20))
def test_threads_find_the_same_as_inline(ds):
    threads = ds.with_options(ps.Options(executor="threads", workers=2))
    assert exact(threads.describe()) == exact(ds.with_options(ps.Options(executor="inline")).describe())
