"""The checks of sources: Penstock's own sources pass, and each kind of mistake is found."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from penstock.elements.chunks.chunk import Columns
from penstock.elements.nested.structure import LEAF
from penstock.elements.spec import ArraySpec
from penstock.index.blocked import even
from penstock.sources.arrays import slices
from penstock.sources.constant import constant
from penstock.sources.files import FileBytes
from penstock.sources.indexable import indexable
from penstock.sources.integers import counter, integer_range
from penstock.testing.sources import verify_source


@pytest.mark.parametrize(
    "source",
    [
        slices({"x": np.arange(12.0).reshape(6, 2), "name": ["a", "b", "c", "d", "e", "f"]}),
        slices(np.zeros((0, 3))),
        constant({"x": [1, 2]}),
        indexable([1, "a", None]),
        integer_range(5, 900, 3),
        counter(3, 2),
    ],
    ids=lambda source: source.name,
)
def test_sources_of_penstock_pass(source):
    verify_source(source)


def test_files_pass(tmp_path):
    for i in range(5):
        (tmp_path / f"{i}").write_bytes(b"x" * i)
    verify_source(FileBytes([str(tmp_path / f"{i}") for i in range(5)], np.arange(5)))


@dataclass(frozen=True)
class Squares:
    name: str = "squares"
    length: int = 300

    def spec(self):
        return ArraySpec((), np.dtype(np.int64))

    def read_many(self, rows, out=None):
        return Columns(LEAF, [rows * rows], len(rows))

    def describe(self, row):
        return f"square {row}"

    def fingerprint(self):
        return ("squares", self.length)


class Forgetful(Squares):
    def read_many(self, rows, out=None):
        return Columns(LEAF, [np.unique(rows) ** 2], len(np.unique(rows)))


class Sorted(Squares):
    def read_many(self, rows, out=None):
        return Columns(LEAF, [np.sort(rows) ** 2], len(rows))


class Rude(Squares):
    def read_many(self, rows, out=None):
        rows *= rows
        return Columns(LEAF, [rows.copy()], len(rows))


class Greedy(Squares):
    kept = np.empty((10_000, 1), np.int64)

    def spec(self):
        return ArraySpec((1,), np.dtype(np.int64))

    def read_many(self, rows, out=None):
        Greedy.kept[: len(rows), 0] = rows * rows
        return Columns(LEAF, [Greedy.kept[: len(rows)]], len(rows))


class Counting(Squares):
    calls = itertools.count()

    def read_many(self, rows, out=None):
        return Columns(LEAF, [rows * rows + next(self.calls)], len(rows))


class Floating(Squares):
    def spec(self):
        return ArraySpec((), np.dtype(np.float64))


class Nameless(Squares):
    def describe(self, row):
        return ""


class Blocked(Squares):
    blocks = even(299, 10, 2)


class Elsewhere(Squares):
    def fingerprint(self):
        return ("squares", id(self))


class Straying(Squares):
    def read_many(self, rows, out=None):
        made = np.asarray(rows * rows)
        if out and out[0].shape == made.shape and out[0].dtype == made.dtype:
            out[0][...] = made
            made = out[0][:]
        return Columns(LEAF, [made], len(rows))


@pytest.mark.parametrize(
    ("cls", "found"),
    [
        (Forgetful, "differs"),
        (Sorted, "differs"),
        (Rude, "changed its argument"),
        (Greedy, "differs"),
        (Counting, "differs"),
        (Floating, "but the spec is"),
        (Nameless, "has no name"),
        (Blocked, "last block ends"),
        (Elsewhere, "fingerprint"),
        (Straying, "not the given array"),
    ],
)
def test_each_wrong_source_fails(cls, found):
    with pytest.raises(AssertionError, match=found):
        verify_source(cls())


def test_an_invalid_length_fails():
    with pytest.raises(AssertionError, match="length is"):
        verify_source(Squares(length=2.5))


def test_a_correct_source_passes():
    verify_source(Squares())
