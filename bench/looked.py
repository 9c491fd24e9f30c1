"""Checks of batches of lines or rows: count the rows and, on a thorough run, read their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.tally import Tally

DIGITS = 7  # at the beginning of each line of text


def look_at_lines(tally: Tally, lines: np.ndarray | list[str]) -> None:
    """Take a batch of k lines, `str` or `bytes`: an array of shape (k,), or a list."""
    ids = np.array([int(line[:DIGITS]) for line in lines]) if tally.thorough else lines
    tally.add(ids, ids)


def look_at_objects(tally: Tally, columns: dict[str, Any]) -> None:
    """Take a batch of objects: an array of shape (k,) for each field."""
    tally.add(columns["score"], columns["id"])


def look_at_rows(tally: Tally, columns: dict[str, Any]) -> None:
    """Take a batch of rows of a table: an array of shape (k,) for each column, or a list of texts."""
    tally.add(columns["x00"], columns["id"])
