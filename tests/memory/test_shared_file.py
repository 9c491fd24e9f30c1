from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest

from penstock.memory import shared_file
from penstock.memory.shared_file import SharedFile


def test_the_size_of_a_file_in_memory_cannot_be_changed():
    file = SharedFile(1 << 20, 1 << 12)
    assert file.in_memory
    for size in (0, 1 << 21):
        with pytest.raises(OSError, match="not permitted"):
            os.truncate(file.fd, size)
    assert os.fstat(file.fd).st_size == file.size == 1 << 20


def test_pages_are_reserved_step_by_step_up_to_the_size():
    file = SharedFile((1 << 20) - 5, 10)
    assert file.reserved == shared_file.PAGE_BYTES
    assert file.reserve(1 << 16)
    assert file.reserve(5)
    assert os.fstat(file.fd).st_blocks * 512 == file.reserved == 1 << 16
    assert file.reserve(1 << 30)
    assert file.reserved == file.size


def test_without_memory_the_file_is_an_unlinked_one_on_a_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(shared_file, "available_memory", lambda: 1 << 20)
    file = SharedFile(1 << 20, 1 << 20)
    assert not file.in_memory
    assert os.readlink(f"/proc/self/fd/{file.fd}").startswith(str(tmp_path))
    assert list(tmp_path.iterdir()) == []
    assert os.pread(file.fd, 4, 0) == bytes(4)


def test_a_system_that_refuses_memory_files_gets_one_on_a_disk(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOSYS, "not here")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(os, "memfd_create", refuse)
    assert not SharedFile(1 << 12, 1 << 12).in_memory


def test_pages_are_not_reserved_beyond_the_memory_that_is_available(monkeypatch):
    file = SharedFile(1 << 20, 1 << 12)
    monkeypatch.setattr(shared_file, "available_memory", lambda: 1 << 20)
    assert not file.reserve(1 << 20)
    assert file.reserved == 1 << 12
    assert file.reserve(1 << 17)


def test_a_full_disk_is_an_error_that_leaves_no_descriptor(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "posix_fallocate", full)
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError, match="no room for 4,096 bytes"):
        SharedFile(1 << 20, 1 << 12)
    assert set(os.listdir("/proc/self/fd")) == before


def test_the_descriptor_is_closed_with_the_file():
    file = SharedFile(1 << 12, 1 << 12)
    at = f"/proc/self/fd/{file.fd}"
    assert "memfd:penstock" in os.readlink(at)
    del file
    assert not os.path.exists(at) or "memfd:penstock" not in os.readlink(at)


def test_the_descriptor_stays_open_at_the_end_of_the_interpreter():
    """A thread that starts a process then would pass it whatever got the number."""
    program = """
import os, weakref
from penstock.memory.shared_file import SharedFile
class Last: pass
last, files = Last(), []
weakref.finalize(last, lambda: print(os.fstat(files[0].fd).st_size))  # is called after those that are made later
files.append(SharedFile(1 << 20, 1 << 12))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=90, check=False)
    assert (done.stdout, done.stderr) == ("1048576\n", "")
