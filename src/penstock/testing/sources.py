"""The requirements on a source, as checks that every source must pass."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from penstock.core.arrays import Rows
from penstock.elements.chunks.chunk import Columns
from penstock.elements.nested.structure import paths
from penstock.elements.spec import compatible, describe, spec_of
from penstock.index.blocked import Blocks
from penstock.sources.protocol import Source
from penstock.testing.alike import difference

SourceCheck = Callable[[Source], None]
_MOST = 200
"""The number of elements to check at the beginning, and at the end."""


def verify_source(source: Source) -> None:
    """Run every check of `CHECKS` on a source; an `AssertionError` names the one that fails.

    >>> from penstock.sources.indexable import indexable
    >>> verify_source(indexable(["a", "b", "c"]))
    """
    for check in CHECKS:
        try:
            check(source)
        except Exception as error:
            error.add_note(f"{source.name} does not pass {check.__name__}")
            raise


def has_a_length_and_a_name(source: Source) -> None:
    """Check that the length is a count, or that of a source without end, and that there is a name."""
    assert isinstance(source.name, str), f"the name is {source.name!r}"
    assert source.name, "the name is empty"
    assert isinstance(source.length, int), f"the length is {source.length!r}, not an int"
    assert source.length >= -1, f"the length is {source.length}"


def reads_any_rows_in_any_order(source: Source) -> None:
    """Check that rows read forwards, backwards, scattered, repeated or not at all equal the elements made alone."""
    rows = _rows(source)
    alone = {row: _read(source, [row])[0] for row in rows}
    mixed = np.random.default_rng(0)
    orders: list[Sequence[int]] = [rows, rows[::-1], rows[:1] * 3, rows[1:4], []]
    orders += [mixed.choice(rows, size).tolist() for size in (1, 2, 17, 2 * len(rows)) if rows]
    for order in orders:
        _compare([alone[row] for row in order], _read(source, order), order, "made alone")


def writes_into_memory_that_fits(source: Source) -> None:
    """Check that the source yields the same elements into given memory, whether or not the memory fits."""
    rows = _rows(source)
    for order in (rows, rows[::-1], (rows[::3] * 2)[:50]):
        plain = source.read_many(np.array(order, np.int64))
        if not isinstance(plain, Columns):
            return
        wanted = plain.elements()
        columns = [column if isinstance(column, np.ndarray) else np.empty(0) for column in plain.columns]
        fitting = [np.empty(column.shape, column.dtype) for column in columns]
        wrong = [np.empty((len(order) + 1, 7), np.int8) for _ in columns]
        for memory in (fitting, wrong, fitting[:-1]):
            made = source.read_many(np.array(order, np.int64), memory)
            _compare(wanted, made.elements(), order, "made without memory")
            if memory is fitting and isinstance(made, Columns):
                for path, column, given in zip(paths(made.structure), made.columns, memory, strict=True):
                    strays = isinstance(column, np.ndarray) and column is not given and np.shares_memory(column, given)
                    assert not strays, f"the column {path} is a part of the given memory, not the given array"


def does_not_change_with_what_is_read(source: Source) -> None:
    """Check that elements read twice are the same, and that given memory is not returned again."""
    rows = np.array(_rows(source)[:20], np.int64)
    first = source.read_many(rows).elements()
    kept = pickle.dumps(first)
    source.read_many(rows[::-1].copy())
    _compare(pickle.loads(kept), source.read_many(rows).elements(), rows.tolist(), "read first")  # noqa: S301 - made here
    _compare(pickle.loads(kept), first, rows.tolist(), "as it was when it was read")  # noqa: S301


def says_what_elements_look_like(source: Source) -> None:
    """Check that every element matches the spec, if there is one."""
    spec = source.spec()
    if spec is None:
        return
    for row in _rows(source):
        found = spec_of(_read(source, [row])[0])
        assert compatible(spec, found), f"row {row} is {describe(found)}, but the spec is {describe(spec)}"


def names_every_record(source: Source) -> None:
    """Check that each row has a name for its record."""
    for row in _rows(source):
        assert isinstance(source.describe(row), str), f"row {row} is called {source.describe(row)!r}"
        assert source.describe(row), f"row {row} has no name"


def travels(source: Source) -> None:
    """Check that a pickled source, read or not, yields the same, with the same fingerprint in another process."""
    rows = _rows(source)[:20]
    wanted = _read(source, rows)
    there: Source = pickle.loads(pickle.dumps(source))  # noqa: S301 - made here
    _compare(wanted, _read(there, rows), rows, "read before it was pickled")
    assert there.fingerprint() == source.fingerprint(), "after pickling, the fingerprint differs"
    program = "import pickle, sys; print(repr(pickle.load(sys.stdin.buffer).fingerprint()))"
    made = subprocess.run(  # noqa: S603 - of this interpreter
        [sys.executable, "-c", program],
        input=pickle.dumps(there),
        stdout=subprocess.PIPE,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert made.stdout.decode().strip() == repr(source.fingerprint()), "in another process, the fingerprint differs"


def serves_many_threads(source: Source) -> None:
    """Check that four threads that read scattered rows get the same elements as one thread."""
    rows = _rows(source)
    if not rows:
        return
    fresh: Source = pickle.loads(pickle.dumps(source))  # noqa: S301 - made here
    orders = [np.random.default_rng(seed).choice(rows, 30).tolist() for seed in range(16)]
    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(lambda order: _read(fresh, order), orders))
    for order, elements in zip(orders, made, strict=True):
        _compare(_read(source, order), elements, order, "read by one thread")


def lies_in_blocks_that_add_up(source: Source) -> None:
    """Check that the blocks, if any, make up the whole source."""
    blocks = getattr(source, "blocks", None)
    if blocks is None:
        return
    assert isinstance(blocks, Blocks), f"blocks are {type(blocks).__name__}, not index.blocked.Blocks"
    bounds = blocks.bounds
    assert bounds[0] == 0, f"the first block begins at {bounds[0]}"
    assert bounds[-1] == source.length, f"the last block ends at {bounds[-1]} of {source.length}"
    assert bool((np.diff(bounds) > 0).all()), "a block is empty"


CHECKS: tuple[SourceCheck, ...] = (
    *(has_a_length_and_a_name, reads_any_rows_in_any_order, writes_into_memory_that_fits),
    *(does_not_change_with_what_is_read, says_what_elements_look_like, names_every_record, travels),
    *(serves_many_threads, lies_in_blocks_that_add_up),
)
"""Functions of a source; `pytest.mark.parametrize("check", CHECKS)` makes a test of each."""


def _rows(source: Source) -> list[int]:
    """Return the rows to check: those at both ends."""
    if source.length < 0:
        return list(range(_MOST))
    return sorted({*range(min(source.length, _MOST)), *range(max(source.length - _MOST, 0), source.length)})


def _read(source: Source, rows: Sequence[int]) -> list[Any]:
    order: Rows = np.array(rows, np.int64)
    before = order.copy()
    made = source.read_many(order)
    assert len(made) == len(rows), f"{len(made)} elements came for {len(rows)} rows"
    assert np.array_equal(order, before), "read_many changed its argument `rows`"
    return made.elements()


def _compare(wanted: Sequence[Any], made: Sequence[Any], rows: Sequence[int], other: str) -> None:
    assert len(made) == len(wanted), f"{len(made)} elements came for {len(wanted)} rows"
    for one, element, row in zip(wanted, made, rows, strict=True):
        found = difference(one, element)
        assert found is None, f"row {row} differs from that {other}: {found}"
