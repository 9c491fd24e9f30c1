"""Distinguish Penstock's own code from the user's."""

from __future__ import annotations

import os

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def is_ours(file: str) -> bool:
    """Return whether a source file, as a frame names it, is part of Penstock.

    >>> is_ours(__file__), is_ours("train.py")
    (True, False)
    """
    return file.startswith(_PACKAGE)
