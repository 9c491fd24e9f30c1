"""Workers of a run that see other memory."""

from __future__ import annotations

from concurrent.futures import Executor, Future

import numpy as np
import pytest

from penstock import Dataset, Options
from penstock.core.budget import Budget
from penstock.engine.runs.scope import CarryOver
from penstock.engine.tasks.observer import Unobserved
from penstock.engine.tasks.works import PieceWork
from penstock.engine.tuning.settings import settings_of
from penstock.engine.workers.outside import NO_PROCESSES, OutsideWorkers
from penstock.engine.workers.processes import starting

PLAN = Dataset.range(9).filter(lambda x: True)._plan


class Far(Executor):
    """An executor that shares no memory with the consumer, and never does anything."""

    def submit(self, fn, /, *args, **kwargs):
        return Future()


@pytest.fixture
def said():
    return []


@pytest.fixture
def outside(said):
    return OutsideWorkers(CarryOver().workers, Budget(1 << 20), said.append, said.append)


def settings(**options):
    return settings_of(Dataset.range(1).with_options(Options(**options))._plan)


def test_the_same_plan_travels_once_for_all_streams(outside):
    observer, closes, given = Unobserved(), [], settings(executor=Far())
    again = Dataset.range(9).filter(lambda x: True)._plan

    def workers(plan):
        return outside.remote(PieceWork(plan, np.empty, observer), 1, observer, given, closes.append)

    assert workers(PLAN) is workers(PLAN)
    assert workers(PLAN) is not workers(again)
    assert outside.operations == [PLAN.label()]
    assert closes[0] == outside.executor.close
    assert len(closes) == 3  # each plan is let go of too
    assert not outside.starts


def test_without_processes_there_is_a_reason_and_nobody_to_wait_for(outside, said, monkeypatch):
    monkeypatch.setattr(starting, "obstacle", lambda: "it is forbidden")
    work = PieceWork(PLAN, np.empty, Unobserved())
    assert outside.processes_for(work, Unobserved(), settings(executor="processes", workers=1)) is None
    assert said == [NO_PROCESSES.format("it is forbidden")]
    assert (outside.in_processes, outside.starts, outside.operations) == ([], False, [])
    outside.want(3)
    outside.close()
