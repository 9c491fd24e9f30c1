from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.kernels import advise_files, read_regular_files


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 200])
def test_every_file_is_read_and_none_stays_open(tmp_path, count):
    paths = [str(tmp_path / f"{number}.é") for number in range(count)]
    for number, path in enumerate(paths):
        Path(path).write_bytes(os.urandom(number + 1))
    before = len(os.listdir("/proc/self/fd"))
    assert read_regular_files(paths) == [Path(path).read_bytes() for path in paths]
    assert len(os.listdir("/proc/self/fd")) == before


def test_what_is_no_regular_file_with_content_is_left_to_others(tmp_path):
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "pipe")  # opening it would wait for ever
    (tmp_path / "link").symlink_to("nowhere")
    names = ["empty", "pipe", "link", "missing", "nul\0", "lone \udcff"]
    assert read_regular_files([f"{tmp_path}/{name}" for name in names] + [str(tmp_path)]) == [None] * 7


def test_paths_that_are_no_text_are_left_to_others():
    assert read_regular_files([b"/etc/hostname", 3, None]) == [None, None, None]


def test_files_are_asked_for_ahead_whatever_they_are(tmp_path):
    (tmp_path / "a").write_bytes(bytes(10_000))
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "pipe")
    before = len(os.listdir("/proc/self/fd"))
    advise_files([str(tmp_path / name) for name in ("a", "empty", "pipe", "missing", "")] + [str(tmp_path), "a\0b"])
    advise_files([])
    assert len(os.listdir("/proc/self/fd")) == before
