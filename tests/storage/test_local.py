from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from penstock.storage.local import read_file, read_whole


@pytest.mark.parametrize("size", [0, 1, 4096, (1 << 20) + 1])
def test_the_whole_file_is_read(tmp_path, size):
    content = os.urandom(size)
    (tmp_path / "file").write_bytes(content)
    assert read_file(str(tmp_path / "file")) == content


def test_files_of_unknown_size_are_read(tmp_path):
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    content = os.urandom(200_000)
    writer = threading.Thread(target=Path(pipe).write_bytes, args=[content])
    writer.start()
    assert read_file(pipe) == content
    writer.join()


def test_errors_name_the_file_and_leave_no_file_open(tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(FileNotFoundError, match="missing"):
        read_file(str(tmp_path / "missing"))
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        read_file(str(tmp_path))
    assert len(os.listdir("/proc/self/fd")) == before


def test_many_files_are_read_in_order(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "empty").touch()
    paths = [str(tmp_path / "a"), str(tmp_path / "empty"), "/proc/self/cmdline", str(tmp_path / "a")]
    contents = read_whole(paths)
    assert contents[:2] == [b"abc", b""]
    assert contents[2]
    assert contents[3] == b"abc"


def test_an_error_among_many_files_has_its_position(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    with pytest.raises(FileNotFoundError, match="missing") as caught:
        read_whole([str(tmp_path / "a"), str(tmp_path / "missing")])
    assert caught.value.element == 1
