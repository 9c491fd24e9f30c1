"""Indexes of files: made once, kept where that can be done, made again where they are stale or damaged."""

from __future__ import annotations

import glob
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import DataError, PlanError
from penstock.storage import indexing
from penstock.storage.indexing import IndexKind, cached_index_path, index_files, index_path, visible_index_path
from penstock.storage.sidecar import Sidecar


def anything(arrays, size):
    return True


@pytest.fixture
def made(monkeypatch, tmp_path):
    """A kind of index that counts bytes, and the paths it was made for."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    paths = []

    def scan(path, seen):
        paths.append(os.path.basename(path))
        data = Path(path).read_bytes()
        seen(len(data))
        return {"bytes": np.frombuffer(data, np.uint8).astype(np.int64)}

    def holds_bytes(arrays, size):
        return "bytes" in arrays and len(arrays["bytes"]) == size

    return IndexKind("plain", scan, holds_bytes), paths


def file(folder, name, content=b"abc"):
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    return str(folder / name)


def found(sidecars):
    return [bytes(sidecar.arrays["bytes"].astype(np.uint8)) for sidecar in sidecars]


def test_an_index_is_made_once_and_stored_next_to_the_file(made, tmp_path):
    kind, calls = made
    paths = [file(tmp_path / "d", f"{i}.plain", str(i).encode()) for i in range(5)]
    assert found(index_files(paths, kind)) == [b"0", b"1", b"2", b"3", b"4"]
    assert sorted(os.listdir(tmp_path / "d")) == [".penstock", *(f"{i}.plain" for i in range(5))]
    assert sorted(os.listdir(tmp_path / "d" / ".penstock")) == [f"{i}.plain.psindex" for i in range(5)]
    assert found(index_files(paths[::-1], kind)) == [b"4", b"3", b"2", b"1", b"0"]
    assert len(calls) == 5
    index_files(paths[:2], kind, refresh=True)
    assert len(calls) == 7


def test_no_files_and_empty_files_are_indexed(made, tmp_path):
    kind, _ = made
    assert index_files([], kind) == []
    assert found(index_files([file(tmp_path / "d", "e", b"")], kind)) == [b""]


def test_a_changed_file_is_indexed_again(made, tmp_path):
    kind, calls = made
    path = file(tmp_path / "d", "a.plain", b"abc")
    index_files([path], kind)
    file(tmp_path / "d", "a.plain", b"abd")
    os.utime(path, ns=(5, 5))
    assert found(index_files([path], kind)) == [b"abd"]
    os.utime(path, ns=(6, 6))  # touched, and the same
    index_files([path], kind)
    replaced = file(tmp_path / "d", "b", b"xyz!")
    os.replace(replaced, path)
    assert found(index_files([path], kind)) == [b"xyz!"]
    assert len(calls) == 3


def test_a_damaged_index_is_made_again_and_replaced(made, tmp_path):
    kind, calls = made
    path = file(tmp_path / "d", "a.plain")
    index_files([path], kind)
    for damage in (b"", b"PSINDEX\n" + bytes(100), os.urandom(300)):
        Path(index_path(path, kind)).write_bytes(damage)
        assert found(index_files([path], kind)) == [b"abc"]
    assert len(calls) == 4
    index_files([path], kind)
    assert len(calls) == 4


@pytest.mark.parametrize("arrays", [{}, {"other": np.arange(3)}, {"bytes": np.arange(2)}])
def test_an_impossible_index_is_made_again_and_replaced(made, tmp_path, arrays):
    kind, calls = made
    path = file(tmp_path / "d", "a.plain")
    (true,) = index_files([path], kind)
    Sidecar(kind.format, {}, true.stamp, arrays).save(index_path(path, kind))
    for _ in range(2):
        (again,) = index_files([path], kind)
        assert again.arrays["bytes"].tolist() == list(b"abc")
    assert len(calls) == 2


def test_an_index_of_another_kind_is_not_used(made, tmp_path):
    kind, calls = made
    path = file(tmp_path / "d", "a.plain")
    other = IndexKind("plain", kind.scan, kind.is_sound, (("quoted", True),))
    index_files([path], kind)
    index_files([path], other)
    assert len(calls) == 2
    os.replace(index_path(path, other), index_path(path, kind))
    index_files([path], kind)
    assert len(calls) == 3


@pytest.mark.skipif(os.geteuid() == 0, reason="no folder is read-only for root")
def test_the_index_of_a_read_only_folder_is_stored_in_the_cache(made, tmp_path):
    kind, calls = made
    path = file(tmp_path / "d", "a.plain")
    os.chmod(tmp_path / "d", 0o500)
    try:
        index_files([path], kind)
        assert os.listdir(tmp_path / "d") == ["a.plain"]
        assert os.path.exists(cached_index_path(path, kind))
        index_files([path], kind)
        assert len(calls) == 1
    finally:
        os.chmod(tmp_path / "d", 0o700)


def refusing(monkeypatch, *places):
    """Let saves to these places fail as on a full disk."""
    save = indexing.Sidecar.save

    def failing(self, path):
        if any(path.startswith(str(place)) for place in places):
            raise OSError(28, "No space left on device", path)
        save(self, path)

    monkeypatch.setattr(indexing.Sidecar, "save", failing)


def test_an_index_that_cannot_be_written_to_its_folder_is_stored_in_the_cache(made, tmp_path, monkeypatch):
    kind, calls = made
    path = file(tmp_path / "d", "a.plain")
    refusing(monkeypatch, tmp_path / "d")
    for _ in range(2):
        assert found(index_files([path], kind)) == [b"abc"]
    assert os.listdir(tmp_path / "d") == ["a.plain"]
    assert len(calls) == 1


def test_an_index_that_cannot_be_stored_lives_in_memory(made, tmp_path, monkeypatch):
    kind, calls = made
    path = file(tmp_path / "d", "a.plain")
    refusing(monkeypatch, tmp_path)
    for _ in range(2):
        assert found(index_files([path], kind)) == [b"abc"]
    assert len(calls) == 2


def test_with_save_false_no_index_is_written(made, tmp_path):
    kind, _ = made
    index_files([file(tmp_path / "d", "a.plain")], kind, save=False)
    assert os.listdir(tmp_path / "d") == ["a.plain"]


def test_the_bad_file_is_named_and_others_are_unaffected(tmp_path):
    begun = threading.Event()

    def scan(path, seen):
        if path.endswith("b"):
            begun.wait(20)
            raise DataError(f"{path} is damaged")
        begun.set()
        return {"bytes": np.zeros(0, np.int64)}

    paths = [file(tmp_path / "d", name) for name in "abcdefgh"]
    with pytest.raises(DataError, match="/b is damaged"):
        index_files(paths, IndexKind("plain", scan, anything), workers=2)
    with pytest.raises(FileNotFoundError):
        index_files([*paths[:1], str(tmp_path / "missing")], IndexKind("plain", scan, anything))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("penstock-index")]


def test_a_file_that_changes_while_it_is_indexed_is_an_error(tmp_path):
    def scan(path, seen):
        with open(path, "ab") as growing:
            growing.write(b"more")
        return {"bytes": np.zeros(0, np.int64)}

    with pytest.raises(DataError, match="changed while being indexed"):
        index_files([file(tmp_path / "d", "a")], IndexKind("plain", scan, anything))
    assert os.listdir(tmp_path / "d") == ["a"]


def test_processes_that_make_the_same_index_at_once_all_succeed(tmp_path):
    program = (
        "import sys\nfrom penstock.sources.tfrecord.files import tfrecord_files\n"
        "print(sum(tfrecord_files([sys.argv[1]]).length for _ in range(1)))"
    )
    from penstock.sources.tfrecord.writing import framed

    path = file(tmp_path / "d", "a.tfrecord", framed(b"x") * 100_000)
    running = [
        subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    assert [process.communicate(timeout=60)[0].strip() for process in running] == ["100000"] * 3
    assert sorted(os.listdir(tmp_path / "d")) == [".penstock", "a.tfrecord"]
    assert os.listdir(tmp_path / "d" / ".penstock") == ["a.tfrecord.psindex"]


def test_index_names_differ_by_format_and_parameters():
    csv = IndexKind("csv", dict, anything, (("header", True),))
    assert index_path("a.csv", csv) != index_path("a.csv", IndexKind("csv", dict, anything, (("header", False),)))
    assert index_path("a.tar", IndexKind("tar", dict, anything)) == ".penstock/a.tar.psindex"
    assert cached_index_path("x/a.tar", IndexKind("tar", dict, anything)) != cached_index_path(
        "y/a.tar", IndexKind("tar", dict, anything)
    )


def test_patterns_of_other_programs_match_only_data_in_the_second_run(tmp_path):
    for name in ("train-0", "train-1"):
        ps.Dataset.from_source([name.encode()]).write_tfrecord(tmp_path / name, index=True)
    for _ in range(2):
        found = glob.glob(f"{tmp_path}/train-*")
        assert sorted(map(os.path.basename, found)) == ["train-0", "train-1"]
        assert sorted(path.name for path in tmp_path.glob("train-*")) == ["train-0", "train-1"]
        assert [name for name in os.listdir(tmp_path) if "psindex" in name] == []
        assert list(ps.read_tfrecord(sorted(found))) == [b"train-0", b"train-1"]


def test_an_index_of_an_early_version_is_used_and_hidden(made, tmp_path):
    kind, calls = made
    path = file(tmp_path / "d", "a.plain")
    index_files([path], kind)
    os.replace(index_path(path, kind), visible_index_path(path, kind))
    assert found(index_files([path], kind)) == [b"abc"]
    assert len(calls) == 1
    assert sorted(os.listdir(tmp_path / "d")) == [".penstock", "a.plain"]


def test_readers_ignore_visible_indexes_of_early_versions(tmp_path):
    ps.Dataset.from_source([b"x"]).write_tfrecord(tmp_path / "train-0")
    assert len(ps.read_tfrecord(tmp_path / "train-0")) == 1
    (index,) = (tmp_path / ".penstock").iterdir()
    os.replace(index, tmp_path / "train-0.other.psindex")
    assert list(ps.read_files(f"{tmp_path}/train-*")) == list(ps.read_files(glob.glob(f"{tmp_path}/train-*")))
    assert len(ps.read_files(glob.glob(f"{tmp_path}/train-*"))) == 1
    with pytest.raises(PlanError, match="index files of Penstock"):
        ps.read_files([tmp_path / "train-0.other.psindex"])
