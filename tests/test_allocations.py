"""Measurements of memory: concurrent, nested, and while other code traces as well."""

from __future__ import annotations

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.allocations import allocated


@pytest.fixture(params=[False, True], ids=["alone", "while another traces"])
def tracing(request):
    if not request.param:
        yield False
        return
    tracemalloc.start()
    yield True
    tracemalloc.stop()


def taking(size):
    with allocated() as found:
        bytearray(size)
    return found.most


def test_the_peak_is_measured_and_tracing_is_restored(tracing):
    assert 3_000_000 <= taking(3_000_000) < 3_100_000
    assert taking(1000) < 100_000
    assert tracemalloc.is_tracing() == tracing


def test_threads_measure_one_after_another(tracing):
    with ThreadPoolExecutor(4) as pool:
        for size, most in zip(sizes := [1_000_000, 2_000_000] * 20, pool.map(taking, sizes), strict=True):
            assert size <= most < size + 500_000
    assert tracemalloc.is_tracing() == tracing


def test_nested_measurements_work(tracing):
    with allocated() as outer:
        assert taking(1_000_000) >= 1_000_000
        assert tracemalloc.is_tracing()
        bytearray(2_000_000)
    assert outer.most >= 2_000_000
    assert tracemalloc.is_tracing() == tracing


def test_tracing_stopped_by_other_code_is_an_error():
    with pytest.raises(RuntimeError, match="tracing was stopped meanwhile"), allocated():
        tracemalloc.stop()
