"""Chunks become runs of rows of one form, with as few forms as possible."""

from __future__ import annotations

import numpy as np

from penstock.cache.packing import PackedRows, Packer
from penstock.elements.chunks.chunk import Columns, Items
from penstock.elements.nested.structure import LEAF, flatten
from penstock.kernels.records import crc32c


def packed(values, compression=None):
    return Packer(compression).pack(Items(values), np.arange(len(values)))


def bytes_of(run: PackedRows) -> bytes:
    return joined(run.strips)


def joined(strips: list[np.ndarray]) -> bytes:
    return b"".join(row.tobytes() for rows in zip(*strips, strict=True) for row in rows)


def sums_of(run: PackedRows) -> list[int]:
    return [crc for _, sums in run.summed(1 << 20) for crc in sums.tolist()]


def test_elements_of_one_structure_and_kind_are_one_run():
    (run,) = packed([{"x": np.zeros(3), "y": i} for i in range(5)])
    assert run.which.tolist() == [0, 1, 2, 3, 4]
    assert run.lengths.tolist() == [32] * 5


def test_other_structures_and_kinds_are_other_runs():
    runs = packed([{"x": 1}, 2, {"x": 3}, {"x": "text"}, 4])
    assert sorted(run.which.tolist() for run in runs) == [[0, 2], [1, 4], [3]]


def test_arrays_of_one_shape_have_it_in_the_form_and_others_in_the_rows():
    packer = Packer(None)
    (alike,) = packer.pack(Items([np.zeros((2, 3))] * 2), np.arange(2))
    (mixed,) = packer.pack(Items([np.zeros((2, 3)), np.zeros((1, 3))]), np.arange(2))
    assert alike.form.fixed == ([0], 48)
    assert mixed.form.fixed is None
    for side in range(40):
        packer.pack(Items([np.zeros((side, side))]), np.arange(1))
    (late,) = packer.pack(Items([np.zeros((2, 3))]), np.arange(1))
    (new,) = packer.pack(Items([np.zeros((77, 7))]), np.arange(1))
    assert late.form == alike.form
    assert new.form == mixed.form


def test_a_column_of_large_arrays_is_not_copied():
    column = np.arange(4 * 1024, dtype=np.uint8).reshape(4, 1024)
    (run,) = Packer(None).pack(Columns(LEAF, [column], 4), np.arange(4))
    assert np.shares_memory(run.strips[0], column)


def test_large_leaves_beside_small_ones_are_not_copied():
    rng = np.random.default_rng(0)
    columns = [
        np.arange(3),
        rng.integers(256, size=(3, 5, 5000), dtype=np.uint8),
        rng.random((3, 7)),
        rng.random((3, 4096)),
    ]
    structure = flatten(dict(zip("abcd", columns, strict=True)))[1]
    (run,) = Packer(None).pack(Columns(structure, columns, 3), np.arange(3))
    assert [any(np.shares_memory(strip, column) for column in columns) for strip in run.strips] == [
        False,
        True,
        False,
        True,
    ]
    data, (starts, _) = bytes_of(run), run.form.fixed
    for row, (offset, length, crc) in enumerate(zip(run.offsets, run.lengths, sums_of(run), strict=True)):
        assert crc32c(data[offset : offset + length]) == crc
        for start, column in zip(starts, columns, strict=True):
            assert data[offset + start :].startswith(column[row].tobytes())
    assert bytes_of(run.first(2)) == data[: run.ends[1]]
    assert sums_of(run.first(2)) == sums_of(run)[:2]
    for at_once in (1, 2, 3):
        parts = list(run.summed(at_once * run.nbytes // 3))
        assert [len(sums) for _, sums in parts] == {1: [1, 1, 1], 2: [2, 1], 3: [3]}[at_once]
        assert b"".join(joined(strips) for strips, _ in parts) == data
        assert np.concatenate([sums for _, sums in parts]).tolist() == sums_of(run)


def test_offsets_lengths_and_checksums_describe_the_bytes():
    for values in ([np.full(2000, i) for i in range(3)], ["a" * i for i in range(5)], [b"x" * 3000, b"", b"y"]):
        for compression in (None, "lz4"):
            for run in packed(values, compression):
                ends = run.offsets + run.lengths
                assert (run.offsets % 16 == 0).all()
                assert (ends[:-1] <= run.offsets[1:]).all()
                data = bytes_of(run)
                assert ends[-1] <= len(data)
                for begin, end, crc in zip(run.offsets, ends, sums_of(run), strict=True):
                    assert crc32c(data[begin:end]) == crc


def test_rows_beyond_the_length_of_a_record_are_left_out(monkeypatch):
    monkeypatch.setattr("penstock.cache.packing._MOST_LENGTH", 100)
    runs = packed(["a", "b" * 200, "c"])
    assert [run.which.tolist() for run in runs] == [[0, 2]]
    assert packed(["b" * 200]) == []
    (last,) = packed(["b" * 200, "c"])
    assert crc32c(bytes_of(last)[int(last.offsets[0]) :]) == sums_of(last)[0]


def test_the_first_rows_of_a_run():
    (run,) = packed([1, 2, 3])
    assert run.first(2).which.tolist() == [0, 1]
    assert len(sums_of(run.first(2))) == 2


def test_dicts_whose_keys_have_another_order_are_another_run():
    packed = Packer(None).pack(Items([{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 3, "b": 4}]), np.arange(3))
    assert [run.which.tolist() for run in packed] == [[0, 2], [1]]
    assert [list(element_of(run)) for run in packed] == [["a", "b"], ["b", "a"]]


def element_of(run):
    return run.form.structure.assemble([[0]] * len(run.form.leaves), 1)[0]
