"""Files given to the reader of another format: the error says what they look like."""

from __future__ import annotations

import traceback

import pytest

import penstock as ps

PARQUET = b"PAR1\x15\x04\x15\x80}\n\x15\xfe,\x00" + bytes(100) + b"PAR1"


@pytest.mark.parametrize(
    ("read", "settings"),
    [
        (ps.read_csv, {}),
        (ps.read_csv, {"names": ["a", "b"]}),
        (ps.read_text, {}),
        (ps.read_json, {}),
        (ps.read_tfrecord, {}),
        (ps.read_tar, {}),
        (ps.read_arrow, {}),
    ],
)
def test_the_error_of_a_binary_file_says_what_the_file_looks_like(tmp_path, read, settings):
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.bin"
    path.write_bytes(PARQUET)
    with pytest.raises(ps.errors.DataError) as caught:
        list(read(path, **settings))
    told = "".join(traceback.format_exception_only(caught.value))
    assert "the file looks like Parquet: use ps.read_parquet" in told
    assert not set(told) & set(map(chr, [*range(10), *range(11, 32)]))  # no control characters


def test_a_file_of_its_own_format_does_not_look_like_another(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    path.write_bytes(PARQUET)
    with pytest.raises(ps.errors.DataError) as caught:
        ps.read_parquet(path)
    assert "looks like" not in "".join(traceback.format_exception_only(caught.value))


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ('[\n  {"a": 1},\n  {"a": 2}\n]\n', "read_files(paths).flat_map(json.loads)"),
        ('{\n  "a": 1\n}\n', "read_files(paths).map(json.loads)"),
        ('{"a":\n  "b"}\n', "read_files(paths).map(json.loads)"),
        ('{"a": "b\nc"}\n', "read_files(paths).map(json.loads)"),
    ],
)
def test_a_json_value_over_several_lines_is_read_as_a_whole_file(tmp_path, text, advice):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(ps.errors.DataError) as caught:
        list(ps.read_json(path))
    assert "line 1" in str(caught.value)
    assert "the line ends inside a JSON value" in str(caught.value)
    assert str(caught.value).endswith(advice)
