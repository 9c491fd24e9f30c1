"""Starts of CSV records equal those of pyarrow's parser, for any split of the file."""

from __future__ import annotations

import io
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.errors import DataError
from penstock.sources.csv import records as csv_records
from penstock.sources.csv.records import Dialect, index_of, record_ends
from tests.draws import draws

PIECES = st.sampled_from(["a", "b,", ",", '"', '""', '"x"', '"x\ny"', "\n", "\r\n", "\r", "\n\n", '",', "é", " "])


def plainly(content: bytes, quote: int | None = ord('"')):
    """The ends of records that are not empty, by a machine of four states."""
    ends, start, inside, beginning, at = [], 0, False, True, 0
    while at < len(content):
        byte = content[at]
        at += 1
        if inside:
            if byte == quote:
                if content[at : at + 1] == bytes([quote]):
                    at += 1
                else:
                    inside = False
        elif byte == quote and beginning:
            inside, beginning = True, False
        elif byte in b"\r\n":
            if byte == 13 and content[at : at + 1] == b"\n":
                at += 1
            if content[start:at].strip(b"\r\n"):
                ends.append(at)
            start, beginning = at, True
        else:
            beginning = byte == ord(",")
    if start < len(content):
        ends.append(len(content))
    return ends, inside


@given(pieces=st.lists(PIECES, max_size=30), read=st.integers(1, 40), quoted=st.booleans())
@settings(max_examples=draws(300))
def test_ends_of_records_equal_those_of_a_plain_state_machine(pieces, read, quoted):
    content = "".join(pieces).encode()
    wanted, unclosed = plainly(content, ord('"') if quoted else None)
    before, csv_records._READ = csv_records._READ, read
    found = []
    try:
        with pytest.raises(DataError, match="never closed") if unclosed else nullcontext():
            for ends in record_ends(io.BytesIO(content), "a", Dialect(quote='"' if quoted else None), lambda _: None):
                found += ends.lines[ends.records & ~ends.empty].tolist()
    finally:
        csv_records._READ = before
    assert unclosed or found == wanted


def test_blocks_begin_where_records_do_and_count_their_rows_and_lines(tmp_path):
    path = tmp_path / "a.csv"
    rows = ["a,b", "", *(f'{i},"x\n{i}"' for i in range(100))]
    path.write_text("\n".join(rows))
    seen = []
    index = index_of(str(path), Dialect(), 64, seen.append)
    assert seen[-1] == path.stat().st_size
    assert index["offsets"][0] == index["rows"][0] == index["lines"][0] == 0
    assert index["offsets"][-1] == path.stat().st_size
    assert index["rows"][-1] == 101
    assert index["lines"][-1] == 202
    assert index["head"].tolist() == [4, 1]
    content = path.read_bytes()
    for at in range(1, len(index["offsets"]) - 1):
        assert 64 <= index["offsets"][at] - index["offsets"][at - 1] < 90
        block = content[index["offsets"][at] :]
        assert block.startswith(b'%d,"x\n' % (index["rows"][at] - 1))
        assert content[: index["offsets"][at]].count(b"\n") == index["lines"][at]


@pytest.mark.parametrize("content", [b"", b"\n\n\r\n", b"\xef\xbb\xbf"])
def test_files_without_records_have_an_empty_index(tmp_path, content):
    (tmp_path / "a.csv").write_bytes(content)
    index = index_of(str(tmp_path / "a.csv"), Dialect(), 10, lambda _: None)
    assert index["rows"].tolist() == [0]
    assert index["head"].tolist() == [0, 0]


def test_a_quote_that_is_never_closed_is_named_with_its_line(tmp_path):
    (tmp_path / "a.csv").write_text('a,b\n1,2\n3,"4\n5,6\n')
    with pytest.raises(DataError, match=r"a\.csv: the quote at byte 10, in line 3, is never closed"):
        index_of(str(tmp_path / "a.csv"), Dialect(), 10, lambda _: None)
    assert index_of(str(tmp_path / "a.csv"), Dialect(quote=None), 10, lambda _: None)["rows"][-1] == 4


def test_offsets_are_whole_numbers_of_64_bits(tmp_path):
    (tmp_path / "a.csv").write_text("a\n1\n")
    assert {array.dtype for array in index_of(str(tmp_path / "a.csv"), Dialect(), 1, lambda _: None).values()} == {
        np.dtype(np.int64)
    }
