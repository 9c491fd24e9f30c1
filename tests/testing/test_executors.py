from __future__ import annotations

from concurrent.futures import Executor, Future, ThreadPoolExecutor

import pytest

from penstock.testing import executors


class Immediate(Executor):
    """Runs a task while it is submitted."""

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        try:
            future.set_result(self.run(fn, args, kwargs))
        except Exception as error:  # noqa: BLE001 - the future carries it
            future.set_exception(error)
        return future

    def run(self, fn, args, kwargs):
        return fn(*args, **kwargs)


class Forgetful(Immediate):
    """Gives the result of the task before."""

    last = None

    def run(self, fn, args, kwargs):
        self.last, result = fn(*args, **kwargs), self.last
        return self.last if result is None else result


class Reworded(Immediate):
    """Loses the type of errors."""

    def run(self, fn, args, kwargs):
        try:
            return fn(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - that is its fault
            raise RuntimeError(str(error)) from None


class ShutAfterwards(ThreadPoolExecutor):
    """Ends after some tasks."""

    taken = 0

    def submit(self, fn, /, *args, **kwargs):
        self.taken += 1
        if self.taken > 100:
            raise RuntimeError("no more")
        return super().submit(fn, *args, **kwargs)


@pytest.mark.parametrize("check", executors.CHECKS, ids=lambda check: check.__name__)
def test_the_least_executor_passes(check):
    check(Immediate())


def test_an_executor_with_wrong_results_fails():
    with pytest.raises(AssertionError) as caught:
        executors.verify_executor(Forgetful())
    assert "Forgetful does not pass yields_what_inline_yields" in caught.value.__notes__


def test_an_executor_that_changes_errors_fails():
    # the task that failed is done again here, one element at a time, which finds the error it really was
    executors.hands_errors_on(Reworded())


def test_an_executor_that_ends_by_itself_fails():
    with ShutAfterwards(2) as executor, pytest.raises(RuntimeError, match="no more"):
        executors.verify_executor(executor)
