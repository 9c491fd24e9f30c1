"""`penstock cache` describes, verifies and exports what `ds.save(path)` wrote."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

import penstock as ps
from penstock.cli.main import main


@pytest.fixture
def folder(tmp_path):
    ds = ps.Dataset.range(300).map(lambda x: {"image": np.full(2000, x % 256, np.uint8), "name": f"row {x}"})
    ds.save(tmp_path / "kept")
    return str(tmp_path / "kept")


def damage(folder, name, at):
    with open(os.path.join(folder, name), "r+b") as file:
        file.seek(at)
        file.write(b"\xff")


def test_list_and_info(folder, capsys):
    assert main(["cache", "ls", folder]) == 0
    assert "300" in capsys.readouterr().out
    assert main(["cache", "info", folder]) == 0
    out = " ".join(capsys.readouterr().out.split())
    for text in ("rows 300", "in 3 files", "uint8[2000] in leaf-0.npy", "leaf-1.values.npy", "`verify` compares them"):
        assert text in out
    assert main(["cache", "info", folder, "--key", "nothing"]) == 1
    assert "it is a saved dataset with the key" in capsys.readouterr().err


def test_verify_names_the_elements_of_damaged_blocks(folder, capsys):
    assert main(["cache", "verify", folder]) == 0
    assert "300 rows, all sound" in capsys.readouterr().out
    damage(folder, "leaf-0.npy", 550_000)  # in one of many blocks
    assert main(["cache", "verify", folder]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "300 rows, 5 damaged (274, 275, 276, 277, 278); copy the whole folder again, or save it again" in out
    damage(folder, "leaf-1.values.npy", 1000)  # in the block of its header
    assert main(["cache", "verify", folder]) == 1
    assert "leaf-1.values.npy is damaged: its bytes from 0 on" in " ".join(capsys.readouterr().err.split())


def test_damage_to_all_elements_and_a_missing_file_are_errors(folder, capsys):
    os.truncate(os.path.join(folder, "penstock.crc32c"), 4)
    assert main(["cache", "verify", folder]) == 1
    assert "missing or damaged" in capsys.readouterr().err
    os.unlink(os.path.join(folder, "leaf-0.npy"))
    assert main(["cache", "verify", folder]) == 1
    assert "leaf-0.npy is missing" in capsys.readouterr().err


def test_a_dataset_without_checksums_cannot_be_verified(folder, capsys):
    path = os.path.join(folder, "penstock.json")
    with open(path) as file:
        told = json.load(file)
    with open(path, "w") as file:
        json.dump({**told, "version": 1}, file)
    assert main(["cache", "info", folder]) == 0
    assert "saved by a release before them" in capsys.readouterr().out
    assert main(["cache", "verify", folder]) == 1
    assert "without checksums" in capsys.readouterr().err


def test_export_and_clear(folder, tmp_path, capsys):
    pytest.importorskip("pyarrow")
    assert main(["cache", "export", folder, str(tmp_path / "a.parquet")]) == 0
    assert [row["name"] for row in ps.read_parquet(str(tmp_path / "a.parquet"))] == [f"row {i}" for i in range(300)]
    assert main(["cache", "clear", folder]) == 0
    assert "nothing to clear. A saved dataset is kept" in " ".join(capsys.readouterr().out.split())
    for option in (["--key", "5ab1"], ["--keep-latest"]):
        assert main(["cache", "clear", folder, *option]) == 1
        assert "a saved dataset has none" in capsys.readouterr().err
    assert len(ps.Dataset.load(folder)) == 300


def test_export_to_urls(folder, tmp_path, monkeypatch, capsys):
    pytest.importorskip("pyarrow")
    files = pytest.importorskip("fsspec").filesystem("memory")
    monkeypatch.chdir(tmp_path)
    assert main(["cache", "export", f"file://{folder}", f"file://{tmp_path}/a.parquet"]) == 0
    assert len(ps.read_parquet("a.parquet")) == 300
    for name in ("a.parquet", "a.arrow"):
        assert main(["cache", "export", folder, f"memory://exported/{name}"]) == 0
        assert files.size(f"/exported/{name}") > 1000
    capsys.readouterr()
    assert main(["cache", "export", folder, "memory://exported/a.arrow"]) == 1
    assert "exists already; remove it, or pass --overwrite" in capsys.readouterr().err
    assert main(["cache", "export", folder, "s3:///a.arrow"]) == 1
    assert "expected a bucket" in capsys.readouterr().err
    assert sorted(os.listdir(tmp_path)) == ["a.parquet", "kept"]
