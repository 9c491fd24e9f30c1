"""An element that kills its worker as others might: it is named after many more deaths than one that ends it itself."""

from __future__ import annotations

import os
import signal

import pytest

import penstock as ps
from penstock.core.errors import WorkerDiedError
from penstock.engine.workers.suspects import MOST_KILLED
from tests.engine.processes.conftest import pool

D = ps.Dataset
__all__ = ["pool"]


def test_an_element_that_kills_its_worker_is_named_in_the_end(pool):
    def deadly(x):
        if x == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    got = []
    with pytest.raises(WorkerDiedError, match=rf"row 3 of map\(deadly\) ends[^$]*{MOST_KILLED} workers in a row"):
        got.extend(D.range(10).map(deadly).with_options(ps.Options(executor="processes", workers=2)))
    assert got == [0, 1, 2]
