"""The state of a file: every write is detected, even within one clock tick, and a copy is recognized."""

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


def test_a_state_holds_until_the_file_is_written(tmp_path):
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


def test_a_file_time_in_the_future_is_not_waited_for(tmp_path):
    (tmp_path / "a").write_bytes(b"1")
    os.utime(tmp_path / "a", ns=(1 << 61, 1 << 61))
    assert FileState.of(str(tmp_path / "a")).is_of(str(tmp_path / "a"))


def test_a_replaced_file_is_distinguished_from_the_open_one(tmp_path):
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


def test_another_process_accepts_a_copy_but_not_a_written_file(tmp_path):
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
