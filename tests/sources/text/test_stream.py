"""Compressed lines: the lines of the plain file, in order."""

from __future__ import annotations

import bz2
import gzip
import lzma

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import penstock as ps
from penstock.core.errors import DataError
from penstock.sources.text import stream as line_stream
from penstock.sources.text.stream import compression_of_text

COMPRESSORS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
PIECES = ["\n", "\r\n", "\r", " ", "a", "é", "\ufeff", "x" * 70]


@example(text="\ufeff", settings={"keep_empty": True, "skip_lines": 0, "encoding": "utf-8"}, at_once=1)
@given(
    text=st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
    settings=st.fixed_dictionaries({
        "keep_empty": st.booleans(), "skip_lines": st.integers(0, 3), "encoding": st.sampled_from(["utf-8", None])
    }),
    at_once=st.integers(1, 9),
)  # fmt: skip
def test_lines_are_those_of_the_plain_file(tmp_path_factory, text, settings, at_once):
    folder = tmp_path_factory.getbasetemp()
    (folder / "plain.txt").write_bytes(text.encode())
    (folder / "lines.gz").write_bytes(gzip.compress(text.encode()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_stream, "READ_AT_ONCE", at_once)
        found = list(ps.read_text(folder / "lines.gz", **settings))
    assert found == list(ps.read_text(folder / "plain.txt", **settings))


@pytest.mark.parametrize("extension", sorted(COMPRESSORS))
def test_plain_and_compressed_files_make_one_stream(tmp_path, extension):
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\n")
    (tmp_path / f"b.{extension}").write_bytes(COMPRESSORS[extension](b"three\n\nfour"))
    ds = ps.read_text([str(tmp_path / "a.txt"), str(tmp_path / f"b.{extension}")])
    assert list(ds) == ["one", "two", "three", "", "four"]
    assert ds.cardinality() == ps.UNKNOWN


def test_json_lines_are_parsed_and_errors_say_where(tmp_path):
    good = b'{"a": 1}\n\n {"a": 2}\n'
    (tmp_path / "a.gz").write_bytes(gzip.compress(good))
    assert list(ps.read_json(tmp_path / "a.gz")) == [{"a": 1}, {"a": 2}]
    for broken, told in ((b'{"a": tru}', "column 7"), (b'{"a": "\xff"}', "at byte 7 of it: 0xff is not valid utf-8")):
        (tmp_path / "b.gz").write_bytes(gzip.compress(good + broken + b"\n" + good))
        made = []
        with pytest.raises(DataError, match=rf"b\.gz, line 4, {told}"):
            made.extend(ps.read_json(tmp_path / "b.gz"))
        assert made == [{"a": 1}, {"a": 2}]


def test_a_stream_resumes_from_a_saved_position(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress("".join(f"{name}{i}\n" for i in range(100)).encode()))
    ds = ps.read_text(str(tmp_path / "*.gz")).batch(7)
    batches = [batch.tolist() for batch in ds]
    for count in (0, 3, 14, 20):
        with ds.iterator() as it:
            for _ in range(count):
                next(it)
            state = it.state_dict()
        with ds.iterator() as it:
            it.load_state_dict(state)
            assert [batch.tolist() for batch in it] == batches[count:]


def test_a_file_that_is_cut_short_is_an_error_that_names_it(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(bytes(range(32, 127)) * 1000)[:-20])
    with pytest.raises(DataError, match=r"a\.gz"):
        list(ps.read_text(tmp_path / "a.gz"))


def test_text_that_looks_compressed_is_read_as_text(tmp_path):
    (tmp_path / "a.txt").write_text("BZhang, Xi\n")
    (tmp_path / "b.bz2").write_bytes(bz2.compress(b""))
    assert compression_of_text(str(tmp_path / "a.txt")) is None
    assert compression_of_text(str(tmp_path / "b.bz2")) == "bz2"
    assert list(ps.read_text(tmp_path / "a.txt")) == ["BZhang, Xi"]
    assert list(ps.read_text(tmp_path / "b.bz2")) == []
    with pytest.raises(ValueError, match="compression='zip'"):
        ps.read_text(tmp_path / "a.txt", compression="zip")


def test_other_settings_have_another_fingerprint(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b'{"a": 1}\n'))
    settings = ({}, {"encoding": None}, {"skip_lines": 1}, {"keep_empty": False})
    prints = {ps.read_text(tmp_path / "a.gz", **each).fingerprint() for each in settings}
    assert len(prints | {ps.read_json(tmp_path / "a.gz").fingerprint()}) == len(settings) + 1
