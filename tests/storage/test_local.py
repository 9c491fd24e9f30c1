from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from penstock.storage.local import read_file


@pytest.mark.parametrize("size", [0, 1, 4096, (1 << 20) + 1])
def test_the_whole_file_is_read(tmp_path, size):
    content = os.urandom(size)
    (tmp_path / "file").write_bytes(content)
    assert read_file(str(tmp_path / "file")) == content


def test_files_that_do_not_know_their_size(tmp_path):
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    content = os.urandom(200_000)
    writer = threading.Thread(target=Path(pipe).write_bytes, args=[content])
    writer.start()
    assert read_file(pipe) == content
    writer.join()


def test_errors_name_the_file_and_nothing_stays_open(tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(FileNotFoundError, match="missing"):
        read_file(str(tmp_path / "missing"))
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        read_file(str(tmp_path))
    assert len(os.listdir("/proc/self/fd")) == before
