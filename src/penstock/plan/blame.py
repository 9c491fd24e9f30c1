"""Record on an exception the operation that failed, the element, and the records that the element is made from."""

from __future__ import annotations

import re
from itertools import islice

import numpy as np

from penstock import plan
from penstock.core.blame import Blame, RecordNames, add_blame, blames_of, complete_blame, copy_hint
from penstock.core.errors import ElementError
from penstock.core.frames import is_ours
from penstock.plan.node import Node

MOST_RECORDS_NAMED = 3
BLAMED = (Exception, SystemExit)
"""Exceptions of a user's function that are blamed on it: errors and `sys.exit()`, but not Ctrl-C."""
_AS_ARGUMENTS = (
    "a tuple comes as arguments, a dict as one: lambda a, b: ... for a tuple of two, lambda d: d['a'] for a dict"
)
_SAYS_ARGUMENTS = "takes .*positional argument|missing .*required positional argument"


def blame(
    error: BaseException,
    node: Node,
    row: int | None,
    of: Node | None = None,
    *,
    ids: dict[int, int] | None = None,
    detail: str = "",
) -> None:
    """Record on the exception that `node` failed at row `row` of itself, or of `of`, and the records of that row.

    In a stream, `row` is the id of an element: the place is the row that the element comes from, or its number in the
    node that counts elements. `row` is `None` if unknown. If the input is a stream, `ids` are the ids of the rows that
    an `ElementError` names.
    """
    made = of or node
    rows = _named_rows(error, node.inputs[0], ids) if node.inputs and (made.indexed or ids is not None) else ()
    is_first = not blames_of(error)
    add_blame(
        error,
        Blame(
            node.reported_as,
            None if row is None else plan.locate.place_of(made, row),
            None if row is None or (rows and made.indexed) else _base_records(made, row),
            rows,
            (*copy_hint(error), *_argument_hint(error)) if is_first else (),
            detail,
        ),
    )


def blame_given(error: BaseException, node: Node, row: int) -> None:
    """Record on an error of unknown place the element of the stream `node` in progress: `row` is its id."""
    complete_blame(
        error, None if node.indexed else plan.locate.place_of(node, row, is_named=False), _base_records(node, row)
    )


def _named_rows(error: BaseException, node: Node, ids: dict[int, int] | None) -> tuple[tuple[int, RecordNames], ...]:
    """Return the rows of `node` that an error names and that are not blamed yet, each with its records."""
    base = plan.locate.base_of(node)
    if not isinstance(error, ElementError) or blames_of(error) or base is None or (ids is None and base is not node):
        return ()
    return tuple((row, _record_names(base, row if ids is None else ids[row])) for row in error.rows)


def _base_records(node: Node, row: int) -> RecordNames | None:
    base = plan.locate.base_of(node)
    names = None if base is None else _record_names(base, row)
    return names if names and names.first else None


def _record_names(node: Node, row: int) -> RecordNames:
    """Return the records that a row of an indexed node is made from."""
    found = plan.locate.records(node, np.array([row], np.int64))
    first = tuple(map(str, islice(found, MOST_RECORDS_NAMED)))
    return RecordNames(first, sum(1 for _ in found))


def _argument_hint(error: BaseException) -> tuple[str, ...]:
    """Return how elements are passed, for an error about the number of arguments of a call of ours."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    ours = trace is None or is_ours(trace.tb_frame.f_code.co_filename)
    return (_AS_ARGUMENTS,) if ours and isinstance(error, TypeError) and re.search(_SAYS_ARGUMENTS, str(error)) else ()
