"""What every part of `Dataset` stands on: a handle on a plan, which notices when it is thrown away at once."""

from __future__ import annotations

import itertools
import sys
import warnings
import weakref
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.core.frames import is_ours
from penstock.plan.node import Node

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset

T_co = TypeVar("T_co", covariant=True)


@dataclass
class Use:
    """Whether a dataset was used, and where it was made: by which call, in which line of whose code."""

    call: str
    code: CodeType
    line: int
    used: bool = False


class Handle(Generic[T_co]):
    """A plan, the count of its passes, and whether anybody used it."""

    def __init__(self, plan: Node, *, transformed: bool = False) -> None:
        self._plan_unmarked = plan
        self._passes = itertools.count()  # the next epoch to iterate
        self._use: Use | None = None
        if transformed:
            call = "ds[...]" if plan.name == "slice" else f"ds.{plan.name}(...)"
            self._use = Use(call, *line_of_caller())
            weakref.finalize(self, _warn_if_discarded, self._use).atexit = False

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._plan,)  # a copy counts passes of its own, and nobody waits for its use

    @property
    def _plan(self) -> Node:
        if self._use is not None:
            self._use.used = True
        return self._plan_unmarked

    def _over(self, plan: Node) -> Dataset[Any]:
        """The dataset that a transformation returns."""
        from penstock.dataset.dataset import Dataset

        return Dataset(plan, transformed=True)


def line_of_caller() -> tuple[CodeType, int]:
    """The code and the line, outside Penstock, that called what calls this."""
    frame = sys._getframe(2)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the cheap way to the line
    while frame.f_back is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return frame.f_code, frame.f_lineno


def _warn_if_discarded(use: Use) -> None:
    if use.used:
        return
    from opcode import opmap

    # Below this frame is weakref's own, and then the code in which the last reference went. Only a statement that is
    # nothing but the call pops its value; a variable may go unused for good reasons, such as an error.
    frame = sys._getframe(1).f_back  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the same
    if frame is not None and frame.f_code is use.code and use.code.co_code[frame.f_lasti] == opmap["POP_TOP"]:
        warnings.warn_explicit(
            f"the result of {use.call} was thrown away. A transformation returns a new dataset and leaves the one it "
            f"is called on as it is: write `ds = {use.call}`",
            UserWarning,
            use.code.co_filename,
            use.line,
        )
