"""Folders that are no saved dataset, or not a whole one."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from penstock import Dataset
from penstock.core.errors import DataError
from penstock.sources.saved.manifest import NAME, SUMS, read_manifest
from tests.sources.damage import sealed


@pytest.fixture
def folder(tmp_path):
    Dataset.from_tensor_slices({"x": np.zeros((3, 2)), "s": ["a", "b", "c"]}).save(tmp_path / "a")
    return str(tmp_path / "a")


def test_the_manifest_describes_the_files(folder):
    manifest = read_manifest(folder)
    assert manifest.length == 3
    assert manifest.fingerprint
    assert repr(manifest.spec()) == "{'x': float64[2], 's': str}"
    assert sorted(manifest.sizes) == sorted(set(os.listdir(folder)) - {NAME, SUMS})


@pytest.mark.parametrize("name", ["leaf-0.offsets.npy", "leaf-0.values.npy", "leaf-1.npy"])
def test_missing_and_truncated_files_are_named(folder, name):
    path = os.path.join(folder, name)
    size = os.path.getsize(path)
    os.truncate(path, size - 1)
    with pytest.raises(DataError, match=rf"{name} has {size - 1:,} bytes, not {size:,}; copy the whole folder"):
        Dataset.load(folder)
    os.remove(path)
    with pytest.raises(DataError, match=f"{name} is missing"):
        Dataset.load(folder)


def test_folders_that_are_no_saved_datasets_are_refused(folder, tmp_path):
    with pytest.raises(FileNotFoundError, match="the folder does not exist"):
        Dataset.load(tmp_path / "nowhere")
    with pytest.raises(NotADirectoryError, match="the folder does not exist"):
        Dataset.load(os.path.join(folder, NAME))
    with pytest.raises(DataError, match=r"it has no penstock\.json"):
        Dataset.load(tmp_path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"version": 4}, "version 4 of the format, and this Penstock reads 1, 2, 3"),
        ({"format": "other"}, "does not describe a dataset"),
        ({"leaves": []}, "another form: 0 leaves"),
        ({"length": "many"}, "another form"),
        ({"nesting": {"set": []}}, "another form"),
        ({"leaves": [{"file": "../x", "kind": "array", "dtype": "<f4", "shape": []}] * 2}, r"\.\./x"),
        ({"leaves": [{"file": "leaf-0", "kind": "pickle", "dtype": "", "shape": []}] * 2}, "kind 'pickle'"),
        ({"leaves": [{"file": "leaf-0", "kind": "array", "dtype": "what", "shape": []}] * 2}, "what"),
        ({"sizes": {}}, "leaf-0.values.npy has"),
        *(
            (change, "another form")
            for change in [
                {"length": -1},
                {"block": 0},
                {"block": "8192"},
                {"length": 1 << 62},
                {"length": 10**30},
                {"length": 3.0},
                {"length": float("inf")},
                {"length": None},
                {"sizes": []},
                {"sizes": {"leaf-1.npy": float("nan")}},
                {"leaves": "ab"},
                {"nesting": "x"},
                {"nesting": 3},
                {"nesting": []},
                {"nesting": {"dict": 3}},
                {"nesting": {"dict": ["a"]}},
                {"leaves": [{"file": "leaf-0", "kind": "array", "dtype": ",", "shape": []}] * 2},
                {"leaves": [{"file": "leaf-0", "kind": "array", "dtype": "[(", "shape": []}] * 2},
                {"leaves": [{"file": "leaf-0", "kind": "array", "dtype": "<f4", "shape": "ab"}] * 2},
                {"leaves": [{"file": "leaf-0", "kind": "array", "dtype": "<f4", "shape": [-1]}] * 2},
            ]
        ),
    ],
)
def test_a_manifest_in_another_form_is_refused(folder, change, says):
    path = Path(folder, NAME)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    sealed(folder)
    with pytest.raises(DataError, match=says):
        Dataset.load(folder)


def test_a_manifest_nested_beyond_all_bounds_is_refused(folder):
    Path(folder, NAME).write_text("[" * 200_000)
    with pytest.raises(DataError, match="cannot be read"):
        Dataset.load(folder)


def test_a_manifest_that_is_cut_is_refused(folder):
    os.truncate(os.path.join(folder, NAME), 40)
    with pytest.raises(DataError, match="cannot be read"):
        Dataset.load(folder)
