"""The native scan for lines finds what plain Python finds, and reads what plain Python reads, in order or not."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import DataError
from penstock.kernels.lines import MARK, Wanted, scan_lines
from penstock.kernels.records import Framing, RecordReader
from penstock.kernels.reference import lines as reference

TEXTS = st.lists(st.sampled_from([b"\n", b"\r", b" ", b"\t", b"a", b"b" * 63, b"\r\n", MARK]), max_size=200).map(
    b"".join
)


def found(path, wanted=Wanted.ALL):
    offsets, left_out = scan_lines(str(path), wanted)
    return offsets.tolist(), left_out.tolist()


@given(data=TEXTS, wanted=st.sampled_from(Wanted))
def test_the_native_scan_equals_the_plain_one(tmp_path_factory, data, wanted):
    path = tmp_path_factory.getbasetemp() / "lines.txt"
    path.write_bytes(data)
    offsets, left_out = reference.scan_lines(data, wanted)
    assert found(path, wanted) == (offsets.tolist(), left_out.tolist())


@pytest.mark.parametrize("count", [0, 1, 2**16 - 1, 2**16, 2**16 + 1])
def test_any_number_of_lines_is_found_however_many_calls_that_takes(tmp_path, count):
    path = tmp_path / "many.txt"
    path.write_bytes(b"x\n" * count)
    assert found(path) == (list(range(0, 2 * count + 1, 2)), [])


def test_excluded_lines_are_numbered(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\none\n\r\n \ntwo\n\n")
    assert found(path, Wanted.NOT_EMPTY) == ([1, 7, 9, 14], [0, 2, 5])
    assert found(path, Wanted.NOT_BLANK) == ([1, 9, 14], [0, 2, 3, 5])


def test_the_callback_receives_the_position(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"x\n" * 100_000)
    seen: list[int] = []
    scan_lines(str(path), seen=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 200_000


def test_a_file_that_is_not_there_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        scan_lines(str(tmp_path / "none.txt"))


# Reading

BYTES = st.lists(
    st.one_of(
        st.sampled_from([b"\n", b"\r\n", b"\r", b"", b"\n\n\r\n", "é𝄞".encode(), b"a" * 70]), st.binary(max_size=90)
    ),
    max_size=120,
).map(b"".join)
CODINGS = st.sampled_from(
    [
        ("utf-8", "replace"),
        ("utf-8", "surrogateescape"),
        ("iso8859-1", "strict"),
        ("ascii", "ignore"),
        ("cp1252", "replace"),
    ]
)


def reader_of(*paths, wanted=Wanted.ALL):
    offsets = [scan_lines(str(path), wanted)[0] for path in paths]
    begins, ends = [each[:-1] for each in offsets], [each[1:] for each in offsets]
    sizes = [os.path.getsize(path) for path in paths]
    return RecordReader([str(path) for path in paths], begins, ends, sizes, framing=Framing.LINE), offsets


def rows_between(first, last):
    return np.arange(first, last, dtype=np.int64)


@given(data=BYTES, wanted=st.sampled_from(Wanted), coding=CODINGS, draw=st.data())
def test_lines_read_in_order_equal_those_of_the_twin(tmp_path_factory, data, wanted, coding, draw):
    path = tmp_path_factory.getbasetemp() / "run.txt"
    path.write_bytes(data)
    reader, (offsets,) = reader_of(path, wanted=wanted)
    first = draw.draw(st.integers(0, len(reader)))
    last = draw.draw(st.integers(first, len(reader)))
    rows, lines = rows_between(first, last), reference.read_lines(data, offsets, first, last)
    texts = [line.decode(*coding) for line in lines]
    assert reader.read(rows) == lines
    assert reader.read_text(rows, *coding) == texts
    memory = np.array([object() for _ in rows], object)
    assert reader.read_text(rows, *coding, memory) is memory
    assert memory.tolist() == texts
    assert reader.read(rows, memory) is memory
    assert memory.tolist() == lines
    assert reader.read_text(rows[::-1].copy(), *coding) == texts[::-1]


@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 511, 512, 513, 5000])
@pytest.mark.parametrize("letter", ["x", "é"])
def test_any_number_of_lines_is_read_in_order_over_several_files(tmp_path, count, letter):
    lines = [letter * (i * 7 % 50) + str(i) for i in range(count)]
    for number, name in enumerate("abc"):
        (tmp_path / name).write_text("".join(f"{line}\r\n" for line in lines[number::3]))
    reader, _ = reader_of(*(tmp_path / name for name in "abc"))
    assert reader.read_text(rows_between(0, count)) == [line for number in range(3) for line in lines[number::3]]


@pytest.mark.parametrize("size", [2**15 - 2, 2**15 - 1, 2**15, 2**20])
def test_a_line_may_be_of_any_length(tmp_path, size):
    path = tmp_path / "long.txt"
    lines = [*(str(i) for i in range(20)), "x" * size, "é" * size, *(str(i) for i in range(20))]
    path.write_text("\n".join(lines))
    assert reader_of(path)[0].read_text(rows_between(0, len(lines))) == lines


@pytest.mark.parametrize("count", [3, 3000])
def test_the_first_undecodable_line_is_reported(tmp_path, count):
    path = tmp_path / "a.txt"
    path.write_bytes(b"fine\n" * (count - 1) + b"caf\xe9\n" * 5)
    reader, _ = reader_of(path)
    with pytest.raises(UnicodeDecodeError) as caught:
        reader.read_text(rows_between(1, count + 4))
    assert (caught.value.element, caught.value.start) == (count - 2, 3)


def test_a_file_that_is_cut_short_names_the_first_line_that_is_lost(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"0123456\n" * 4096)
    reader, _ = reader_of(path)
    assert reader.read_text(rows_between(0, 4096)) == ["0123456"] * 4096
    os.truncate(path, 4096 * 4)
    with pytest.raises(DataError, match=r"record 0, .*cut short"):  # what is left of it may be something else by now
        reader.read_text(rows_between(0, 2048))
    with pytest.raises(DataError, match=r"record 2048, at byte 16384 of .*a\.txt: the file was cut short") as caught:
        reader.read_text(rows_between(100, 4096))
    assert caught.value.element == 1948


def test_a_bad_index_is_an_error_with_its_line(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"line\n" * 100)
    begins, ends = np.arange(100) * 5, np.arange(100) * 5 + 5
    ends[70] = 1000
    reader = RecordReader([str(path)], [begins], [ends], [500], framing=Framing.LINE)
    with pytest.raises(DataError, match=r"record 70, at byte 350 .* its index points outside"):
        reader.read_text(rows_between(20, 90))


@pytest.mark.parametrize(
    "out", [np.empty(19, object), np.empty(21, object), np.empty(20), np.empty(20, np.int64), np.empty((20, 1), object)]
)
def test_out_that_does_not_fit_is_refused(tmp_path, out):
    path = tmp_path / "a.txt"
    path.write_bytes(b"line\n" * 20)
    with pytest.raises(ValueError, match="array of objects"):
        reader_of(path)[0].read_text(rows_between(0, 20), "utf-8", "strict", out)


def test_memory_in_strides_or_not_to_be_written_is_refused(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"line\n" * 20)
    frozen = np.empty(20, object)
    frozen.flags.writeable = False
    for out in (np.empty(40, object)[::2], frozen):
        with pytest.raises((ValueError, BufferError)):
            reader_of(path)[0].read(rows_between(0, 20), out)


def test_objects_in_the_given_memory_are_released(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"line\n" * 20)
    kept = ["some text"]
    before = sys.getrefcount(kept)
    memory = np.empty(20, object)
    memory[:] = [kept] * 20
    reader_of(path)[0].read(rows_between(0, 20), memory)
    assert sys.getrefcount(kept) == before
