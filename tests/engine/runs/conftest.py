"""A process that makes whole runs, kept for the tests of one file."""

from __future__ import annotations

import pytest

from penstock.engine.processes.pool import pool_for
from penstock.engine.processes.starting import MAKES_RUNS, PoolSetup


@pytest.fixture(scope="module")
def pool():
    made = pool_for(PoolSetup(1, program=MAKES_RUNS), 1 << 28)
    assert made.crew.begun.wait(60)
    yield made
    made.close()
