"""Every error of Penstock's own, in one tree; an exception of the user's function keeps its own type.

PenstockError
├── PlanError(ValueError)             a pipeline that cannot be built as described
├── ElementError(ValueError)          elements that do not fit together
├── DataError(ValueError)             input that cannot be read as the format it claims
│   └── DecodeError                   an image or audio that cannot be decoded
├── CursorError(ValueError)           a saved position that belongs to another plan or version
├── BudgetError(MemoryError)          an operation that must hold more bytes than the whole budget
├── FailuresError(RuntimeError)       more elements failed than the budget of their `on_error` allows
├── ClosedError(RuntimeError)         an iterator used after it was closed, failed or cancelled
├── RankError(RuntimeError)           ranks that disagree, or a rank that does not answer
├── WorkerError(RuntimeError)         an executor that lost or could not take a task
│   └── WorkerDiedError               an element that ends the process of every worker that makes it
└── MissingDependencyError(ImportError)   an optional library that is not installed

PlanWarning(UserWarning)              a pipeline that runs, but is probably a mistake
CacheWarning(UserWarning)             a cache on disk that cannot grow any more, or is made again
BudgetWarning(UserWarning)            a pipeline that runs, but cannot do all it was asked to within its memory budget
"""

from __future__ import annotations

from penstock.core.shown import as_message


class PenstockError(Exception):
    """The base of every error raised by Penstock itself.

    Its message shows no credentials of URLs and no control characters, and lines of over 4,000 characters are
    shortened, even if it quotes elements.
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*(as_message(each) if isinstance(each, str) else each for each in args))


class PlanError(PenstockError, ValueError):
    """A pipeline cannot be built as described."""


class ElementError(PenstockError, ValueError):
    """Elements do not fit together: another structure, shape or dtype.

    `rows` are the rows of the elements at fault, in the operation's input, as far as known.
    """

    rows: tuple[int, ...] = ()


class DataError(PenstockError, ValueError):
    """Input cannot be read as the format it claims to be.

    `element` is the position of the input at fault, within the run of rows that was being read.
    """

    element: int | None = None


class DecodeError(DataError):
    """An image, or audio, cannot be decoded."""


class CursorError(PenstockError, ValueError):
    """A saved position belongs to another plan, or to another version of the format."""


class BudgetError(PenstockError, MemoryError):
    """An operation must hold more bytes than the whole memory budget, or data does not fit on a device."""


class FailuresError(PenstockError, RuntimeError):
    """More elements failed than the budget of their `on_error` allows."""


class ClosedError(PenstockError, RuntimeError):
    """The iterator was closed, failed or cancelled and cannot continue."""


class RankError(PenstockError, RuntimeError):
    """The ranks of a job disagree about their pipeline, or a rank did not answer in time."""


class WorkerError(PenstockError, RuntimeError):
    """An executor lost a task or could not take it."""


class WorkerDiedError(WorkerError):
    """An element ends the process of every worker that makes it, as by a crash in native code.

    `row` is the global row of the element in the operation that the message names; `None` if several elements do it
    only together, or if `on_error=` of the operation handles the error. `by_service` is true if processes of `share`
    have ended, so that this one can ask for the elements before without a risk to itself.
    """

    by_service = False

    def __init__(self, message: str, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row


class MissingDependencyError(PenstockError, ImportError):
    """An optional library is not installed."""


class PlanWarning(UserWarning):
    """A pipeline can run, but is probably a mistake; `code` names the finding in docs/lint.md.

    The warning comes with the first iterator of a dataset, or when a run shows the finding, at the line that wrote the
    operation in question. To silence a finding, set `Options(ignore_lint="PS101")`.
    """

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class CacheWarning(UserWarning):
    """A cache on disk does not grow any more, or keeps elements of another pipeline: the run makes elements again."""


class BudgetWarning(UserWarning):
    """A pipeline runs, but cannot do all it was asked to within its memory budget."""
