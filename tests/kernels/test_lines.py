"""The native scan for lines finds what plain Python finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels.lines import MARK, Wanted, scan_lines
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


def test_lines_that_are_not_wanted_are_numbered(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\none\n\r\n \ntwo\n\n")
    assert found(path, Wanted.NOT_EMPTY) == ([1, 7, 9, 14], [0, 2, 5])
    assert found(path, Wanted.NOT_BLANK) == ([1, 9, 14], [0, 2, 3, 5])


def test_how_far_it_is_is_told(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"x\n" * 100_000)
    seen: list[int] = []
    scan_lines(str(path), seen=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 200_000


def test_a_file_that_is_not_there_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        scan_lines(str(tmp_path / "none.txt"))
