"""`penstock cache` lists, describes, verifies, removes and exports."""

from __future__ import annotations

import os

import numpy as np
import pytest

import penstock as ps
from penstock.cache.store import CacheStore
from penstock.cli.main import main
from penstock.elements.chunks.chunk import Items
from penstock.elements.sparse import Sparse
from penstock.kernels.cached_rows import LOG_RECORD
from tests.cache.kinds import Box, chunk_of, images


@pytest.fixture
def folder(tmp_path):
    for key in ("first", "second"):
        store = CacheStore(tmp_path / "cache", key, {"function": f"def {key}()"})
        store.write(np.arange(10), chunk_of(images(10)))
        store.complete(10)
    return str(tmp_path / "cache")


def damage(folder: str) -> None:
    place = os.path.join(folder, "first.v1")
    (name,) = [name for name in os.listdir(place) if name.endswith(".data")]
    with open(os.path.join(place, name), "r+b") as file:
        file.seek(os.path.getsize(file.name) - 1)
        file.write(b"\xff")


def test_list(folder, capsys):
    os.rename(f"{folder}/first.v1", f"{folder}/first.v7")
    assert main(["cache", "ls", folder]) == 0
    out = capsys.readouterr().out
    assert "second" in out
    assert "10 of 10" in out
    assert "first.v7: of another version" in " ".join(out.split())


def test_info(folder, capsys):
    assert main(["cache", "info", folder, "--key", "fi"]) == 0
    out = capsys.readouterr().out
    for text in ("key       first", "function: def first()", "rows      10, the first 10", "array |u1", "in 4 files"):
        assert text in out
    assert "pickled" not in out


def test_info_needs_a_key_among_several(folder, capsys):
    assert main(["cache", "info", folder]) == 1
    assert "name one with --key" in capsys.readouterr().err


def test_verify(folder, capsys):
    assert main(["cache", "verify", folder]) == 0
    assert capsys.readouterr().out.count("10 rows, all sound") == 2
    damage(folder)
    assert main(["cache", "verify", folder]) == 1
    out = capsys.readouterr().out
    assert "first: 10 rows, 1 damaged (9)" in out
    assert "second: 10 rows, all sound" in out
    assert main(["cache", "verify", folder, "--key", "second"]) == 0


def test_verify_is_content_once_the_row_of_a_damaged_record_was_made_again(folder, capsys):
    place = os.path.join(folder, "first.v1")
    (name,) = [name for name in os.listdir(place) if name.endswith(".log")]
    with open(os.path.join(place, name), "r+b") as file:
        file.seek(-3 * LOG_RECORD.itemsize, os.SEEK_END)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))
    store = CacheStore(folder, "first", {"function": "def first()"})
    assert store.missing(np.arange(10)).tolist() == [7]
    store.write(np.array([7]), chunk_of(images(10)[7:8]))
    assert main(["cache", "verify", folder, "--key", "first"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "first: 10 rows, all sound" in out
    assert "1 record of the log damaged" in out
    assert "unless they have been" in out


def test_verify_names_keys_whose_header_is_damaged(folder, capsys):
    for key in ("first", "second"):
        os.truncate(os.path.join(folder, f"{key}.v1", "header.json"), 20)
    main(["cache", "verify", folder])
    assert capsys.readouterr().out.count("without a sound header") == 2


def test_clear(folder, capsys):
    assert main(["cache", "clear", folder, "--keep-latest"]) == 0
    assert os.listdir(folder) == ["second.v1"]
    assert main(["cache", "clear", folder]) == 0
    assert not os.path.exists(folder)
    assert capsys.readouterr().out.count("removed") == 2
    assert main(["cache", "clear", folder]) == 1
    assert "no such folder" in capsys.readouterr().err


def test_clear_one(folder):
    assert main(["cache", "clear", folder, "--key", "second"]) == 0
    assert os.listdir(folder) == ["first.v1"]


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.feather"])
def test_export(folder, tmp_path, name, capsys):
    pytest.importorskip("pyarrow")
    to = str(tmp_path / name)
    assert main(["cache", "export", folder, to, "--key", "first"]) == 0
    read = ps.read_parquet(to) if name.endswith("parquet") else ps.read_arrow(to)
    for row, expected in zip(read, images(10), strict=True):
        assert (row["label"], row["name"]) == (expected["label"], expected["name"])
        assert np.array_equal(np.array(row["image"].tolist()), expected["image"])
    assert main(["cache", "export", folder, to, "--key", "first"]) == 1
    assert "exists" in capsys.readouterr().err
    assert main(["cache", "export", folder, to, "--key", "first", "--overwrite"]) == 0


def test_export_leaves_out_damaged_rows_and_fails(folder, tmp_path, capsys):
    pytest.importorskip("pyarrow")
    damage(folder)
    assert main(["cache", "export", folder, str(tmp_path / "a.parquet"), "--key", "first"]) == 1
    assert "damaged, and left out" in capsys.readouterr().out
    assert len(list(ps.read_parquet(str(tmp_path / "a.parquet")))) == 9


def test_elements_that_are_no_dicts_are_a_column(tmp_path):
    pytest.importorskip("pyarrow")
    CacheStore(tmp_path / "c", "key", {}).write(np.arange(3), chunk_of([5, 6, 7]))
    assert main(["cache", "export", str(tmp_path / "c"), str(tmp_path / "a.parquet")]) == 0
    assert [row["value"] for row in ps.read_parquet(str(tmp_path / "a.parquet"))] == [5, 6, 7]


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_tuples_and_sparse_leaves_are_exported_as_columns(tmp_path, name):
    pytest.importorskip("pyarrow")
    made = [(i, {"pair": ("t", np.arange(i, i + 2, dtype=">i4"))}, Sparse.from_dense([0, i])) for i in (5, 6)]
    CacheStore(tmp_path / "c", "key", {}).write(np.arange(2), Items(made))
    assert main(["cache", "export", str(tmp_path / "c"), str(tmp_path / name)]) == 0
    read = ps.read_parquet if name.endswith("parquet") else ps.read_arrow
    assert [row["0"] for row in read(str(tmp_path / name))] == [5, 6]
    row = read(str(tmp_path / name))[1]
    assert row["1"]["pair"]["0"] == "t"
    assert row["1"]["pair"]["1"].tolist() == [6, 7]
    assert {part: value.tolist() for part, value in row["2"].items()} == {
        "indices": [[1]], "values": [6], "dense_shape": [2]
    }  # fmt: skip


@pytest.mark.parametrize("value", [np.zeros(2, complex), "\ud800"])
def test_export_names_the_column_that_arrow_cannot_hold(tmp_path, value, capsys):
    pytest.importorskip("pyarrow")
    CacheStore(tmp_path / "c", "key", {}).write(np.arange(1), Items([{"x": value}]))
    assert main(["cache", "export", str(tmp_path / "c"), str(tmp_path / "a.arrow")]) == 1
    assert "export: column 'x' of elements 0 to 0 has values that Arrow cannot hold" in capsys.readouterr().err
    assert not (tmp_path / "a.arrow").exists()


def test_export_refuses_pickles_and_unknown_formats(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    CacheStore(tmp_path / "c", "key", {}).write(np.arange(1), chunk_of([Box({1}, "x")]))
    assert main(["cache", "export", str(tmp_path / "c"), str(tmp_path / "a.parquet")]) == 1
    assert "would run code that the cache contains" in capsys.readouterr().err
    assert not (tmp_path / "a.parquet").exists()
    assert main(["cache", "info", str(tmp_path / "c")]) == 0
    assert "reading them runs code" in " ".join(capsys.readouterr().out.split())
    CacheStore(tmp_path / "d", "key", {}).write(np.arange(1), chunk_of([1]))
    assert main(["cache", "export", str(tmp_path / "d"), str(tmp_path / "a.csv")]) == 1
    assert "ends in .parquet" in capsys.readouterr().err
