from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from penstock.core.errors import DataError
from penstock.kernels import MappedFile, advise_files, maps_cut, read_regular_files


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 200])
def test_every_file_is_read_and_none_stays_open(tmp_path, count):
    paths = [str(tmp_path / f"{number}.é") for number in range(count)]
    for number, path in enumerate(paths):
        Path(path).write_bytes(os.urandom(number + 1))
    before = len(os.listdir("/proc/self/fd"))
    assert read_regular_files(paths) == [Path(path).read_bytes() for path in paths]
    assert len(os.listdir("/proc/self/fd")) == before


def test_paths_that_are_no_regular_files_give_none(tmp_path):
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "pipe")  # opening it would wait for ever
    (tmp_path / "link").symlink_to("nowhere")
    names = ["empty", "pipe", "link", "missing", "nul\0", "lone \udcff"]
    assert read_regular_files([f"{tmp_path}/{name}" for name in names] + [str(tmp_path)]) == [None] * 7


def test_paths_that_are_no_text_give_none():
    assert read_regular_files([b"/etc/hostname", 3, None]) == [None, None, None]


def test_advice_accepts_any_paths(tmp_path):
    (tmp_path / "a").write_bytes(bytes(10_000))
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "pipe")
    before = len(os.listdir("/proc/self/fd"))
    advise_files([str(tmp_path / name) for name in ("a", "empty", "pipe", "missing", "")] + [str(tmp_path), "a\0b"])
    advise_files([])
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_mapped_file_lives_as_long_as_a_view_of_it(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)) * 100)
    view = MappedFile(str(path)).content[5:10]
    assert view.tolist() == [5, 6, 7, 8, 9]
    assert not view.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1
    del view
    assert str(path) not in Path("/proc/self/maps").read_text()
    path.write_bytes(b"")
    assert MappedFile(str(path)).content.tolist() == []
    for missing, error in (("none", FileNotFoundError), (".", IsADirectoryError)):
        with pytest.raises(error, match=str(tmp_path)):
            MappedFile(str(tmp_path / missing))


AMONG_HANDLERS = """
import faulthandler, os, sys
import numpy as np
from penstock.kernels.files import MappedFile

path = sys.argv[1]
first = MappedFile(path)
faulthandler.enable()  # takes the place of the handler of bus errors, as workers of PyTorch's DataLoader do
file = MappedFile(path)
os.truncate(path, 5000)
print(np.count_nonzero(file.content))
"""


def test_a_handler_installed_by_others_does_not_end_the_process(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"a" * 20_000)
    command = [sys.executable, "-c", AMONG_HANDLERS, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("5000\n", 0), done.stderr


def test_a_truncated_mapped_file_reads_as_zeros_and_is_an_error(tmp_path, capfd):
    path = tmp_path / "file"
    path.write_bytes(b"a" * 20_000)
    file, other = MappedFile(str(path)), MappedFile(str(path))
    before = maps_cut()
    os.truncate(path, 5000)
    assert (file.content[:5000] == ord("a")).all()
    file.check()  # nothing was read that is not there
    assert maps_cut() == before
    assert not np.count_nonzero(file.content[8192:])
    with pytest.raises(DataError, match="file: the file was cut short, or became unreadable, while"):
        file.check()
    assert maps_cut() == before + 1
    other.check()
    assert capfd.readouterr().err.count("reads beyond its end return zeros") == 1
