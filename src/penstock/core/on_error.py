"""Policies for elements whose function raises: raise, leave them out, or replace them."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY
from typing import Any

from penstock.core.checks import check_count, check_local_path, is_one_of
from penstock.core.frozen import frozen

__all__ = ["ErrorBudget", "OnError", "replace", "skip"]

JUDGED_FROM = 10
"""The number of failures from which on a rate is checked."""


@frozen()
class ErrorBudget:
    """A limit on failures per epoch: `count` in all, the share `rate` of the elements, `run` in a row.

    One more failure raises a `FailuresError`, which shows the last one. The rate is the share of failures among all
    elements, checked from the tenth failure on, and at the end of the epoch. Failures are counted in the order of the
    elements, so the epoch ends at the same failure for any number of workers, and after a restore.

    >>> bad = Dataset.range(9).map(lambda x: 6 // (x % 3), on_error=ps.on_error.skip(ErrorBudget(count=2)))
    >>> try:
    ...     list(bad)
    ... except ps.errors.FailuresError as error:
    ...     print(error)
    map(lambda, ...): 3 of 7 elements failed; at most 2 are allowed. The last:...
      row 6 (the number 6): ZeroDivisionError: ...
    """

    count: int | None = None
    _: KW_ONLY
    rate: float | None = None
    run: int | None = None

    def __post_init__(self) -> None:
        if self.count is not None:
            check_count("ErrorBudget", "count", self.count, least=0)
        if self.run is not None:
            check_count("ErrorBudget", "run", self.run, least=0)
        if self.rate is not None and not (isinstance(self.rate, float | int) and 0 <= self.rate <= 1):
            raise ValueError(f"ErrorBudget(rate={self.rate!r}): expected a share from 0 to 1")
        if self.count is None and self.rate is None and self.run is None:
            raise ValueError("ErrorBudget(): expected a count, a rate or a run")

    def exceeded(self, seen: int, failed: int, run: int, *, ended: bool = False) -> str | None:
        """Return a description of the exceeded limit, given `failed` of `seen` elements, the last `run` in a row.

        >>> ErrorBudget(rate=0.1).exceeded(50, 10, 1), ErrorBudget(rate=0.1).exceeded(50, 5, 1)
        ('10 of 50 elements failed; at most a share of 0.1 is allowed', None)
        """
        if self.count is not None and failed > self.count:
            return f"{failed} of {seen} elements failed; at most {self.count} are allowed"
        if self.run is not None and run > self.run:
            return f"{run} elements failed in a row; at most {self.run} are allowed"
        if self.rate is not None and (ended or failed >= JUDGED_FROM) and failed > self.rate * seen:
            return f"{failed} of {seen} elements failed; at most a share of {self.rate} is allowed"
        return None

    def told(self) -> str:
        """Return the budget as it is usually passed: a plain number for a count alone.

        >>> ErrorBudget(5).told(), ErrorBudget(rate=0.1).told()
        ('5', 'ErrorBudget(rate=0.1)')
        """
        return str(self.count) if self.rate is None and self.run is None else repr(self)

    def __repr__(self) -> str:
        limits = {"count": self.count, "rate": self.rate, "run": self.run}
        return f"ErrorBudget({', '.join(f'{name}={value}' for name, value in limits.items() if value is not None)})"


class _Nothing:
    """A placeholder for no replacement: the element is left out."""

    def __repr__(self) -> str:
        return "nothing"

    def __reduce__(self) -> str:
        return "NO_VALUE"


NO_VALUE = _Nothing()


@frozen()
class OnError:
    """A policy that replaces a failed element by `value`, or leaves it out, as made by `skip()` and `replace()`."""

    value: Any = NO_VALUE
    budget: ErrorBudget | None = None
    quarantine: str | None = None

    @property
    def counts(self) -> bool:
        """Return whether failures are counted or recorded."""
        return self.budget is not None or self.quarantine is not None

    def __repr__(self) -> str:
        value = [] if self.value is NO_VALUE else [repr(self.value)]
        budget = [] if self.budget is None else [f"budget={self.budget!r}"]
        quarantine = [] if self.quarantine is None else [f"quarantine={self.quarantine!r}"]
        return f"{'replace' if value else 'skip'}({', '.join(value + budget + quarantine)})"


def skip(budget: ErrorBudget | int | None = None, *, quarantine: str | os.PathLike[str] | None = None) -> OnError:
    """Leave out elements whose function raises: an `on_error=` for the operations that call a function of an element.

    `"skip"` means the same without a budget. A `MemoryError`, and exceptions that are not an `Exception`, such as
    `SystemExit`, always end the run. If an element fails, the other elements of its task are made again.

    `budget` limits how many elements may fail; a number is the limit per epoch. `quarantine` names a file to which a
    line of JSON is appended for each failure: its epoch, row, records, operation, error and traceback. A failure that
    the file already has is not written again, so a resumed run adds no duplicates.

    >>> list(Dataset.range(4).map(lambda x: 6 // (x - 1), on_error="skip"))
    [-6, 6, 3]
    >>> list(Dataset.range(4).map(lambda x: 6 // (x - 1), on_error=ps.on_error.skip(budget=1)))
    [-6, 6, 3]
    """
    return OnError(NO_VALUE, budget_of("skip", budget), _path_of("skip", quarantine))


def replace(
    value: Any, budget: ErrorBudget | int | None = None, *, quarantine: str | os.PathLike[str] | None = None
) -> OnError:
    """Use `value` as the result of a function that raises: an `on_error=` for the same operations.

    In `map`, `value` replaces the element; in other operations, the key, the length, or the True or False that the
    function would return. `budget` and `quarantine` work as in `ps.on_error.skip`. Without them, an indexed dataset
    stays indexed.

    >>> ds = Dataset.range(4).map(lambda x: 6 // (x - 1), on_error=ps.on_error.replace(0))
    >>> list(ds), ds[1]
    ([-6, 0, 6, 3], 0)
    """
    return OnError(value, budget_of("replace", budget), _path_of("replace", quarantine))


def budget_of(call: str, budget: object) -> ErrorBudget | None:
    """Return the budget for a `budget=` argument, where a number limits the failures of an epoch."""
    if budget is None or isinstance(budget, ErrorBudget):
        return budget
    return ErrorBudget(count=check_count(call, "budget", budget, least=0))


def on_error_of(call: str, given: object) -> OnError | None:
    """Return the policy for an `on_error=` argument, where `None` means to raise.

    >>> on_error_of("map", "skip")
    skip()
    """
    if is_one_of(given, "raise"):
        return None
    if is_one_of(given, "skip"):
        return OnError()
    if isinstance(given, OnError):
        return given
    raise ValueError(
        f"{call}(on_error={given!r:.80}): expected 'raise', 'skip', ps.on_error.skip(...) or ps.on_error.replace(value)"
    )


def _path_of(call: str, quarantine: str | os.PathLike[str] | None) -> str | None:
    return None if quarantine is None else check_local_path(call, "quarantine", quarantine)
