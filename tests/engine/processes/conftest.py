"""A pool of two worker processes, kept for all tests, so that runs with two workers have no start to wait for.

Until a worker is ready, tasks are made in the process of the tests, which deadly ones would end.
"""

from __future__ import annotations

import pytest

from penstock.engine.processes.pool import pool_for
from penstock.engine.processes.starting import PoolSetup

PATIENCE = 60  # seconds


@pytest.fixture(scope="session", autouse=True)
def pool():
    made = pool_for(PoolSetup(2), 1 << 28)
    assert made.crew.begun.wait(PATIENCE)
    yield made
    made.close()
