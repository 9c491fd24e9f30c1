"""NumPy's files: any rows of them, in place, and refused where they are broken."""

from __future__ import annotations

import io
import os
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import DataError
from penstock.dataset.readers.arrays import read_numpy
from penstock.testing.sources import verify_source

DTYPES = ["u1", "<i8", ">f4", "f2", "?", "c8", "M8[s]", "U3", "S3", [("a", "i4"), ("b", "f8", (2,))]]


def source_of(ds):
    return ds._plan.source


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(7,), (7, 3), (0, 2), (5, 0), (300, 2, 2)])
def test_the_files_pass_the_conformance_checks(tmp_path, dtype, shape):
    array = np.frombuffer(np.random.default_rng(0).bytes(1 << 16), np.uint8)[: int(np.prod(shape))]
    array = (array % 2).astype(np.int32).reshape(shape)
    array = np.zeros(shape, dtype) if isinstance(dtype, list) else array.astype(dtype)
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", array)
    ds = read_numpy(tmp_path / "*.npy")
    whole = np.concatenate([array, array])
    assert len(ds) == len(whole)
    assert all(np.array_equal(row, wanted) for row, wanted in zip(ds, whole, strict=True))
    if shape == (7, 3):
        verify_source(source_of(ds))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_members_of_npz_files_are_dicts(tmp_path, save):
    arrays = {"x": np.arange(20.0).reshape(10, 2), "label": np.arange(10), "deep/er": np.ones((10, 2, 2), np.uint8)}
    save(tmp_path / "a.npz", **arrays)
    save(tmp_path / "b.npz", **{name: -array.astype(array.dtype) for name, array in arrays.items()})
    ds = read_numpy([tmp_path / "a.npz", tmp_path / "b.npz"])
    verify_source(source_of(ds))
    assert set(ds[3]) == set(arrays)
    assert ds[3]["x"].tolist() == [6, 7]
    assert ds[13]["label"] == -3
    assert "b.npz, row 3" in str(ds.locate(13))


def test_arrays_in_fortran_order_are_read(tmp_path):
    array = np.asfortranarray(np.arange(12).reshape(4, 3))
    np.save(tmp_path / "a.npy", array)
    verify_source(source_of(read_numpy(tmp_path / "a.npy")))
    assert [row.tolist() for row in read_numpy(tmp_path / "a.npy")] == array.tolist()


@given(st.lists(st.integers(0, 30), min_size=1, max_size=4), st.data())
def test_rows_of_several_files_come_in_the_requested_order(tmp_path_factory, sizes, data):
    folder = tmp_path_factory.mktemp("numpy")
    whole = np.arange(sum(sizes) * 3).reshape(-1, 3)
    for i, part in enumerate(np.split(whole, np.cumsum(sizes)[:-1])):
        np.save(folder / f"{i}.npy", part)
    source = source_of(read_numpy(folder / "*.npy"))
    any_rows = st.lists(st.integers(0, max(sum(sizes) - 1, 0)), max_size=20 if sum(sizes) else 0)
    rows = np.array(data.draw(any_rows), np.int64)
    memory = np.full((len(rows), 3), -1)
    (column,) = source.read_many(rows, [memory]).columns
    assert column is memory
    assert column.tolist() == whole[rows].tolist()


def test_files_that_do_not_fit_together_are_refused_by_name(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((3, 2)))
    np.save(tmp_path / "b.npy", np.zeros((3, 3)))
    with pytest.raises(DataError, match=r"a\.npy and .*b\.npy differ: rows are float64\[2\] .* float64\[3\]"):
        read_numpy(tmp_path / "*.npy")
    np.savez(tmp_path / "a.npz", x=np.zeros(3), y=np.zeros(4))
    with pytest.raises(DataError, match=r"a\.npz: its arrays have different lengths"):
        read_numpy(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", x=np.zeros(3))
    np.savez(tmp_path / "c.npz", z=np.zeros(3))
    with pytest.raises(DataError, match=r"b\.npz and .*c\.npz differ"):
        read_numpy([tmp_path / "b.npz", tmp_path / "c.npz"])


def npy(shape="(3,)", descr="'<f8'", body=24, version=1):
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(10 + len(text) + 1) % 64) + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(2, "little") + text + bytes(body)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not an array in NumPy's format"),
        (b"\x93NUMPY", "not an array in NumPy's format"),
        (npy(version=9), "not an array in NumPy's format"),
        (npy(body=23), r"takes 24 bytes, and there are 23: the file is cut short"),
        (npy(shape="(1 << 62,)"), "not an array"),
        (npy(shape="(4611686018427387903, 9223372036854775807)"), "has no rows|takes"),
        (npy(shape="(4611686018427387903,)"), "and there are 24"),
        (npy(shape="(-3,)"), "has no rows"),
        (npy(shape="(True,)"), "has no rows|not an array"),
        (npy(shape="()", body=8), "has no rows"),
        (npy(descr="'|O'"), "Python objects"),
        (npy(descr="'<f9'"), "not an array"),
        (npy(descr="[('a', '|O')]"), "Python objects"),
        (npy(descr="__import__('os').getcwd()"), "not an array"),
        (b"PK\x03\x04" + bytes(50), "without the directory"),
        (b"PK\x05\x06" + bytes(18), "it has no array"),
    ],
)
def test_invalid_headers_are_refused(tmp_path, content, message):
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(DataError, match=rf"a\.npy.*({message})"):
        list(read_numpy(tmp_path / "a.npy"))


def test_invalid_archives_are_refused(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros(5000))
    content = bytearray((tmp_path / "a.npz").read_bytes())
    at = content.index(b"PK\x01\x02") + 24  # the size of what is compressed, in the directory
    content[at : at + 4] = b"\xff\xff\xff\x7f"
    (tmp_path / "b.npz").write_bytes(content)
    with pytest.raises(DataError, match=r"b\.npz"):
        list(read_numpy(tmp_path / "b.npz"))
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", npy(shape="(1000000000,)", body=100))
    (tmp_path / "c.npz").write_bytes(bomb.getvalue())
    with pytest.raises(DataError, match=r"c\.npz, x\.npy: an array of float64\[1000000000\] takes"):
        list(read_numpy(tmp_path / "c.npz"))
    damaged = bytearray((tmp_path / "a.npz").read_bytes())
    damaged[80] ^= 255
    (tmp_path / "d.npz").write_bytes(damaged)
    with pytest.raises(DataError, match=r"d\.npz"):
        list(read_numpy(tmp_path / "d.npz"))


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_a_file_that_is_cut_short_while_it_is_read_is_an_error(tmp_path, name):
    array = np.arange(1 << 16).reshape(-1, 64)
    (np.save if name.endswith("npy") else np.savez)(tmp_path / name, array)
    ds = read_numpy(tmp_path / name)
    ds[0]
    os.truncate(tmp_path / name, 4096)
    with pytest.raises(DataError, match=name):
        ds[1000]


@pytest.mark.parametrize("name", ["npy", "npz"])
def test_damaged_files_yield_rows_or_an_error_that_names_them(tmp_path, name):
    whole = io.BytesIO()
    array = np.arange(60).reshape(20, 3)
    (np.save if name == "npy" else np.savez_compressed)(whole, array)
    random = np.random.default_rng(3)
    for number in range(150):
        damaged = bytearray(whole.getvalue())
        for _ in range(int(random.integers(1, 4))):
            damaged[int(random.integers(min(len(damaged), 300)))] = int(random.integers(256))
        path = tmp_path / f"damaged{number}.{name}"
        path.write_bytes(damaged)
        try:
            list(read_numpy(path))
        except DataError as error:
            if path.name not in str(error):
                raise
