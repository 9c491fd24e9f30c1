"""What every part of `Dataset` stands on: a handle on a plan, which notices when it is thrown away unused."""

from __future__ import annotations

import itertools
import sys
import warnings
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.core.frames import is_ours
from penstock.plan.node import Node

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset

T_co = TypeVar("T_co", covariant=True)


@dataclass
class Use:
    """Whether a dataset was used, and where it was made."""

    operation: str
    file: str
    line: int
    used: bool = False


class Handle(Generic[T_co]):
    """A plan, the count of its passes, and whether anybody used it."""

    def __init__(self, plan: Node, *, transformed: bool = False) -> None:
        self._plan_unmarked = plan
        self._passes = itertools.count()  # the next epoch to iterate
        self._use: Use | None = None
        if transformed:
            self._use = Use(plan.name, *_line_of_caller())
            weakref.finalize(self, _warn_if_unused, self._use).atexit = False

    @property
    def _plan(self) -> Node:
        if self._use is not None:
            self._use.used = True
        return self._plan_unmarked

    def _over(self, plan: Node) -> Dataset[Any]:
        """The dataset that a transformation returns."""
        from penstock.dataset.dataset import Dataset

        return Dataset(plan, transformed=True)


def _line_of_caller() -> tuple[str, int]:
    frame = sys._getframe(2)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the cheap way to the line
    while frame.f_back is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _warn_if_unused(use: Use) -> None:
    if not use.used:
        warnings.warn_explicit(
            f"the dataset that {use.operation}() returned was never used. A transformation returns a new dataset and "
            f"leaves the one it is called on as it is: write `ds = ds.{use.operation}(...)`",
            UserWarning,
            use.file,
            use.line,
        )
