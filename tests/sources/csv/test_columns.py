"""The columns of CSV files: their names, and their types, by records of which some may be no rows."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from penstock.core.errors import DataError, PlanError
from penstock.dataset.readers.tables import read_csv
from penstock.sources.csv.columns import BLOCKS, RecordBlock, check_same_names, names_in, schema_of, types_in
from penstock.sources.csv.parsing import Form, Records
from penstock.sources.csv.records import Dialect

pa = pytest.importorskip("pyarrow")
FORM = Form(Dialect(), "utf-8")


def test_names_are_the_fields_of_the_first_record():
    assert names_in(b'\xef\xbb\xbf"a\nb",c\n', "a.csv", FORM) == ["a\nb", "c"]
    assert names_in("ä;b".encode("latin-1"), "a.csv", Form(Dialect(";", None), "latin-1")) == ["ä", "b"]
    with pytest.raises(DataError, match=r"a\.csv: the record with the names of the columns is missing"):
        names_in(b"", "a.csv", FORM)
    with pytest.raises(PlanError, match=r"a\.csv has several columns with the name 'a'"):
        names_in(b"a,b,a", "a.csv", FORM)


def test_files_have_the_same_names_in_any_order():
    check_same_names("a.csv", ["x", "y"], "b.csv", ["y", "x"])
    with pytest.raises(DataError, match=r"a\.csv and b\.csv differ: column 'y'"):
        check_same_names("a.csv", ["x", "y"], "b.csv", ["x", "z"])


def test_given_types_override_inferred_ones():
    found = types_in([RecordBlock("a.csv", ["a", "b", "c"], Records(b"1,2.5,\n3,4,\n", 2, 0, 0))], (), FORM)
    assert [str(field.type) for field in schema_of(["c", "b", "a"], None, found)] == ["string", "double", "int64"]
    given = schema_of(["a", "b", "c"], {"a": str, "b": np.float32, "c": pa.int8()}, found)
    assert [str(field.type) for field in given] == ["string", "float", "int8"]
    assert [str(field.type) for field in schema_of(["a"], None, {})] == ["string"]


def test_types_of_empty_columns_are_inferred_from_a_limited_number_of_later_blocks():
    asked = []

    def blocks(empty, last):
        for content in [b"1,\n"] * empty + [last]:
            asked.append(content)
            yield RecordBlock("a.csv", ["a", "b"], Records(content, 1, 0, 0))

    assert {name: str(of) for name, of in types_in(blocks(3, b"x,2.5\n"), (), FORM).items()} == {
        "a": "int64",
        "b": "double",
    }
    assert len(asked) == 4
    assert list(types_in(blocks(9, b"1,2\n"), ["b"], FORM)) == ["a"]
    assert len(asked) == 5
    assert list(types_in(blocks(BLOCKS + 9, b"1,2\n"), (), FORM)) == ["a"]
    assert len(asked) <= 5 + BLOCKS + 1
    assert types_in([], (), FORM) == {}


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_types_are_inferred_from_valid_records(tmp_path, name):
    def write(*records):
        content = b"\n".join([b"n,text", *records])
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)

    write(b"0,a", b"1,2,3", b"\xff,2,3", b"2,b")
    ds = read_csv(tmp_path / name)
    assert repr(ds.element_spec) == "{'n': int64, 'text': str}"
    assert [row["n"] for row in ds.ignore_errors()] == [0, 2]
    write(b"1", b"1,2,3")
    with pytest.raises(DataError, match=r"a\.csv.*: Expected 2 columns, got 1: 1, in line 2"):
        read_csv(tmp_path / name)
