"""Every executor and number of workers yields what a run inline yields."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

import penstock as ps
from penstock.testing.executors import verify_executor
from penstock.testing.laws import multiset, verify_determinism
from penstock.testing.plans import datasets
from tests.draws import draws


def options(executor, **settings):
    return ps.Options(executor=executor, workers=2 if executor == "processes" else None, **settings)


FIXTURES = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@given(datasets())
@settings(max_examples=draws(60))
def test_threads_of_any_number_equal_inline(ds):
    verify_determinism(ds)


@given(datasets())
@settings(max_examples=draws(30))
def test_later_epochs_equal_inline(ds):
    verify_determinism(ds, epoch=4)


@pytest.mark.parametrize(
    ("name", "examples"), [("thread_pool", 40), ("scrambled", 30), ("processes", 15), ("worker_processes", 30)]
)
def test_the_users_executor_equals_inline(name, examples, request):
    executor = request.getfixturevalue(name)

    @given(datasets())
    @settings(max_examples=draws(examples))
    def law(ds):
        verify_determinism(ds, ways=[(f"by the {name}", options(executor))])

    law()


@pytest.mark.parametrize(
    ("name", "examples"), [("thread_pool", 20), ("scrambled", 20), ("processes", 10), ("worker_processes", 10)]
)
def test_without_order_the_same_elements_come(name, examples, request):
    executor = request.getfixturevalue(name)

    @given(datasets())
    @settings(max_examples=draws(examples))
    def law(ds):
        loose = ds.with_options(options(executor, deterministic=False))
        assert multiset(loose.iterator(epoch=1)) == multiset(ds.iterator(epoch=1))

    law()


@pytest.mark.parametrize("name", ["thread_pool", "scrambled", "processes"])
def test_the_conformance_suite_passes(name, request):
    verify_executor(request.getfixturevalue(name))
