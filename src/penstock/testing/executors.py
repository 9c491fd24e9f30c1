"""The requirements on a `concurrent.futures.Executor`, as checks that every executor must pass."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from itertools import islice
from typing import Any

import numpy as np

from penstock.core.errors import WorkerDiedError
from penstock.core.options import Options
from penstock.dataset.dataset import Dataset
from penstock.testing.laws import difference, multiset, same, verify_resume

ExecutorCheck = Callable[[Executor], None]


def verify_executor(executor: Executor, *, survives: bool = False) -> None:
    """Run every check of `CHECKS` on an open executor; an `AssertionError` names the one that fails.

    With `survives`, run those of `DEATH_CHECKS` too: the executor has workers that are replaced when they end.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as pool:
    ...     verify_executor(pool)
    """
    for check in CHECKS + (DEATH_CHECKS if survives else ()):
        try:
            check(executor)
        except Exception as error:
            error.add_note(f"{type(executor).__name__} does not pass {check.__name__}")
            raise


def yields_what_inline_yields(executor: Executor) -> None:
    """Check that cheap grouped elements, and batches with random functions and a short end, equal those made inline."""

    def jittered(x: np.int64, *, rng: np.random.Generator) -> dict[str, Any]:
        return {"value": x + rng.normal(), "text": f"<{x}>", "bytes": rng.integers(0, 256, (40, 40), dtype=np.uint8)}

    plain = Dataset.range(103).shuffle(seed=1).map(jittered).with_options(Options(seed=2, executor="inline"))
    for ds in (plain, plain.batch(8), plain.batch(8, drop_remainder=True), plain.take(0)):
        wanted, made = list(ds.iterator(epoch=1)), list(_by(ds, executor).iterator(epoch=1))
        if len(made) != len(wanted):
            raise AssertionError(f"{len(made)} elements came, but a run inline has {len(wanted)}")
        for index, (one, other) in enumerate(zip(wanted, made, strict=True)):
            if not same(one, other):
                raise AssertionError(f"element {index} differs from that of a run inline: {difference(one, other)}")


def takes_functions_that_no_module_has(executor: Executor) -> None:
    """Check that a closure over a large array travels once, and can be called for every row."""
    table = np.arange(50_000)
    made = list(_by(Dataset.range(0, 50_000, 5_000).map(lambda row: table[row] + 1), executor))
    if made != list(range(1, 50_001, 5_000)):
        raise AssertionError(f"a closure over an array made {made}")


def hands_errors_on(executor: Executor) -> None:
    """Check that an exception keeps its type and message, and that the elements before it are not lost."""

    def picky(x: np.int64) -> np.int64:
        if x == 37:
            raise LookupError("not 37")
        return x

    received: list[Any] = []
    with _by(Dataset.range(60).map(picky), executor).iterator() as it:
        try:
            received.extend(it)
        except LookupError as error:
            if error.args != ("not 37",):
                raise AssertionError(f"the error's arguments became {error.args}") from error
        else:
            raise AssertionError("the error of a task was lost")
    if received != list(range(37)):
        raise AssertionError(f"before the error of element 37 came {len(received)} elements: {received}")


def resumes(executor: Executor) -> None:
    """Check that a state saved under the executor continues under it, and inline."""
    ds = Dataset.range(40).shuffle().batch(3)
    verify_resume(_by(ds, executor), most=8)
    verify_resume(_by(ds, executor), most=8, options=Options(executor="inline"))


def serves_out_of_order(executor: Executor) -> None:
    """Check that all elements come once if they are yielded as they finish."""
    ds = Dataset.range(200).map(lambda x: x * x)
    loose = _by(ds, executor).with_options(Options(deterministic=False))
    if multiset(loose) != multiset(ds):
        raise AssertionError("out of order, other elements came")


def stays_open(executor: Executor) -> None:
    """Check that closing an iterator early leaves the executor to its owner, and to the next iterator."""
    ds = _by(Dataset.range(500).batch(2), executor)
    for _ in range(3):
        with ds.iterator(epoch=0) as it:
            made = [batch.tolist() for batch in islice(it, 5)]
            json.dumps(it.state_dict())
        if made != [[2 * index, 2 * index + 1] for index in range(5)]:
            raise AssertionError(f"after an early close came {made}")
    if executor.submit(len, "open").result() != 4:
        raise AssertionError("the executor no longer works")


def leaves_no_thread(executor: Executor) -> None:
    """Check that iterators that were exhausted, closed or failed leave no thread more than the first one did."""
    ds = _by(Dataset.range(40).map(abs), executor)
    list(ds)
    before = threading.active_count()
    for _ in range(5):
        list(ds)
        with ds.iterator() as it:
            next(it)
        hands_errors_on(executor)
    if threading.active_count() > before + THREADS_ENDING:
        raise AssertionError(f"{threading.active_count() - before} threads more: {threading.enumerate()}")


def outlives_a_worker(executor: Executor) -> None:
    """Check that a worker that ends in the middle of a task changes nothing; workers must share this host's files."""
    with tempfile.TemporaryDirectory() as folder:

        def ends_once(x: np.int64) -> np.int64:
            if x == 20:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(os.path.join(folder, "ended"))
                    os._exit(3)
            return x * 2

        made = list(_by(Dataset.range(40).map(ends_once), executor))
    if made != list(range(0, 80, 2)):
        raise AssertionError(f"after the end of a worker came {made}")


def names_a_deadly_element(executor: Executor) -> None:
    """Check that an element that ends each of its workers is an error that names its row."""

    def deadly(x: np.int64) -> np.int64:
        if x == 5:
            os._exit(3)
        return x

    try:
        made = list(_by(Dataset.range(9).map(deadly), executor))
    except WorkerDiedError as error:
        if error.row != 5:
            raise AssertionError(f"row {error.row} was blamed, not row 5") from error
    else:
        raise AssertionError(f"the deadly element was lost: {made}")


CHECKS: tuple[ExecutorCheck, ...] = (
    *(yields_what_inline_yields, takes_functions_that_no_module_has, hands_errors_on, resumes, serves_out_of_order),
    *(stays_open, leaves_no_thread),
)
"""Functions of an open executor; `pytest.mark.parametrize("check", CHECKS)` makes a test of each."""
DEATH_CHECKS: tuple[ExecutorCheck, ...] = (outlives_a_worker, names_a_deadly_element)
"""Checks of an executor that replaces workers that end."""
THREADS_ENDING = 2  # that may still be at their end


def _by(dataset: Dataset[Any], executor: Executor) -> Dataset[Any]:
    return dataset.with_options(Options(executor=executor))
