"""Records located by an index: equal to the written ones, damage reported, no crash for any change to the file."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import DataError
from penstock.kernels import records as kernel
from penstock.kernels.records import (
    MOST_OPEN,
    Framing,
    RecordReader,
    crc32c,
    masked_crc32c,
    scan_tfrecord_bytes,
    scan_tfrecords,
)
from penstock.kernels.reference import records as twin
from penstock.sources.tfrecord.writing import framed

EDGES = (0, 1, 7, 8, 9, 1023, 1024, 1025, 3071, 3072, 3073, 10_000)


def rows(*numbers):
    return np.array(numbers, np.int64)


def written(path, records):
    path.write_bytes(b"".join(map(framed, records)))
    return str(path)


def reader_of(*paths, verify=True, framing=Framing.TFRECORD):
    offsets = [scan_tfrecords(path) for path in paths]
    sizes = [os.path.getsize(path) for path in paths]
    return RecordReader(
        paths, [o[:-1] for o in offsets], [o[1:] for o in offsets], sizes, framing=framing, verify=verify
    )


# Checksums


@pytest.mark.parametrize("size", EDGES)
def test_the_checksum_is_that_of_the_twin(size):
    data = np.random.default_rng(size).bytes(size)
    assert crc32c(data) == twin.crc32c(data)
    assert masked_crc32c(data) == twin.masked_crc32c(data)


def test_the_checksum_is_crc32c():  # RFC 3720, appendix B.4
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E


@given(st.binary(max_size=5000), st.integers(0, 5000))
def test_a_checksum_can_be_continued(data, at):
    assert crc32c(data[at:], crc32c(data[:at])) == crc32c(data)


# Scans


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_the_scan_is_that_of_the_twin(records):
    data = b"".join(map(framed, records))
    offsets, problem = scan_tfrecord_bytes(data, verify=True)
    assert not problem
    assert offsets.tolist() == twin.scan_tfrecords(data).tolist()


@given(st.lists(st.binary(max_size=20), min_size=1, max_size=4), st.data())
def test_scans_of_damaged_bytes_equal_those_of_the_twin(records, draw):
    data = bytearray(b"".join(map(framed, records)))
    data[draw.draw(st.integers(0, len(data) - 1))] ^= 1 << draw.draw(st.integers(0, 7))
    data = bytes(data[: draw.draw(st.integers(0, len(data)))])
    assert scan_tfrecord_bytes(data, verify=True)[0].tolist() == twin.scan_tfrecords(data).tolist()


@pytest.mark.parametrize("count", [0, 1, (1 << 16) - 1, 1 << 16, (1 << 16) + 1])
def test_every_record_is_found(tmp_path, count):
    path = written(tmp_path / "a", [b"x"] * count)
    seen = []
    offsets = scan_tfrecords(path, seen=seen.append)
    assert offsets.tolist() == list(range(0, 17 * count + 1, 17))
    assert seen[-1] == 17 * count


@pytest.mark.parametrize(
    ("change", "verify", "reason"),
    [
        (lambda data: data[:-1], False, "record 1, at byte 19 of 37: the file ends inside it"),
        (lambda data: data[:20], False, "record 1, at byte 19 of 20: the file ends inside it"),
        (
            lambda data: b"\x04" + data[1:],
            False,
            "record 0, at byte 0 of 38: the checksum of its length does not match",
        ),
        (lambda data: data[:12] + b"X" + data[13:], True, "record 0, at byte 0 of 38: its content is damaged"),
    ],
)
def test_damage_is_named_with_its_place(tmp_path, change, verify, reason):
    path = tmp_path / "a"
    path.write_bytes(change(framed(b"abc") * 2))
    with pytest.raises(DataError, match=reason) as caught:
        scan_tfrecords(str(path), verify=verify)
    assert str(path) in str(caught.value)


def test_a_length_beyond_the_file_takes_no_memory(tmp_path):
    import struct

    length = struct.pack("<Q", 1 << 62)
    path = tmp_path / "a"
    path.write_bytes(length + struct.pack("<I", masked_crc32c(length)) + bytes(100))
    with pytest.raises(DataError, match="the file ends inside it"):
        scan_tfrecords(str(path))


@pytest.mark.parametrize(("name", "error"), [("missing", FileNotFoundError), ("", IsADirectoryError)])
def test_files_that_cannot_be_opened_are_named(tmp_path, name, error):
    with pytest.raises(error) as caught:
        scan_tfrecords(str(tmp_path / name))
    assert caught.value.filename == str(tmp_path / name)


# Reading


@given(st.lists(st.binary(max_size=5000), min_size=1, max_size=12), st.data())
def test_records_are_read_in_any_order(tmp_path_factory, records, draw):
    folder = tmp_path_factory.mktemp("r")
    cut = draw.draw(st.integers(0, len(records)))
    reader = reader_of(written(folder / "a", records[:cut]), written(folder / "b", records[cut:]))
    wanted = draw.draw(st.lists(st.integers(0, len(records) - 1), max_size=20))
    assert len(reader) == len(records)
    assert reader.read(rows(*wanted)) == [records[i] for i in wanted]
    joined, splits = reader.join(rows(*wanted))
    assert joined.tobytes() == b"".join(records[i] for i in wanted)
    assert np.diff(splits).tolist() == [len(records[i]) for i in wanted]


def test_rows_outside_are_an_index_error(tmp_path):
    reader = reader_of(written(tmp_path / "a", [b"x"]))
    for row in (-1, 1):
        with pytest.raises(IndexError, match="outside"):
            reader.read(rows(row))


def test_advice_ignores_faults_of_records(tmp_path):
    path = written(tmp_path / "a", [b"a" * 5000] * 9)
    reader = reader_of(path)
    reader.advise(rows(8, 0, 0))
    reader.advise(rows())
    with pytest.raises(IndexError, match=r"row 9 is outside \[0, 9\)"):
        reader.advise(rows(9))
    os.truncate(path, 100)
    reader.advise(rows(8, 0))
    other = reader_of(written(tmp_path / "b", [b"b"]))
    os.unlink(tmp_path / "b")
    other.advise(rows(0))


def test_more_files_than_the_limit_of_open_files_are_read(tmp_path):
    count = MOST_OPEN + 5
    paths = [written(tmp_path / f"{i:05d}", [str(i).encode(), b"second"]) for i in range(count)]
    reader = reader_of(*paths)
    before = len(os.listdir("/proc/self/fd"))
    assert reader.read(np.arange(2 * count))[::2] == [str(i).encode() for i in range(count)]
    assert reader.read(rows(0, 2 * count - 2)) == [b"0", str(count - 1).encode()]
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_forked_child_can_read_while_threads_of_the_parent_read():
    program = """
import os, signal, tempfile, threading, numpy as np
from penstock.kernels import records
records.MOST_OPEN = 2  # so that files are let go of all the time
paths = [os.path.join(tempfile.mkdtemp(), "a") for _ in range(8)]
for i, path in enumerate(paths):
    open(path, "wb").write(bytes([i]) * 8)
reader = records.RecordReader(paths, [range(0, 8, 8)] * 8, [range(8, 16, 8)] * 8, [8] * 8)
rows, stop = np.arange(8), threading.Event()
def read():
    return reader.read(rows) == [bytes([i]) * 8 for i in range(8)]
def go_on():
    while not stop.is_set():
        assert read()
threads = [threading.Thread(target=go_on) for _ in range(2)]
for thread in threads: thread.start()
for _ in range(100):
    child = os.fork()
    if not child:
        signal.alarm(20)  # ends one that waits for ever
        os._exit(not read())
    assert os.waitpid(child, 0)[1] == 0
stop.set()
for thread in threads: thread.join()
print("whole")
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "whole\n", done.stderr


def test_a_damaged_record_is_named_and_others_are_read(tmp_path):
    path = tmp_path / "a"
    data = bytearray(b"".join(map(framed, [b"one", b"two", b"three"])))
    data[19 + 12] ^= 1
    path.write_bytes(data)
    reader = reader_of(str(path))
    assert reader.read(rows(0, 2)) == [b"one", b"three"]
    with pytest.raises(DataError, match=r"record 1, at byte 19 of .*: its content is damaged: .*CRC-32C") as caught:
        reader.read(rows(2, 0, 1))
    assert caught.value.element == 2
    with pytest.raises(DataError, match="record 1"):
        reader.join(rows(1))
    assert reader_of(str(path), verify=False).read(rows(1)) == [b"uwo"]


def test_a_file_that_changed_its_size_is_named(tmp_path):
    path = written(tmp_path / "a", [b"one", b"two"])
    reader = reader_of(path)
    written(tmp_path / "a", [b"one", b"two", b"three"])
    with pytest.raises(
        DataError, match="had 38 bytes when the dataset was made, and has 59 now; make the dataset again"
    ):
        reader.read(rows(0))


def test_a_missing_file_is_named(tmp_path):
    path = written(tmp_path / "a", [b"one"])
    reader = reader_of(path)
    os.unlink(path)
    with pytest.raises(FileNotFoundError) as caught:
        reader.read(rows(0))
    assert caught.value.filename == path
    assert caught.value.element == 0


@pytest.mark.parametrize("verify", [False, True])
def test_a_file_truncated_during_reading_is_an_error(tmp_path, verify):
    path = written(tmp_path / "a", [bytes(100_000)] * 3)
    reader = reader_of(path, verify=verify)
    assert reader.read(rows(2)) == [bytes(100_000)]  # mapped from now on
    os.truncate(path, 120_000)
    with pytest.raises(DataError, match="cut short"):  # what is left of it may be something else by now
        reader.read(rows(0))
    with pytest.raises(DataError, match="cut short, or became unreadable") as caught:
        reader.read(rows(0, 2))
    assert caught.value.element == 1
    with pytest.raises(DataError, match="cut short"):
        reader.join(rows(2))
    with ThreadPoolExecutor(4) as pool:
        failures = [future.exception() for future in [pool.submit(reader.read, rows(2)) for _ in range(40)]]
    assert {type(failure) for failure in failures} == {DataError}


def test_an_index_that_points_outside_is_refused(tmp_path):
    path = written(tmp_path / "a", [b"one"])
    wrong = [(-1, 19), (0, 20), (10, 5), (0, 15), (1 << 62, 1 << 63 - 1)]
    for begin, end in wrong:
        begins, ends = [rows(begin)], [np.array([end], np.int64)]
        reader = RecordReader([path], begins, ends, [19], framing=Framing.TFRECORD)
        with pytest.raises(DataError, match="its index points outside"):
            reader.read(rows(0))


def test_an_index_of_another_file_is_detected(tmp_path):
    path = written(tmp_path / "a", [b"one", b"two"])
    reader = RecordReader([path], [rows(1)], [rows(20)], [38], framing=Framing.TFRECORD)
    with pytest.raises(DataError, match="its length field is damaged"):
        reader.read(rows(0))


def test_plain_records_and_lines(tmp_path):
    (tmp_path / "a").write_bytes(b"one\r\ntwo\n\nthree")
    begins, ends = [rows(0, 5, 10)], [rows(5, 10, 15)]
    plain = RecordReader([str(tmp_path / "a")], begins, ends, [15])
    assert plain.read(rows(2, 0)) == [b"three", b"one\r\n"]
    lines = RecordReader([str(tmp_path / "a")], begins, ends, [15], framing=Framing.LINE)
    assert lines.read(rows(0, 1, 2)) == [b"one", b"two", b"three"]


def test_invalid_index_arrays_are_refused(tmp_path):
    path = written(tmp_path / "a", [b"one"])
    with pytest.raises(ValueError, match="one length"):
        RecordReader([path], [rows(0)], [rows()], [19])
    with pytest.raises(TypeError, match="64-bit"):
        RecordReader([path], [np.zeros(1, np.int32)], [np.zeros(1, np.int32)], [19])
    with pytest.raises(ValueError, match="no such framing"):
        kernel._native.RecordReader([os.fsencode(path)], [rows(0)], [rows(19)], [19], [None], 7, True, 1)
