"""The state of a file: what was written into it shows, in whatever tick of the clock, and a copy elsewhere is known."""

from __future__ import annotations

import os
import pickle
import shutil
from dataclasses import dataclass, field

import pytest

from penstock.core.errors import DataError
from penstock.storage.state import FileState, OpenedAgain, mapped_as, states_of


@dataclass
class Files(OpenedAgain):
    paths: list
    states: list
    seen: dict = field(default_factory=dict, init=False)


def test_it_is_that_of_the_file_until_somebody_writes(tmp_path):
    path = str(tmp_path / "a")
    for _ in range(50):
        (tmp_path / "a").write_bytes(b"12345")
        state = FileState.of(path)
        state.check(path)
        assert state.is_of(path)
        (tmp_path / "a").write_bytes(b"54321")  # at once
        assert not state.is_of(path)
        with pytest.raises(DataError, match=f"{path}: the file was written to since the dataset was made; make the "):
            state.check(path)
    (tmp_path / "a").write_bytes(b"123")
    with pytest.raises(DataError, match="had 5 bytes when the dataset was made, and has 3 now"):
        state.check(path)


def test_a_time_to_come_is_not_waited_for(tmp_path):
    (tmp_path / "a").write_bytes(b"1")
    os.utime(tmp_path / "a", ns=(1 << 61, 1 << 61))
    assert FileState.of(str(tmp_path / "a")).is_of(str(tmp_path / "a"))


def test_another_file_in_its_place_is_told_from_one_that_is_held_open(tmp_path):
    path = str(tmp_path / "a")
    (tmp_path / "a").write_bytes(b"12345")
    state = FileState.of(path)
    (tmp_path / "b").write_bytes(b"54321")
    os.utime(tmp_path / "b", ns=(1, 1))
    os.replace(tmp_path / "b", path)
    state.check_open(path)
    with pytest.raises(DataError, match="replaced by another"):
        state.check(path)
    with pytest.raises(DataError, match="replaced by another"):
        mapped_as(path, state)
    assert mapped_as(path, FileState.of(path)).content.tobytes() == b"54321"


def test_another_process_takes_a_copy_for_what_was_copied_and_not_what_was_written(tmp_path):
    path = str(tmp_path / "a")
    (tmp_path / "a").write_bytes(b"12345")
    (here,) = states_of([path])
    files = Files([path, "a folder"], [here, None])
    files.seen[0] = "anything"
    assert pickle.loads(pickle.dumps(files)) == Files(files.paths, files.states)
    shutil.copyfile(path, tmp_path / "b")
    os.utime(tmp_path / "b", ns=(1, 1))
    os.replace(tmp_path / "b", path)
    there, of_folder = pickle.loads(pickle.dumps(files)).states
    assert of_folder is None
    there.check(path)
    (tmp_path / "a").write_bytes(b"54321")
    assert there.again(path) == there
    os.unlink(path)
    assert there.again(path) == there
    with pytest.raises(FileNotFoundError):
        there.check(path)
