"""A pool of two worker processes, kept for all tests, so that runs with two workers have no start to wait for.

Until a worker is ready, tasks are made in the process of the tests, which deadly ones would end.
"""

from __future__ import annotations

import pytest

from tests.workers import two_processes

pool = pytest.fixture(scope="session", autouse=True)(two_processes)
