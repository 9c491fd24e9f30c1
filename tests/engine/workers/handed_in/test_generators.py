"""Global random generators of the workers of a pool."""

from __future__ import annotations

import multiprocessing
import os
import random
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import penstock as ps
from penstock.engine.tasks.observer import Unobserved
from penstock.engine.tasks.works import RowWork
from penstock.engine.workers.handed_in.generators import seed_in_worker
from penstock.engine.workers.handed_in.pickled import OWNER, pickled_plan

FORK = multiprocessing.get_context("fork")
SEEDED = FORK, np.random.seed, (0,)


def drawn_by_numpy(row):
    return int(np.random.randint(1 << 62))  # noqa: NPY002 - the global generator


def drawn_by_torch(row):
    import torch

    return int(torch.randint(1 << 62, ()))


def drawn_by_python(row):
    return random.getrandbits(62)


@pytest.mark.parametrize("settings", [(FORK,), SEEDED], ids=["fork", "initializer"])
@pytest.mark.parametrize("draw", [drawn_by_numpy, drawn_by_torch, drawn_by_python])
def test_no_forked_worker_of_any_epoch_draws_what_another_one_draws(draw, settings):
    if draw is drawn_by_torch:
        pytest.importorskip("torch")
    ds = ps.Dataset.range(40).map(draw).batch(4)
    ds = ds.with_options(ps.Options(executor=lambda: ProcessPoolExecutor(2, *settings)))
    drawn = [int(each) for _ in range(2) for batch in ds for each in batch]
    assert len(set(drawn)) == 80


@pytest.fixture
def plan(monkeypatch):
    """A plan that this process makes, which takes itself for a child of another one."""
    monkeypatch.setattr(multiprocessing, "parent_process", os.getppid)
    plan = pickled_plan(RowWork(ps.Dataset.range(3)._plan, np.empty, Unobserved()), Unobserved())
    yield plan.to()
    plan.remove()


def drawn_next():
    return np.random.get_state()[1].tolist()  # noqa: NPY002 - the global generator


def test_generators_stay_where_an_executor_makes_the_tasks_of_its_own_process(plan):
    before = drawn_next()
    seed_in_worker(plan)
    assert drawn_next() == before


def test_generators_are_seeded_once_in_a_worker(plan):
    plan = plan._replace(key=b"another!" + plan.key[OWNER:])
    before = drawn_next()
    seed_in_worker(plan)
    seeded = drawn_next()
    assert seeded != before
    seed_in_worker(plan)
    assert drawn_next() == seeded
