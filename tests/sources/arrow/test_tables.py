"""Common behavior of all table readers."""

from __future__ import annotations

import errno
import os

import pytest

from penstock.core.errors import DataError, PlanError
from penstock.sources.arrow.tables import check_same, errors_at, relative, shown, side_by_side, table_of
from penstock.sources.arrow.values import NullError

pa = pytest.importorskip("pyarrow")
SCHEMA = pa.schema({"a": pa.int64(), "b": pa.string(), "c": pa.struct({"d": pa.float32()})})


def test_unknown_columns_are_refused_with_the_nearest_name():
    assert table_of(SCHEMA, ["b", "a", "b"], "raise", "read").schema.names == ["b", "a"]
    with pytest.raises(PlanError, match=r"no column 'x'; there are 'a', 'b', 'c'"):
        table_of(SCHEMA, ["x"], "raise", "read")
    with pytest.raises(PlanError, match=r"nulls= has 'c\.e', which is not a column; did you mean 'c\.d'\?"):
        table_of(SCHEMA, None, {"c.e": 1}, "read")
    with pytest.raises(ValueError, match="nulls=3"):
        table_of(SCHEMA, None, 3, "read")


def test_row_bytes_are_estimated_without_rows():
    assert table_of(SCHEMA, ["a", "c"], "raise", "read").row_bytes == 12
    assert table_of(SCHEMA, None, "raise", "read").loose() == ["b"]


def test_whole_rows_have_no_missing_values():
    table = pa.table({"a": [1, None, 3, 4], "b": ["x", "y", None, "z"], "c": [{"d": 1.0}] * 3 + [{"d": None}]})
    assert table_of(table.schema, None, "drop", "read").whole_rows(table).tolist() == [True, False, False, False]


def test_schemas_that_differ_are_refused_with_both_names():
    table = table_of(SCHEMA, None, "raise", "read")
    check_same("read", "one", table, "two", SCHEMA, None)
    with pytest.raises(DataError, match="read: one and two differ: column 'b' is only in the first"):
        check_same("read", "one", table, "two", SCHEMA.remove(1), None)
    with pytest.raises(DataError, match="read: one and two differ: column 'b' is only in the first"):
        check_same("read", "one", table_of(SCHEMA, ["b"], "raise", "read"), "two", SCHEMA.remove(1), ["b"])
    check_same("read", "one", table_of(SCHEMA, ["a"], "raise", "read"), "two", SCHEMA.remove(1), ["a"])


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (NullError("x", 4), r"^file: column x is null in row 104; pass nulls=\{'x': a value\}"),
        (DataError("odd"), "^file: odd$"),
        (OSError("no thrift"), "^file: no thrift$"),
        (pa.ArrowInvalid("odd"), "^file: odd$"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), "^file: 'utf-8' codec"),
    ],
)
def test_errors_have_their_place(error, message):
    with pytest.raises(DataError, match=message), errors_at("file", 100):
        raise error


def test_errors_of_the_system_are_unchanged():
    with pytest.raises(FileNotFoundError), errors_at("file"):
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), "file")
    with pytest.raises(PlanError), errors_at("file"):
        raise PlanError("as it is")


def test_results_of_threads_are_in_order():
    assert [side_by_side(lambda i: i * i, count) for count in (0, 1, 5)] == [[], [0], [0, 1, 4, 9, 16]]


def test_file_names_are_shortened_in_labels():
    assert shown(["a.csv"]) == "'a.csv'"
    assert shown(["a.csv", "b.csv"]) == "2 files"
    assert relative(["/data/x/a", "/data/y/b"]) == ["x/a", "y/b"]
    assert relative(["/data/x/a"]) == ["a"]
