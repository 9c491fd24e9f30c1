"""The order of files: lists as given, with duplicates; the matches of a pattern sorted."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock import tf_data
from penstock.elements.nested.structure import flatten

NAMES = ("zebra", "apple", "mango")
GIVEN = ("zebra", "apple", "zebra", "mango")


def write(folder: Path, name: str, kind: str) -> Path:
    """Write the file `name` of a kind with three records, which begin with the number of the name in `NAMES`."""
    path, first = folder / f"{name}.{kind}", 10 * NAMES.index(name)
    numbers = range(first, first + 3)
    if kind in {"txt", "txt.gz"}:
        data = "".join(f"{number}\n" for number in numbers).encode()
        path.write_bytes(gzip.compress(data) if kind.endswith("gz") else data)
    elif kind == "csv":
        path.write_text("x\n" + "".join(f"{number}\n" for number in numbers))
    elif kind == "jsonl":
        path.write_text("".join(f'{{"x": {number}}}\n' for number in numbers))
    elif kind == "bin":
        path.write_bytes(np.array(numbers, "<i8").tobytes())
    elif kind == "npy":
        np.save(path, np.array(numbers))
    elif kind == "npz":
        np.savez(path, x=np.array(numbers))
    elif kind == "h5":
        with pytest.importorskip("h5py").File(path, "w") as file:
            file["x"] = np.array(numbers)
    elif kind == "parquet":
        pytest.importorskip("pyarrow.parquet").write_table(
            pytest.importorskip("pyarrow").table({"x": list(numbers)}), path
        )
    elif kind == "arrow":
        pytest.importorskip("pyarrow.feather").write_feather(
            pytest.importorskip("pyarrow").table({"x": list(numbers)}), str(path)
        )
    elif kind.startswith("tfrecord"):
        ps.Dataset.from_source([b"%d" % number for number in numbers]).write_tfrecord(path)
    elif kind == "tar":
        ps.Dataset.from_source([{"__key__": f"{number}", "cls": number} for number in numbers]).write_tar(path)
    return path


def numbers(ds) -> list[int]:
    """Return the numbers of the records."""
    leaves = [flatten(element)[0][0] for element in ds]
    packed = [isinstance(leaf, bytes) and len(leaf) == 8 for leaf in leaves]
    return [int(np.frombuffer(leaf, "<i8")[0] if wide else leaf) for leaf, wide in zip(leaves, packed, strict=True)]


READERS = {
    "read_text": (ps.read_text, "txt"),
    "read_text, compressed": (ps.read_text, "txt.gz"),
    "read_json": (ps.read_json, "jsonl"),
    "read_csv": (ps.read_csv, "csv"),
    "read_tfrecord": (ps.read_tfrecord, "tfrecord"),
    "read_tfrecord, compressed": (ps.read_tfrecord, "tfrecord.gz"),
    "read_tfrecord, in frames": (ps.read_tfrecord, "tfrecord.zst"),
    "read_tar": (ps.read_tar, "tar"),
    "read_fixed_length": (lambda paths: ps.read_fixed_length(paths, 8), "bin"),
    "read_numpy": (ps.read_numpy, "npy"),
    "read_numpy, npz": (ps.read_numpy, "npz"),
    "read_hdf5": (ps.read_hdf5, "h5"),
    "read_parquet": (ps.read_parquet, "parquet"),
    "read_parquet, filtered": (lambda paths: ps.read_parquet(paths, filters=[("x", ">=", 0)]), "parquet"),
    "read_arrow": (ps.read_arrow, "arrow"),
    "TextLineDataset": (tf_data.TextLineDataset, "txt"),
    "TFRecordDataset": (tf_data.TFRecordDataset, "tfrecord"),
    "FixedLengthRecordDataset": (lambda paths: tf_data.FixedLengthRecordDataset(paths, 8), "bin"),
    "CsvDataset": (
        lambda paths: tf_data.experimental.CsvDataset(paths, [np.int64], header=True).map(lambda x: x),
        "csv",
    ),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_list_of_paths_keeps_its_order_and_its_duplicates(reader, tmp_path):
    read, kind = READERS[reader]
    paths = {name: write(tmp_path, name, kind) for name in NAMES}
    wanted = [10 * NAMES.index(name) + k for name in GIVEN for k in range(3)]
    given = [str(paths[name]) for name in GIVEN]
    for _ in range(2):  # also with the index of the first time
        ds = read(given)
        assert numbers(ds) == wanted
    assert sorted(numbers(ds.shuffle(4, seed=1))) == sorted(wanted)
    assert numbers(read(str(tmp_path / f"*.{kind}"))) == [
        10 * NAMES.index(n) + k for n in sorted(NAMES) for k in range(3)
    ]


def test_files_pair_with_labels_in_the_order_of_the_list(tmp_path):
    paths = [tmp_path / name for name in GIVEN]
    for path in paths:
        path.write_text(path.name)
    pairs = ps.Dataset.zip(ps.read_files(paths), ps.Dataset.from_tensor_slices(np.arange(4)))
    assert list(pairs) == [(name.encode(), row) for row, name in enumerate(GIVEN)]
    assert list(ps.read_files([tmp_path / "z*", tmp_path / "*"])) == [*(b"zebra", b"apple", b"mango", b"zebra")]


def test_folders_come_in_the_order_of_the_list_and_as_often(tmp_path):
    for name in NAMES:
        (tmp_path / name / "cat").mkdir(parents=True)
        (tmp_path / name / "cat" / "1.jpg").write_text(name)
    folders = [tmp_path / name for name in GIVEN]
    assert [element["image"].decode() for element in ps.read_image_folder(folders)] == list(GIVEN)
