"""Damage that no parser stumbles over is found by checksums, names and ends: an error, or exactly the original data."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import zipfile
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import DataError


def npz(path: Path, save=np.savez) -> bytes:
    with path.open("wb") as file:
        save(file, x=np.arange(300.0).reshape(100, 3), y=np.arange(100))
    return path.read_bytes()


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_members_of_npz_are_verified_by_checksums(tmp_path, save):
    path = tmp_path / "a.npz"
    good = npz(path, save)
    expected = [(row["x"].tolist(), int(row["y"])) for row in ps.read_numpy(path)]
    draw = random.Random(0)
    failed = 0
    for number in range(150):
        damaged = bytearray(good)
        damaged[draw.randrange(len(good))] ^= 1 << draw.randrange(8)
        each = tmp_path / f"{number}.npz"
        each.write_bytes(damaged)
        try:
            found = [(row["x"].tolist(), int(row["y"])) for row in ps.read_numpy(each)]
        except DataError as error:
            assert each.name in str(error)  # noqa: PT017
            failed += 1
        else:
            assert found == expected
    assert failed > 50


def test_a_damaged_stored_member_is_named(tmp_path):
    path = tmp_path / "a.npz"
    content = bytearray(npz(path))
    content[content.index(np.arange(100).tobytes()) + 80] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.npz, y\.npy: .*CRC-32"):
        list(ps.read_numpy(path))


def test_a_directory_of_npz_that_leaves_a_member_out_is_an_error(tmp_path):
    path = tmp_path / "a.npz"
    content = bytearray(npz(path))
    first = content.index(b"PK\x01\x02")
    content[first + 32] = 100  # the length of a comment, which then takes in the entry of the second member
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.npz: its directory is damaged: it has 1 of 2 members"):
        ps.read_numpy(path)


def test_a_truncated_npz_is_reported_with_the_remedy(tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(npz(path)[:-30])
    with pytest.raises(DataError, match=r"a\.npz has [\d,]+ bytes, without the directory .* cut short"):
        ps.read_numpy(path)


@pytest.mark.parametrize("name", ["a.npy", "b.npz"])
def test_text_with_an_invalid_code_point_is_named_with_its_row(tmp_path, name):
    made = io.BytesIO()
    np.save(made, np.array([f"text{i}" for i in range(50)]))
    content = bytearray(made.getvalue())
    at = content.index("text7".encode("utf-32-le"))
    content[at : at + 4] = (0x7FFFFFFF).to_bytes(4, "little")
    path = tmp_path / name
    if name.endswith("z"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x.npy", bytes(content))
    else:
        path.write_bytes(content)
    ds = ps.read_numpy(path)
    for read in (lambda: ds[7], lambda: list(ds.batch(10)), lambda: list(ds)):
        with pytest.raises(DataError, match=rf"{name}, row 7.*code point"):
            read()
    assert len(list(ds.ignore_errors())) == 49
    assert len(list(ds.take(7))) == 7


COMPRESSIONS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("extension", COMPRESSIONS)
@pytest.mark.parametrize(
    ("name", "read", "content"),
    [
        ("a.txt", ps.read_text, b"one\ntwo\n"),
        ("a.jsonl", ps.read_json, b'{"a": 1}\n'),
        ("a.csv", ps.read_csv, b"a,b\n1,2\n"),
        ("a.tfrecord", ps.read_tfrecord, b""),
        ("a.tar", lambda path: ps.read_tar(path, columns=["txt"]), bytes(10240)),
    ],
)
def test_compressed_files_whose_first_bytes_are_damaged_are_not_read_as_plain_ones(
    tmp_path, extension, name, read, content
):
    path = tmp_path / f"{name}.{extension}"
    whole = COMPRESSIONS[extension](content)
    path.write_bytes(whole)
    before = list(read(path))
    for at in range(2):
        damaged = bytearray(whole)
        damaged[at] ^= 0x20
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=rf"{name}.{extension}.*{extension}"):
            list(read(path))
    path.write_bytes(whole)
    assert list(read(path)) == before


def test_a_plain_file_with_such_a_name_is_read_with_compression_none(tmp_path):
    (tmp_path / "a.txt.gz").write_bytes(b"one\n")
    with pytest.raises(DataError, match="compression=None"):
        ps.read_text(tmp_path / "a.txt.gz")
    assert list(ps.read_text(tmp_path / "a.txt.gz", compression=None)) == ["one"]


def coded(path: Path) -> None:
    """An Arrow file whose column `k` has in row 7, which is row 2 of record batch 1, a code that there is not."""
    pa = pytest.importorskip("pyarrow")
    codes = pa.array([0, 1, 0, 1, 0, 1, 1, 0, 1, None], pa.int8())
    kinds = pa.DictionaryArray.from_arrays(codes, pa.array(["u", "v"]))
    table = pa.table({"n": np.arange(len(codes)), "k": kinds})
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table, max_chunksize=5)
    content = bytearray(path.read_bytes())
    content[content.rindex(bytes([1, 1, 0, 1])) + 2] = 77
    path.write_bytes(content)


@pytest.mark.parametrize("nulls", ["raise", {"k": "z"}])
def test_an_invalid_dictionary_code_loses_only_its_row(tmp_path, nulls):
    coded(tmp_path / "a.arrow")
    ds = ps.read_arrow(tmp_path / "a.arrow", nulls=nulls)
    with pytest.raises(DataError, match=r"a\.arrow, record batch 1: column k is damaged: the code 77 of row 2 "):
        ds[7]
    lost = {7} if nulls != "raise" else {7, 9}
    assert [int(row["n"]) for row in ds.ignore_errors()] == [n for n in range(10) if n not in lost]


def test_an_invalid_dictionary_code_is_found_with_nulls_drop(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from penstock.sources.arrow.values import null_rows

    coded(tmp_path / "a.arrow")
    with pytest.raises(DataError, match=r"a\.arrow, record batch 1: column k is damaged: the code 77 of row 2 "):
        ps.read_arrow(tmp_path / "a.arrow", nulls="drop")
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 1, 5, 0, None], pa.int8()), pa.array(["a", "b"]), safe=False)
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 2, 5], pa.int32()), codes)
    with pytest.raises(DataError, match="column l is damaged: the code 5 of row 2 "):
        null_rows(lists, "l")


def test_codes_of_a_dictionary_that_are_out_of_range_are_named(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from penstock.sources.arrow.values import held

    for code in (-1, 3, 1 << 20):
        codes = pa.array([0, 1, code, 2], pa.int32())
        column = pa.DictionaryArray.from_arrays(codes, pa.array(["a", "b", "c"]), safe=False)
        table = pa.table({"t": column})
        from penstock.sources.arrow.tables import table_of

        leaf = table_of(table.schema, None, {}, "x").layout.leaves[0]
        with pytest.raises(DataError, match=rf"column t is damaged: the code {code} of row 2"):
            held(leaf, table.column("t"), {})
