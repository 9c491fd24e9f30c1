"""JSON lines: the results of the json module for each line, and errors that name file, line and column."""

from __future__ import annotations

import gzip
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.core.errors import DataError, PlanError
from penstock.sources.text.json_lines import json_files
from penstock.testing.sources import verify_source

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def written(tmp_path, text, name="a.jsonl"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read(path, rows=None, **settings):
    files = json_files([str(path)], **settings)
    rows = range(files.length) if rows is None else rows
    return files.read_many(np.array(list(rows), np.int64)).elements()


@given(
    objects=st.lists(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), max_size=6),
    ascii=st.booleans(),
    end=st.sampled_from(["\n", "\r\n", " \n\n", "\n \t\r\n"]),
    start=st.sampled_from(["", " ", "\n\n", " \t\n"]),
)
def test_objects_are_those_of_the_json_module(tmp_path_factory, objects, ascii, end, start):
    lines = [json.dumps(each, ensure_ascii=ascii) for each in objects]
    path = written(tmp_path_factory.getbasetemp(), start + end.join(lines) + end)
    assert read(path) == objects
    assert read(path, range(len(objects))[::-1]) == objects[::-1]


def test_numbers_are_as_python_reads_them(tmp_path):
    (value,) = read(written(tmp_path, '{"a": 123456789012345678901, "b": NaN, "c": 1e999, "d": 1.0, "a": 2}'))
    assert math.isnan(value.pop("b"))
    assert repr(value) == "{'a': 2, 'c': inf, 'd': 1.0}"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"a": 1', "column 8"),
        ('{"a": tru}', "column 7"),
        ('{"a": 1} {"a": 2}', "column 9: more text"),
        (' {"a": 1,}', "column"),
        ("[1, 2]", "column 1: expected a JSON object, not an array"),
        ("3", "not a number"),
        ("null", "not null"),
        ("x", "column 1: Expecting value"),
        ('{"a": "' + "\x01" + '"}', "column 8"),
        ('{"a":' + "[" * 100_000, "nested too deeply"),
        ('{"a": ' + "1" * 10_000 + "}", "digits"),
        (b'{"a": "\xff"}', "0xff is not valid utf-8"),
    ],
)
def test_a_line_that_is_no_object_is_an_error_with_its_place(tmp_path, line, told):
    line = line if isinstance(line, bytes) else line.encode()
    path = written(tmp_path, b'{"a": 1}\n\n' + line + b"\n")
    with pytest.raises(DataError, match=r"a\.jsonl, line 3") as caught:
        read(path, [0, 0, 1])
    assert told in str(caught.value)
    assert caught.value.element == 2


def test_columns_are_chosen_and_have_their_order(tmp_path):
    path = written(tmp_path, '{"a": 1, "b": [1], "c": {"d": 2}}')
    assert [*read(path, columns=["c", "a"])[0].items()] == [("c", {"d": 2}), ("a", 1)]


def test_columns_are_converted_to_their_types(tmp_path):
    path = written(tmp_path, '{"n": 3, "x": 2, "t": [[1, 2], [3, 4]], "e": [], "s": "é", "y": true, "o": [1, "a"]}')
    kinds = {"n": np.uint8, "x": "f4", "t": np.int16, "e": float, "s": str, "y": bool}
    (value,) = read(path, types=kinds)
    assert list(value) == ["n", "x", "t", "e", "s", "y", "o"]
    (chosen,) = read(path, columns=["x", "n", "o"], types={"n": np.uint8})
    assert list(chosen.items()) == [("x", 2), ("n", 3), ("o", [1, "a"])]
    dtypes = {name: found.dtype.str for name, found in value.items() if hasattr(found, "dtype")}
    assert dtypes == {"n": "|u1", "x": "<f4", "t": "<i2", "e": "<f8"}
    assert value["y"] is True  # numbers of int64, float64 and bool are Python's own
    assert (value["n"], value["x"], value["t"].tolist(), value["e"].shape) == (3, 2.0, [[1, 2], [3, 4]], (0,))
    assert (value["s"], value["o"]) == ("é", [1, "a"])


@pytest.mark.parametrize(("kind", "value"), [(np.float32, "NaN"), (np.float64, "-Infinity"), (np.float16, "[NaN, 1]")])
def test_nan_and_infinity_are_numbers(tmp_path, kind, value):
    (found,) = read(written(tmp_path, f'{{"a": {value}}}'), types={"a": kind})
    np.testing.assert_equal(found["a"], np.asarray(json.loads(value), kind))


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        *[("1.5", np.int64), ("300", np.uint8), ("-1", np.uint64), ("[1, [2]]", np.int64), ('"3"', np.int64)],
        *[("3", str), ("true", np.int64), ("1", np.bool_), ("1e300", np.float32), ("[1e300]", np.float32)],
        *[("[300]", np.uint8), ("[1.0]", np.int8), ("1" * 400, np.float64)],
        *[(value, np.float32) for value in ("null", "[1, null]", "{}")],
    ],
)
def test_a_value_of_another_type_is_an_error(tmp_path, value, kind):
    path = written(tmp_path, f'{{"a": {value}}}')
    with pytest.raises(DataError, match=r"a\.jsonl, line 1: column 'a' is"):
        read(path, types={"a": kind})


def test_a_missing_column_is_an_error_or_the_value_of_nulls(tmp_path):
    path = written(tmp_path, '{"a": 1}\n{"a": null, "b": 2}\n')
    with pytest.raises(DataError, match=r"line 1: the object has no column 'b'"):
        read(path, columns=["a", "b"])
    with pytest.raises(DataError, match=r"line 1: the object has no column 'b'"):
        read(path, types={"b": int})
    assert read(path, columns=["a", "b"], nulls={"b": 0}) == [{"a": 1, "b": 0}, {"a": None, "b": 2}]
    assert read(path, nulls={"a": 9}) == [{"a": 1}, {"a": 9, "b": 2}]


def test_nulls_are_none_or_an_error(tmp_path):
    path = written(tmp_path, '{"a": 1}\n{"a": null, "b": 2}\n')
    assert read(path) == [{"a": 1}, {"a": None, "b": 2}]
    for settings in ({}, {"columns": ["a"]}):
        with pytest.raises(DataError, match=r"line 2: column 'a' is null; pass nulls=\{'a': \.\.\.\}"):
            read(path, nulls="raise", **settings)


def test_other_encodings_are_read(tmp_path):
    path = written(tmp_path, '{"a": "é"}\n{"a": tru}\n'.encode("latin-1"))
    assert read(path, [0], encoding="latin-1") == [{"a": "é"}]
    with pytest.raises(DataError, match="line 2, column 7"):
        read(path, encoding="latin-1")
    with pytest.raises(DataError, match=r"line 1, at byte 7 of the file: 0xe9 is not valid utf-8"):
        read(path)


def test_the_first_of_several_bad_lines_is_named(tmp_path):
    path = written(tmp_path, '{"a": 1}\n{"b": 1}\n{"a": tru}\n')
    with pytest.raises(DataError, match=r"line 2: the object has no column 'a'"):
        read(path, columns=["a"])
    packed = tmp_path / "a.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(DataError, match=r"a\.gz, line 2: the object has no column 'a'"):
        list(ps.read_json(packed, columns=["a"]))


@pytest.mark.parametrize("types", [{1: int}, {"a": "no"}, {"a": "U3"}, {"a": object}, {"a": None}])
def test_invalid_types_are_refused(types):
    with pytest.raises(PlanError, match="types="):
        json_files(["a.jsonl"], types=types)


def test_types_of_other_columns_are_refused():
    with pytest.raises(PlanError, match=r"columns=\[\]"):
        json_files(["a.jsonl"], columns=[])
    for columns in ("text", [1]):
        with pytest.raises(TypeError, match=r"columns=.*names"):
            json_files(["a.jsonl"], columns=columns)
    with pytest.raises(PlanError, match="'b' is not one of columns"):
        json_files(["a.jsonl"], columns=["a"], types={"b": int})
    with pytest.raises(TypeError, match="nulls="):
        json_files(["a.jsonl"], nulls="drop")


@pytest.mark.parametrize(
    "chosen", [{}, {"columns": ["a"]}, {"types": {"a": np.int16, "b": np.float32}}], ids=["all", "columns", "types"]
)
def test_the_source_passes_the_conformance_checks(tmp_path, chosen):
    path = written(tmp_path, "".join(f'{{"a": {i}, "b": [{i}.5, 2]}}\n' for i in range(60)))
    verify_source(json_files([str(path)], **chosen))


def test_the_pickled_source_is_equal_and_its_fingerprint_has_the_columns(tmp_path):
    path = str(written(tmp_path, '{"a": 1}\n'))
    settings = (
        {},
        {"columns": ["a"]},
        {"columns": ["a"], "types": {"a": np.int8}},
        {"types": {"a": int}},
        {"nulls": {"b": 1}},
        {"nulls": "raise"},
    )
    assert len({json_files([path], **each).fingerprint() for each in settings}) == len(settings)
    files = pickle.loads(pickle.dumps(json_files([path], types={"a": np.int8})))
    assert files.read_many(np.zeros(2, np.int64)).elements() == [{"a": 1}, {"a": 1}]
