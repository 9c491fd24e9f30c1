"""Display of the user's exceptions as Python shows them."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

_PACKAGE = str(Path(__file__).parent.parent)


def print_error(error: Exception) -> None:
    """Print the error as Python does, with its notes, and without frames of other code than the user's."""
    shown = traceback.TracebackException.from_exception(error)
    each: traceback.TracebackException | None = shown
    while each is not None:
        each.stack = traceback.StackSummary.from_list([frame for frame in each.stack if _is_users(frame.filename)])
        each = each.__cause__ or each.__context__
    sys.stdout.flush()
    print("\n", *shown.format(), sep="", end="", file=sys.stderr)


def _is_users(file: str) -> bool:
    return not file.startswith((_PACKAGE, "<frozen importlib"))
