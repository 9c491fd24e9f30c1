"""A run restored at every step continues like an uninterrupted one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.testing.laws import verify_resume
from penstock.testing.plans import datasets
from tests.draws import draws

ROOT = Path(__file__).resolve().parents[2]
THREADS = ps.Options(executor="threads", workers=2)


@given(datasets(seeded=False), st.sampled_from([0, 1, 6]))
@settings(max_examples=draws(60))
def test_a_restore_at_every_step_continues_exactly(ds, epoch):
    verify_resume(ds, epoch=epoch)


@given(datasets(seeded=False))
@settings(max_examples=draws(20))
def test_a_restore_into_threads_continues_exactly(ds):
    verify_resume(ds, options=THREADS)


@given(datasets(seeded=False))
@settings(max_examples=draws(20))
def test_a_restore_from_threads_to_a_plain_inline_run_continues_exactly(ds):
    verify_resume(ds.with_options(THREADS), options=ps.Options(executor="inline", rewrite=False))


@pytest.mark.parametrize("name", ["thread_pool", "scrambled"])
def test_a_restore_with_deterministic_false_loses_no_element(name, request):
    executor = request.getfixturevalue(name)

    @given(datasets(seeded=False), st.sampled_from([None, 1, 3]))
    @settings(max_examples=draws(20))
    def law(ds, ahead):
        verify_resume(ds.prefetch(ahead).with_options(ps.Options(executor=executor, deterministic=False)))

    law()


@given(st.integers(0, 40), st.integers(1, 7), st.booleans())
@settings(max_examples=draws(60))
def test_a_state_counts_the_received_items(steps, size, threads):
    ds = ps.Dataset.range(200).shuffle(seed=3).batch(size)
    with ds.with_options(THREADS if threads else ps.Options()).iterator(epoch=2) as it:
        for _ in range(min(steps, len(ds))):
            next(it)
        assert it.state_dict()["row"] == min(steps, len(ds))
        assert it.state_dict()["epoch"] == 2


FORKED = """
import os, sys
import penstock as ps
from penstock.testing.laws import same

def run(options, plan):
    ds = plan.with_options(options)
    whole = list(ds.iterator(epoch=1))
    it = ds.iterator(epoch=1)
    for at in range(5):
        assert same(next(it), whole[at])
    child = os.fork()
    for at in range(5, len(whole)):
        assert same(next(it), whole[at]), (os.getpid(), at)
    assert next(it, None) is None
    if child == 0:
        sys.exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, status

def jitter(x, *, rng):
    return x + rng.random()

def kept(x, *, rng):
    return rng.random() < 0.7

plan = ps.Dataset.range(4000).shuffle().map(jitter).with_options(ps.Options(seed=7))
for name in ("auto", "inline", "threads"):
    run(ps.Options(executor=name, workers=None if name == "inline" else 2), plan.batch(32))
    run(ps.Options(executor=name, workers=None if name == "inline" else 2), plan.filter(kept).shuffle(9).batch(7))
run(ps.Options(executor="threads", workers=2), plan.take(300))
print("equal")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_both_processes_continue_exactly_after_a_fork():
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED],
        capture_output=True, text=True, cwd=ROOT, timeout=60, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr, done.returncode) == ("equal\n", "", 0)
