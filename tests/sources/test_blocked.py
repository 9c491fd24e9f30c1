"""Elements in blocks: any rows of any of them, and each decoded as seldom as the cache allows."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Ragged
from penstock.core.errors import DataError
from penstock.elements.spec import ArraySpec, ObjectSpec, RaggedSpec
from penstock.sources.blocked import BlockedSource
from penstock.testing.sources import verify_source


@dataclass(frozen=True)
class Words:
    """A lazy column."""

    values: tuple

    @property
    def nbytes(self):
        return 8 * len(self.values)

    def __len__(self):
        return len(self.values)

    def take(self, rows):
        return [self.values[row] for row in rows.tolist()]


SPEC = {
    "bool": ArraySpec((), np.dtype(np.bool_)),
    "id": ArraySpec((), np.dtype(np.int64)),
    "lists": RaggedSpec((None, None), np.dtype(np.int16)),
    "name": ObjectSpec(str),
    "numbers": ArraySpec((None,), np.dtype(np.int32)),
    "pair": ArraySpec((2,), np.dtype(np.float32)),
    "wide": ArraySpec((100,), np.dtype(np.uint8)),
}


@dataclass(frozen=True)
class Made:
    """Blocks made of the numbers of their rows."""

    bounds: np.ndarray
    block_bytes: int | None = 100
    decoded: list = field(default_factory=list, compare=False)
    checked: list = field(default_factory=list, compare=False)
    name: str = "made"
    spec: dict = field(default_factory=lambda: SPEC)

    def decode(self, block):
        self.decoded.append(block)
        ids = np.arange(*self.bounds[block : block + 2])
        columns = {
            "bool": ids % 2 == 0,
            "id": ids,
            "lists": Ragged.from_rows([Ragged.from_rows([[i], [i, i]], np.int16) for i in ids]),
            "name": Words(tuple(map(str, ids))),
            "numbers": Ragged.from_rows([np.full(i % 4, i, np.int32) for i in ids]),
            "pair": np.stack([ids, -ids], axis=1).astype(np.float32),
            "wide": np.repeat(ids.astype(np.uint8)[:, None], 100, axis=1),
        }
        return [columns[name] for name in sorted(self.spec)]

    def check(self, blocks):
        self.checked.append(list(blocks))

    def describe(self, block, row):
        return f"block {block}, row {row}"

    def fingerprint(self):
        return ("made", self.bounds.tolist())


def made(lengths, **settings):
    return Made(np.cumsum([0, *lengths]), **settings)


def test_files_are_sources_that_pass_the_conformance_checks():
    verify_source(BlockedSource(made([5, 1, 30, 7])))
    verify_source(BlockedSource(made([5, 1, 30, 7], block_bytes=None), cache_bytes=1))
    verify_source(BlockedSource(made([3, 3], spec={"id": SPEC["id"]})))
    verify_source(BlockedSource(made([])))


def test_the_files_of_all_blocks_of_a_read_are_looked_at_together():
    store = made([5, 1, 30, 7])
    source = BlockedSource(store)
    source.read_many(np.array([40, 0, 5, 2]))
    source.read_many(np.array([7, 8]))
    assert store.checked == [[0, 1, 3], [2]]


@given(st.lists(st.integers(1, 20), min_size=1, max_size=6), st.data())
def test_rows_of_several_blocks_come_in_the_requested_order(lengths, data):
    source = BlockedSource(made(lengths), data.draw(st.sampled_from([1, 1 << 20])))
    rows = data.draw(st.lists(st.integers(0, sum(lengths) - 1), max_size=40))
    for _ in range(2):  # the second time from columns that may be put together
        elements = source.read_many(np.array(rows, np.int64)).elements()
        assert [element["id"] for element in elements] == rows
        assert [element["name"] for element in elements] == [str(row) for row in rows]
        assert [element["bool"] for element in elements] == [row % 2 == 0 for row in rows]
        assert [element["numbers"].tolist() for element in elements] == [[row] * (row % 4) for row in rows]
        assert [element["lists"].tolist() for element in elements] == [[[row], [row, row]] for row in rows]
        assert [element["pair"].tolist() for element in elements] == [[row, -row] for row in rows]
        assert all((element["wide"] == row % 256).all() for element, row in zip(elements, rows, strict=True))


@dataclass(frozen=True)
class Loose:
    """Numbers from `low` on, made on demand; every fifth one fails."""

    low: int
    nbytes: int = 1

    def columns(self, rows):
        ids = rows + self.low
        bad = np.flatnonzero(ids % 5 == 0)
        if len(bad):
            error = DataError(f"{ids[bad[0]]} is bad")
            error.element = int(bad[0])
            raise error
        return [ids]


@given(st.lists(st.integers(1, 20), min_size=1, max_size=6), st.data())
def test_rows_of_a_block_with_bad_rows_are_made_or_the_bad_row_is_named(lengths, data):
    store = made(lengths, spec={"id": SPEC["id"]})

    class SomeLoose(Made):
        def decode(self, block):
            return super().decode(block) if block % 2 else Loose(int(self.bounds[block]))

    source = BlockedSource(SomeLoose(store.bounds, spec=store.spec), data.draw(st.sampled_from([1, 1 << 20])))
    loose = {row for row in range(source.length) if store.bounds.searchsorted(row, "right") % 2}
    rows = data.draw(st.lists(st.integers(0, source.length - 1), max_size=20))
    bad = [row for row in rows if row in loose and row % 5 == 0]
    with pytest.raises(DataError) if bad else nullcontext() as caught:
        elements = source.read_many(np.array(rows, np.int64)).elements()
        assert [element["id"] for element in elements] == rows
    if caught is not None:
        assert rows[caught.value.element] in bad
        assert str(caught.value) == f"{rows[caught.value.element]} is bad"


def test_each_block_is_decoded_once_and_cached():
    store = made([10, 10, 10])
    source = BlockedSource(store)
    source.read_many(np.array([25, 3, 14, 4, 26]))
    assert sorted(store.decoded) == [0, 1, 2]
    source.read_many(np.arange(30))
    assert len(store.decoded) == 3
    small = BlockedSource(made([10, 10, 10]), cache_bytes=1)
    small.read_many(np.array([25, 3, 14, 4, 26]))
    assert sorted(small.store.decoded) == [0, 1, 2]


def test_consecutive_rows_are_views():
    store = made([10], spec={"id": SPEC["id"], "wide": SPEC["wide"]})
    source = BlockedSource(store)
    one, other = (source.read_many(np.arange(2, 6)).columns for _ in range(2))
    assert all(np.shares_memory(a, b) for a, b in zip(one, other, strict=True))


def test_a_window_and_the_next_fit_the_cache():
    assert BlockedSource(made([10] * 9), cache_bytes=800).blocks.window == 4
    assert BlockedSource(made([10] * 9), cache_bytes=10).blocks.window == 1
    assert BlockedSource(made([10] * 9, block_bytes=None)).blocks is None
    assert BlockedSource(made([])).blocks is None


@pytest.mark.parametrize("row", [-1, 20])
def test_rows_out_of_range_are_refused(row):
    with pytest.raises(IndexError, match=f"row {row} is out of range: there are 20 rows"):
        BlockedSource(made([10, 10])).read_many(np.array([3, row]))


def test_an_error_of_one_block_is_raised_whenever_it_is_read():
    class Broken(Made):
        def decode(self, block):
            if block == 1:
                raise OSError("no such block")
            return super().decode(block)

    source = BlockedSource(Broken(np.array([0, 5, 10])))
    for _ in range(2):
        with pytest.raises(OSError, match="no such block"):
            source.read_many(np.array([7]))
        assert len(source.read_many(np.array([1, 2]))) == 2
