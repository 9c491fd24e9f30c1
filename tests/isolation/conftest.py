"""The process that makes isolated runs, and the check that no thread is left of any."""

from __future__ import annotations

import pytest

from penstock.engine.workers.processes.pool import pool_for
from penstock.engine.workers.processes.starting import MAKES_RUNS, PoolSetup
from tests.engine.runs.conftest import nothing_is_left

__all__ = ["nothing_is_left"]


@pytest.fixture(scope="module")
def pool():
    """A process that makes whole runs, kept for the tests of one file."""
    made = pool_for(PoolSetup(1, program=MAKES_RUNS), 1 << 28)
    assert made.crew.begun.wait(60)
    yield made
    made.close()
