"""Pools whose workers end before they take a task."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import pytest

import penstock as ps
from penstock.core.errors import WorkerError
from penstock.engine.workers.handed_in.replaceable import FRUITLESS_STARTED

SPAWN = multiprocessing.get_context("spawn")


def failing(what):
    raise RuntimeError(f"no {what}")


def failing_once(path):
    try:
        with open(path, "x"):
            pass
    except FileExistsError:
        return
    raise RuntimeError("not yet")


def by(executor):
    return ps.Dataset.range(64).map(lambda x: x + 1).batch(4).with_options(ps.Options(executor=executor)).iterator()


def pool(initializer, argument, workers=1):
    return ProcessPoolExecutor(workers, mp_context=SPAWN, initializer=initializer, initargs=(argument,))


@pytest.mark.parametrize("workers", [1, 2])
def test_an_initializer_that_fails_is_named_with_its_exception(workers):
    made = []

    def new():
        made.append(pool(failing, "GPU", workers))
        return made[-1]

    with pytest.raises(WorkerError, match=r"its initializer failing raised RuntimeError: no GPU: correct the"):
        list(by(new))
    assert len(made) == FRUITLESS_STARTED


def test_the_initializer_of_a_pool_that_is_handed_in_is_named():
    with (
        pool(failing, "GPU") as given,
        by(given) as it,
        pytest.raises(WorkerError, match=r"its initializer failing raised RuntimeError: no GPU"),
    ):
        list(it)
    assert "its initializer failing failed in a worker" in it.stats().events[0].words


def test_a_run_goes_on_once_the_initializer_succeeds(tmp_path):
    with pool(failing_once, str(tmp_path / "failed")) as given, by(given) as it:
        assert [x for batch in it for x in batch.tolist()] == list(range(1, 65))
    assert [event.kind for event in it.stats().events] == ["broken"]


UNGUARDED = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
import penstock as ps

pool = ProcessPoolExecutor(2, multiprocessing.get_context("spawn"))
print(list(ps.Dataset.range(40).batch(8).with_options(ps.Options(executor=pool))))
"""


def test_a_script_that_makes_a_pool_without_a_guard_is_told_so_soon(tmp_path):
    """Each worker runs the script, in which it fails to begin workers of its own."""
    (tmp_path / "script.py").write_text(UNGUARDED)
    command = [sys.executable, "-W", "ignore", str(tmp_path / "script.py")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    last = ran.stderr.strip().splitlines()[-2]
    assert last.startswith("penstock.core.errors.WorkerError: 2 pools broke one after another without a task done")
    assert "ended with exit code 1 before it took a task: correct the initializer= of the pool" in last
    assert last.endswith('below `if __name__ == "__main__":`, because its workers run all other lines')
