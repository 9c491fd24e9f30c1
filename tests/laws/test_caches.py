"""Any pipeline that is cached on disk yields what it yields when cached in memory, however the folder was filled."""

import pickle
import warnings
from itertools import islice

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.core.errors import CacheWarning
from penstock.testing.alike import difference
from penstock.testing.laws import verify_resume
from penstock.testing.plans import datasets
from penstock.testing.streams import streams
from tests.draws import draws

SETTINGS = {"suppress_health_check": [HealthCheck.too_slow, HealthCheck.function_scoped_fixture], "deadline": None}


def verify_cached(ds, folder, data):
    assume("Scratch" not in repr(ds))  # a call changes its attributes, which makes it another function
    if ds.cardinality() == ps.INFINITE:
        ds = ds.take(20)
    expected = [list(ds.cache().iterator(epoch=0)) for _ in range(2)]

    def cached():
        options = ps.Options(executor=data.draw(st.sampled_from(["inline", "threads"])), ignore_lint="all")
        return ds.cache(folder, version="1").with_options(options)

    with warnings.catch_warnings():
        warnings.simplefilter("error", CacheWarning)
        with cached().iterator() as it:
            list(islice(it, data.draw(st.integers(0, 9), label="received before the restart")))
        again = cached()
        made = [list(again) for _ in range(2)]
        assert difference(made, expected) is None
        assert difference(list(pickle.loads(pickle.dumps(cached())).iterator(epoch=0)), expected[0]) is None
        verify_resume(cached())


@given(datasets(), st.data())
@settings(max_examples=draws(30), **SETTINGS)
def test_indexed(tmp_path_factory, ds, data):
    verify_cached(ds, tmp_path_factory.mktemp("kept"), data)


@given(streams(), st.data())
@settings(max_examples=draws(20), **SETTINGS)
def test_streams(tmp_path_factory, ds, data):
    verify_cached(ds, tmp_path_factory.mktemp("kept"), data)
