"""Reading saved datasets."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import cloudpickle
import numpy as np
import pytest

import penstock as ps
from penstock import Dataset
from penstock.core.errors import DataError
from penstock.sources.saved.manifest import NAME
from penstock.sources.saved.reading import saved
from penstock.sources.saved.writing import save
from penstock.testing.laws import same, verify_determinism, verify_resume
from tests.allocations import allocated
from tests.sources.damage import sealed

ELEMENTS = [
    {"image": np.full((row + 1, 2, 3), row, np.uint8), "at": (np.float32(row), row), "s": "é" * row, "b": b"\x00" * row}
    for row in range(7)
]


@pytest.fixture
def folder(tmp_path):
    path = str(tmp_path / "saved")
    save(ELEMENTS, path, fingerprint="f", overwrite=False)
    return path


def test_any_rows_are_read_in_any_order(folder):
    source = saved(folder)
    assert source.length == 7
    assert repr(source.spec()) == "{'image': uint8[?, 2, 3], 'at': (float32, int64), 's': str, 'b': bytes}"
    rows = np.array([6, 0, 0, 3])
    assert all(map(same, source.read_many(rows).elements(), [ELEMENTS[row] for row in rows]))
    assert source.read_many(np.arange(0)).elements() == []
    assert source.describe(3) == f"element 3 of {folder}"


def test_arrays_are_written_into_given_memory(tmp_path):
    save([np.arange(3) + row for row in range(5)], str(tmp_path / "a"), fingerprint="", overwrite=False)
    memory = [np.zeros((2, 3), np.int64)]
    made = saved(tmp_path / "a").read_many(np.array([4, 1]), memory)
    assert made.columns[0] is memory[0]
    assert memory[0].tolist() == [[4, 5, 6], [1, 2, 3]]


def test_elements_are_read_only(folder, tmp_path):
    save([np.arange(3)], str(tmp_path / "even"), fingerprint="", overwrite=False)
    for element in (saved(folder).read_many(np.array([2])).elements()[0]["image"], Dataset.load(tmp_path / "even")[0]):
        with pytest.raises(ValueError, match="read-only"):
            element[0] = 0


def test_the_source_can_be_pickled_and_its_fingerprint_is_its_content(folder, tmp_path):
    source = saved(folder)
    source.read_many(np.array([0]))
    again = cloudpickle.loads(cloudpickle.dumps(source))
    assert same(again.read_many(np.array([5])).elements()[0], ELEMENTS[5])
    shutil.copytree(folder, tmp_path / "moved")
    assert saved(tmp_path / "moved").fingerprint() == source.fingerprint()
    save(ELEMENTS[:-1], str(tmp_path / "other"), fingerprint="f", overwrite=False)
    assert saved(tmp_path / "other").fingerprint() != source.fingerprint()


def test_a_saved_dataset_passes_the_conformance_checks(folder):
    ds = Dataset.load(folder).shuffle(seed=1).map(lambda e: (e["at"], e["s"])).batch(3)
    verify_determinism(ds)
    verify_resume(ds)


def test_empty_datasets_are_supported(tmp_path):
    for elements in ([], [np.zeros((0, 2))], [""], [None]):
        shutil.rmtree(tmp_path / "a", ignore_errors=True)
        save(elements, str(tmp_path / "a"), fingerprint="", overwrite=False)
        source = saved(tmp_path / "a")
        assert source.length == len(elements)
        assert all(map(same, source.read_many(np.arange(len(elements))).elements(), elements))
    save([], str(tmp_path / "none"), fingerprint="", overwrite=False)
    assert list(Dataset.load(tmp_path / "none").batch(2)) == []


def test_a_file_with_other_content_is_named(folder):
    name = "leaf-2.offsets.npy"
    with open(f"{folder}/{name}", "r+b") as file:
        content = file.read()
        file.seek(0)
        file.write(b"x" * len(content))
    with pytest.raises(DataError, match=rf"{name}: it is not an array in NumPy's format"):
        saved(folder).read_many(np.array([0]))


SMALL = [{"n": np.arange(i % 4, dtype=np.int16), "s": "té" * (i % 5), "x": np.full((2, 3), float(i))} for i in range(9)]
"""Whose leaves are kept in all three ways: n as leaf-0, s as leaf-1, x as leaf-2."""


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (name, change)
        for name in ("leaf-0.values", "leaf-0.offsets", "leaf-0.shapes", "leaf-1.values", "leaf-1.offsets", "leaf-2")
        for change in (
            lambda array: array.astype(np.float32), lambda array: array[:-2], lambda array: array[None],
            lambda array: np.zeros((), array.dtype), lambda array: np.array([b"text"]),
        )
        if not (name.endswith("values") and change(np.arange(9)).shape == (7,))
    ],
)  # fmt: skip
def test_an_array_of_another_form_is_named(tmp_path, name, change):
    save(SMALL, str(tmp_path / "a"), fingerprint="f", overwrite=False)
    path = tmp_path / "a" / f"{name}.npy"
    np.save(path, change(np.load(path)))
    told = json.loads((tmp_path / "a" / NAME).read_text())
    told["sizes"][path.name] = path.stat().st_size
    (tmp_path / "a" / NAME).write_text(json.dumps(told))
    sealed(tmp_path / "a")
    with pytest.raises(DataError, match=rf"{name}\.npy holds .*; save the dataset again"):
        list(Dataset.load(tmp_path / "a"))


def test_the_length_in_a_header_is_checked(tmp_path):
    save(SMALL, str(tmp_path / "a"), fingerprint="f", overwrite=False)
    path = tmp_path / "a" / "leaf-2.npy"
    content = path.read_bytes()
    path.write_bytes(content[:8] + (1 << 31).to_bytes(4, "little") + content[12:])
    with allocated() as memory:
        for read in (Dataset.load, lambda _: ps.read_numpy(path)):
            with pytest.raises(DataError, match=r"leaf-2\.npy: it is not an array in NumPy's format"):
                list(read(tmp_path / "a"))
    assert memory.most < 1 << 24


@pytest.mark.parametrize("name", ["leaf-0.offsets", "leaf-0.shapes", "leaf-1.offsets"])
@pytest.mark.parametrize("number", [-1, 10**6, 1 << 32, 1 << 62, -(1 << 63), (1 << 63) - 1])
def test_invalid_offsets_are_named_with_their_element(tmp_path, name, number):
    save(SMALL, str(tmp_path / "a"), fingerprint="f", overwrite=False)
    path = tmp_path / "a" / f"{name}.npy"
    array = np.load(path)
    array[4] = number
    np.save(path, array)
    sealed(tmp_path / "a")
    source = saved(tmp_path / "a")
    with pytest.raises(DataError, match=r"leaf-\d\.offsets\.npy is damaged: element [34] lies outside") as error:
        source.read_many(np.array([8, 4, 3]))
    assert error.value.element in (1, 2)
    assert same(source.read_many(np.array([8, 0])).elements(), [SMALL[8], SMALL[0]])


def test_invalid_text_is_named_with_its_element(tmp_path):
    save(SMALL, str(tmp_path / "a"), fingerprint="f", overwrite=False)
    path = tmp_path / "a" / "leaf-1.values.npy"
    values = np.load(path)
    values[-1] = 255
    np.save(path, values)
    sealed(tmp_path / "a")
    with pytest.raises(DataError, match=r"leaf-1\.values\.npy is damaged: element 8 is not text") as error:
        saved(tmp_path / "a").read_many(np.array([0, 8]))
    assert error.value.element == 1


@pytest.mark.parametrize(
    "dtype", [[("a", "<i4"), ("b", "f8", (2,))], np.dtype([("a", "u1"), ("b", "f8")], align=True), "M8[ns]", ">f4"]
)
def test_elements_of_any_dtype_are_restored(tmp_path, dtype):
    array = np.frombuffer(bytes(range(96)), np.dtype(dtype), 4)
    save(list(array), str(tmp_path / "a"), fingerprint="", overwrite=False)
    again = np.array(list(Dataset.load(tmp_path / "a")))
    assert (again == array).all()


def test_files_that_are_cut_short_while_they_are_mapped_are_an_error(tmp_path):
    path = str(tmp_path / "saved")
    elements = [
        {"n": np.full(50, i + 1), "part": np.ones(i % 3 + 5, np.int16), "text": f"{i}" * 20} for i in range(2000)
    ]
    save(elements, path, fingerprint="f", overwrite=False)
    files = sorted(file for file in Path(path).iterdir() if file.suffix == ".npy" and file.stat().st_size > 8192)
    assert len(files) >= 4
    for file in files:
        content = file.read_bytes()
        source = saved(path)
        assert same(source.read_many(np.array([0])).elements()[0], elements[0])
        os.truncate(file, 4096)
        with pytest.raises(DataError, match=f"{file.name}: the file was cut short"):
            source.read_many(np.arange(2000)[::-1])
        with pytest.raises(DataError, match="cut short"):  # and from then on
            source.read_many(np.array([0]))
        file.write_bytes(content)
    ds = Dataset.load(path)
    assert len(list(ds.shuffle(seed=1).ragged_batch(100))) == 20


@pytest.mark.parametrize("at", [0.01, 0.3, 0.7, 0.999])
def test_a_flipped_bit_anywhere_is_an_error_of_only_its_elements(tmp_path, at):
    path = tmp_path / "saved"
    elements = [{"n": np.full(5000, i), "text": f"{i}" * 2000, "part": np.full(i % 7 + 600, i)} for i in range(200)]
    save(elements, str(path), fingerprint="f", overwrite=False)
    for file in sorted(path.iterdir()):
        content = bytearray(file.read_bytes())
        whole = bytes(content)
        content[int(at * len(content))] ^= 4
        file.write_bytes(content)
        with pytest.raises(DataError, match=file.name.replace(".", r"\.")):
            list(Dataset.load(path))
        if file.suffix == ".npy" and ".values" in file.name and at > 0.1:
            kept = list(Dataset.load(path).ignore_errors())
            assert 100 < len(kept) < 200
            assert all(same(element, elements[int(element["n"][0])]) for element in kept)
        file.write_bytes(whole)
    assert same(list(Dataset.load(path)), elements)


def test_a_dataset_saved_without_checksums_is_read(tmp_path):
    save(SMALL, str(tmp_path / "a"), fingerprint="f", overwrite=False)
    told = json.loads((tmp_path / "a" / NAME).read_text())
    del told["crc32c"], told["checksum"]
    (tmp_path / "a" / "penstock.crc32c").unlink()
    (tmp_path / "a" / NAME).write_text(json.dumps(told | {"version": 1}))
    assert same(list(Dataset.load(tmp_path / "a")), SMALL)


def test_a_dataset_that_was_replaced_after_it_was_loaded_says_so(tmp_path):
    folder = str(tmp_path / "saved")
    Dataset.range(10).save(folder)
    loaded = Dataset.load(folder)
    Dataset.range(3000).save(folder, overwrite=True)
    with pytest.raises(DataError, match=r"was replaced after it was loaded, as save\(overwrite=True\) does; load it"):
        list(loaded)
