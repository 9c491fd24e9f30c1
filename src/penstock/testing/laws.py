"""Guarantees of pipelines as one-line tests: the same elements again, by any worker, and after any restore."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Sequence
from itertools import islice, zip_longest
from typing import Any, cast

import numpy as np

from penstock.core.checks import check_count, check_list
from penstock.core.contexts import contextmanager
from penstock.core.options import Options
from penstock.dataset.dataset import Dataset
from penstock.dataset.iterator import Iterator
from penstock.engine.tasks.compile import compiled
from penstock.engine.tuning.settings import settings_of
from penstock.rewrite.passes import PLAIN, rewritten
from penstock.rewrite.seeds import bind_seeds
from penstock.testing.alike import MISSING, difference, multiset, same
from penstock.testing.culprit import Recorded, Recorder, first_to_differ
from penstock.testing.writes import first_write

__all__ = ["difference", "is_ordered", "multiset", "same", "verify_determinism", "verify_resume"]

WAYS: tuple[tuple[str, Options], ...] = (
    ("a second time", Options()),
    ("inline", Options(executor="inline")),
    ("without rewrites", Options(executor="inline", rewrite=False)),
    ("on 1 thread", Options(executor="threads", workers=1)),
    ("on 2 threads", Options(executor="threads", workers=2)),
    ("on 4 threads", Options(executor="threads", workers=4)),
)
"""The runs that `verify_determinism` compares."""


def verify_determinism(
    dataset: Dataset[Any], *, epoch: int = 0, most: int = 64, ways: Iterable[tuple[str, Options]] = WAYS
) -> None:
    """Assert that an epoch's first `most` elements are the same in every run, and made alone as `ds[epoch, i]`.

    A function that draws from a global generator, keeps state, reads the clock, or writes into the arrays of its
    element fails this check. The error names the first element that differs, and the operation if it is found; to find
    it, two runs are repeated. If the pipeline allows another order (`deterministic=False`), the whole epoch is
    compared, in any order.

    >>> verify_determinism(Dataset.range(9).shuffle().map(lambda x: x * 2).batch(2))
    >>> verify_determinism(Dataset.range(9).map(lambda x: x + np.random.rand()).batch(2))
    Traceback (most recent call last):
    AssertionError: element 0 of epoch 0 differs a second time: ...; the first operation to differ is map(lambda), which
    draws from NumPy's global generator; add a parameter `rng` to its function and draw from that
    """
    _check("verify_determinism", dataset, epoch, most)
    with _naming_writes(dataset, epoch, most):
        _verify_determinism(dataset, epoch, most, ways)


def _verify_determinism(dataset: Dataset[Any], epoch: int, most: int, ways: Iterable[tuple[str, Options]]) -> None:
    ways = check_list("verify_determinism", "ways", ways, "names and options")
    if not all(isinstance(way, tuple) and len(way) == 2 for way in ways):
        raise TypeError(f"verify_determinism(ways={ways!r:.80}): expected pairs of a name and options")
    bound = dataset.with_options(Options(seed=dataset.iterator(epoch=epoch).state_dict()["seed"]))
    ordered = is_ordered(bound)
    count = _count(bound, most, ordered=ordered)
    whole = _first(bound.iterator(epoch=epoch), count)
    again = _recorded(lambda: bound.with_options(Options(executor="inline")).iterator(epoch=epoch), count)
    for name, options in ways:
        other = bound.with_options(options)
        made = _first(other.iterator(epoch=epoch), count)
        found = _differs(whole, made, epoch, name, ordered=is_ordered(other))
        if found is not None:
            so = _recorded(lambda other=other: other.iterator(epoch=epoch), count)
            raise AssertionError(found + first_to_differ((again, again, True), (again, so, True)))
    if ordered and dataset._plan.indexed:  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        found = _differs(whole, [bound[epoch, row] for row in range(len(whole))], epoch, "made alone", ordered=True)
        if found is not None:
            apart = _together_and_alone(bound, epoch, len(whole))
            raise AssertionError(found + first_to_differ((again, again, True), apart))


def verify_resume(dataset: Dataset[Any], *, epoch: int = 0, most: int = 32, options: Options | None = None) -> None:
    """Assert that an epoch restored after any of its first `most` elements continues exactly as if uninterrupted.

    Each state is converted to JSON and back, and loaded into an iterator that runs with `options`, by default those of
    the dataset. The elements after each restore are compared to the end, and once more with a restore after every
    single element. The error names the first element that differs, and the operation if it is found; a function that
    writes into the arrays of its element also fails.

    >>> verify_resume(Dataset.range(9).shuffle().batch(2), options=Options(executor="threads", workers=2))
    """
    _check("verify_resume", dataset, epoch, most)
    with _naming_writes(dataset, epoch, most):
        _verify_resume(dataset, epoch, most, options)


def _verify_resume(dataset: Dataset[Any], epoch: int, most: int, options: Options | None) -> None:
    target = dataset if options is None else dataset.with_options(options)
    ordered = is_ordered(dataset) and is_ordered(target)
    count = _count(dataset, most, ordered=ordered)
    received: list[Any] = []
    states: list[str] = []
    with dataset.iterator(epoch=epoch) as it:
        states.append(json.dumps(it.state_dict()))
        for element in islice(it, most):
            received.append(element)
            states.append(json.dumps(it.state_dict()))
    whole = received if ordered else _first(_restored(target, states[0]), count)
    again = _recorded(lambda: _restored(dataset.with_options(Options(executor="inline")), states[0]), count)
    for step, state in enumerate(states):
        rest = _first(_restored(target, state), None if count is None else count - step)
        found = _differs(whole, [*received[:step], *rest], epoch, f"after a restore at {step}", ordered=ordered)
        if found is not None:
            so = _recorded(lambda state=state: _restored(target, state), count)
            raise AssertionError(found + first_to_differ((again, again, True), (again, so, step == 0)))
    chain: list[Any] = []
    state = states[0]
    for _ in whole:
        with _restored(target, state) as it:
            chain.append(next(it, MISSING))
            state = json.dumps(it.state_dict())
    found = _differs(whole, chain, epoch, "after a restore at every step", ordered=ordered)
    if found is not None:
        raise AssertionError(found + first_to_differ((again, again, True)))


@contextmanager
def _naming_writes(dataset: Dataset[Any], epoch: int, most: int) -> Generator[None]:
    """Report a function that writes into its input instead of any other failure, since the write may be the cause."""
    try:
        yield
    except AssertionError as error:
        _check_writes(dataset, epoch, most, error)
        raise
    _check_writes(dataset, epoch, most, None)


def _check_writes(dataset: Dataset[Any], epoch: int, most: int, cause: AssertionError | None) -> None:
    found = first_write(dataset, epoch, most)
    if found is not None:
        raise AssertionError(found) from cause


def is_ordered(dataset: Dataset[Any]) -> bool:
    """Return whether elements come in the order of the plan, as in any stream, and not as they are finished."""
    plan = dataset._plan  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    return not plan.indexed or settings_of(plan).ordered


def _restored(dataset: Dataset[Any], state: str) -> Iterator[Any]:
    it = dataset.iterator(epoch=0)
    it.load_state_dict(json.loads(state))
    return it


def _count(dataset: Dataset[Any], most: int, *, ordered: bool) -> int | None:
    """Return the number of elements to compare: `None`, for all of the epoch, if their order is loose."""
    if not ordered and dataset.cardinality() < 0:
        raise ValueError("endless elements in any order cannot be compared; take() some of them")
    return most if ordered else None


def _first(it: Iterator[Any], most: int | None) -> list[Any]:
    with it:
        return list(islice(it, most))


def _check(call: str, dataset: object, epoch: object, most: object) -> None:
    if not isinstance(dataset, Dataset):
        raise TypeError(f"{call}(dataset=): expected a dataset, not {type(dataset).__name__}")
    check_count(call, "epoch", epoch, least=0)
    check_count(call, "most", most, least=0)


def _recorded(begin: Callable[[], Iterator[Any]], most: int | None) -> Recorded:
    """Return a run of the iterator that `begin` makes, with its operations recorded."""

    def run(recorder: Recorder) -> list[Any]:
        it = begin()
        it._counters = cast("Any", recorder)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        return _first(it, most)

    return run


def _together_and_alone(bound: Dataset[Any], epoch: int, count: int) -> tuple[Recorded, Recorded, bool]:
    """Return the elements of the plan as written, made in one call and one by one."""
    plan = rewritten(bind_seeds(bound._plan, bound.options().seed or 0), PLAIN).plan  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    rows = np.arange(epoch * plan.stride, epoch * plan.stride + count)

    def made(parts: int) -> Recorded:
        def run(recorder: Recorder) -> Iterable[Any]:
            return map(compiled(plan, np.empty, recorder), np.array_split(rows, parts))

        return run

    return made(1), made(count), True


def _differs(whole: Sequence[Any], made: Sequence[Any], epoch: int, name: str, *, ordered: bool) -> str | None:
    """Return a description of the difference between the elements made and the expected elements."""
    if not ordered:
        missing = sorted(set(multiset(whole)) ^ set(multiset(made)))
        if missing or len(whole) != len(made):
            return f"epoch {epoch} has other elements {name}: {len(whole)} against {len(made)}; {missing[:3]}"
        return None
    for index, (one, other) in enumerate(zip_longest(whole, made, fillvalue=MISSING)):
        found = difference(one, other)
        if found is not None:
            return f"element {index} of epoch {epoch} differs {name}: {found}"
    return None
