"""Packing in native code equals its twin token by token, and refuses what does not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels import MOST_CAPACITY, HeldArrays, SideThread, begin_filling, fill_bins, pack_bins
from penstock.kernels.reference import pack as twin

STRATEGIES = ["first_fit", "best_fit"]
Out = tuple[np.ndarray, np.ndarray, np.ndarray]


def memory(count: int, capacity: int, dtype: Any = np.int32) -> Out:
    shape = (count, capacity)
    return np.full(shape, 77, dtype), np.full(shape, 77, np.int32), np.full(shape, 77, np.int32)


def held(arrays: list[Any]) -> list[HeldArrays]:
    """Arrays of one dtype, held in two parts."""
    half = len(arrays) // 2
    return [HeldArrays(part, arrays[0].dtype) for part in (arrays[:half], arrays[half:])] if arrays else []


@st.composite
def lengths_and_capacity(draw: st.DrawFn) -> tuple[np.ndarray, int]:
    capacity = draw(st.one_of(st.integers(1, 40), st.sampled_from([63, 64, 4095, 4096, 1 << 24])))
    return np.array(draw(st.lists(st.integers(0, capacity), max_size=80)), np.int64), capacity


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(case=lengths_and_capacity())
def test_bins_are_those_of_the_twin(strategy: Any, case: tuple[np.ndarray, int]) -> None:
    lengths, capacity = case
    bins, count = pack_bins(lengths, capacity, strategy)
    expected, expected_count = twin.pack_bins(lengths, capacity, strategy)
    assert bins.tolist() == expected.tolist()
    assert count == expected_count


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_many_sequences_are_packed_without_the_lock_and_without_overflowing_a_bin(strategy: Any) -> None:
    lengths = np.random.default_rng(0).integers(0, 2049, 20_000)
    bins, count = pack_bins(lengths, 2048, strategy)
    used = np.bincount(bins[lengths > 0], lengths[lengths > 0], count)
    assert used.min() > 0
    assert used.max() <= 2048
    assert (bins[lengths == 0] == -1).all()
    first = [np.flatnonzero(bins == b)[0] for b in range(0, count, 500)]
    assert first == sorted(first)  # bins come about as their sequences came


@pytest.mark.parametrize(("lengths", "named"), [([1, 11], "sequence 1 has 11"), ([-1], "sequence 0 has -1")])
def test_a_sequence_longer_than_a_bin_is_named(lengths: list[int], named: str) -> None:
    for strategy in STRATEGIES:
        with pytest.raises(ValueError, match=named):
            pack_bins(np.array(lengths), 10, strategy)  # type: ignore[arg-type]


def test_invalid_capacities_strategies_and_dtypes_are_refused() -> None:
    for capacity in (0, -1, MOST_CAPACITY + 1):
        with pytest.raises(ValueError, match=rf"capacity must be from 1 to 2\*\*24, not {capacity}"):
            pack_bins(np.array([0]), capacity)
    with pytest.raises(KeyError):
        pack_bins(np.array([1]), 1, "worst_fit")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="int64"):
        pack_bins(np.array([1], np.int32), 1)  # type: ignore[arg-type]


@st.composite
def fillings(draw: st.DrawFn) -> tuple[list[np.ndarray], np.ndarray, int, int, Any]:
    """Pieces of documents of every stride, packed into bins of a capacity, perhaps with bins to spare."""
    dtype = draw(st.sampled_from(["u1", "u2", "i4", "i8", ">i4", "f8", "c16", "V3"]))
    capacity = draw(st.integers(1, 30))
    documents, pieces = [], []
    for _ in range(draw(st.integers(0, 12))):
        size, step = draw(st.integers(1, 20)), draw(st.sampled_from([1, 2, -1, -3]))
        whole = np.arange(1, 1 + size * abs(step), dtype=np.uint8).astype(np.dtype(dtype))
        document = whole[::step][:size]
        start = draw(st.integers(0, size - 1))
        length = draw(st.integers(1, min(size - start, capacity)))
        documents.append(document)
        pieces.append([len(documents) - 1, start, length, draw(st.integers(0, 100)), 0])
        if draw(st.booleans()):
            pieces.append([draw(st.integers(0, len(documents) - 1)), 0, 1, 0, 0])
    table = np.array(pieces, np.int64).reshape(-1, 5)
    table[:, 4], count = pack_bins(table[:, 2], capacity, draw(st.sampled_from(STRATEGIES)))  # type: ignore[arg-type]
    return documents, table, count + draw(st.integers(0, 2)), capacity, np.dtype(dtype)


@given(case=fillings())
def test_bins_are_filled_as_by_the_twin(case: tuple[list[np.ndarray], np.ndarray, int, int, Any]) -> None:
    documents, pieces, count, capacity, dtype = case
    pad: Any = b"abc" if dtype.kind == "V" else 3
    out, expected = memory(count, capacity, np.uint8), memory(count, capacity, np.uint8)
    out, expected = (out[0].astype(dtype), *out[1:]), (expected[0].astype(dtype), *expected[1:])
    fill_bins(held(documents), pieces, out, pad)
    twin.fill_bins(documents, pieces, expected, pad)
    assert [array.tobytes() for array in out] == [array.tobytes() for array in expected]


def test_bins_larger_than_any_cache_are_filled_too() -> None:
    flat = np.arange(3_000_000, dtype=np.int32)
    lengths = np.random.default_rng(1).integers(1, 5000, 600)
    ends = np.cumsum(lengths)
    bins, count = pack_bins(lengths, 8192)
    zeros = np.zeros_like(ends)
    pieces = np.stack([zeros, ends - lengths, lengths, zeros, bins], axis=1)
    out, expected = memory(count, 8192), memory(count, 8192)
    fill_bins(held([flat]), pieces, out, -1)
    twin.fill_bins([flat], pieces, expected, -1)
    assert all((mine == other).all() for mine, other in zip(out, expected, strict=True))


def test_bins_can_be_filled_while_other_fillings_are_dropped() -> None:
    flat = np.arange(40_000, dtype=np.int32)
    pieces = np.array([[0, 1000 * i, 1000, 0, i] for i in range(40)])
    outs = [memory(40, 1024) for _ in range(6)]
    side = SideThread()
    begun = [begin_filling(held([flat]), pieces, out, -1, side if i % 3 else None) for i, out in enumerate(outs)]
    del begun[1], side
    expected = memory(40, 1024)
    twin.fill_bins([flat], pieces, expected, -1)
    for each in begun:
        each.wait()
        each.wait()
    for out in outs[:1] + outs[2:]:  # what was let go of was perhaps not begun
        assert all((mine == other).all() for mine, other in zip(out, expected, strict=True))


def test_pieces_that_do_not_fit_are_refused_before_a_thread_begins() -> None:
    with pytest.raises(ValueError, match="piece 1 does not fit"):
        begin_filling(held(WORDS), np.array([[0, 0, 2, 0, 0], [0, 0, 3, 0, 0]]), memory(1, 4), 0, SideThread())


WORDS = [np.arange(5, dtype=np.int32)]
WORDS_OF_BYTES = [np.full(1, 6, np.uint8), np.full(1, 7, np.uint8)]

MISFITS = {
    "outside its document": ([0, 0, 6, 0, 0], "piece 0 is not inside document 0 of 5 tokens"),
    "before its document": ([0, -1, 2, 0, 0], "not inside"),
    "of negative length": ([0, 0, -1, 0, 0], "not inside"),
    "of no length": ([0, 0, 0, 0, 0], "piece 0 does not fit"),
    "far outside": ([0, 5, (1 << 63) - 1, 0, 0], "not inside"),
    "too long for its bin": ([0, 0, 5, 0, 0], "piece 0 does not fit: 5 tokens from position 0 on in bin 0 of 2"),
    "in a bin there is not": ([0, 0, 1, 0, 2], "bin 2 of 2"),
    "in a bin below zero": ([0, 0, 1, 0, -1], "bin -1 of 2"),
    "at a negative position": ([0, 0, 1, -1, 0], "position -1"),
    "at a position beyond int32": ([0, 0, 2, (1 << 31) - 1, 0], "position 2147483647"),
}


@pytest.mark.parametrize("case", MISFITS)
def test_a_piece_that_does_not_fit_is_refused_before_anything_is_written(case: str) -> None:
    piece, message = MISFITS[case]
    out = memory(2, 4)
    with pytest.raises(ValueError, match=message):
        fill_bins(held(WORDS), np.array([piece]), out)
    assert all((array == 77).all() for array in out)


def test_a_bin_takes_no_more_pieces_than_it_has_room_for() -> None:
    with pytest.raises(ValueError, match="piece 2 does not fit"):
        fill_bins(held(WORDS), np.array([[0, 0, 2, 0, 0], [0, 0, 2, 0, 0], [0, 0, 1, 0, 0]]), memory(2, 4))


def read_only() -> Out:
    out = memory(1, 4)
    out[2].flags.writeable = False
    return out


PIECE = np.array([[0, 0, 1, 0, 0]])
OUT = memory(1, 4)
REFUSED: dict[str, tuple[str, Any, Any, Any]] = {
    "other dtypes": ("the dtype of the tokens, int32, not int64", [np.arange(5)], PIECE, OUT),
    "other byte orders": ("the dtype of the tokens, int32, not >i4", [np.arange(5, dtype=">i4")], PIECE, OUT),
    "objects": ("plain values", WORDS, PIECE, memory(1, 4, object)),
    "a document there is not": ("document 0 of 0", [], PIECE, OUT),
    "a document below zero": ("document -1 of 1", WORDS, PIECE - (1, 0, 0, 0, 0), OUT),
    "a piece too short": ("shape", WORDS, PIECE[:, :4], OUT),
    "pieces of int32": ("int64", WORDS, PIECE.astype(np.int32), OUT),
    "ids of int64": ("int32", WORDS, PIECE, (OUT[0], OUT[1], np.zeros((1, 4), np.int64))),
    "other shapes": ("one shape", WORDS, PIECE, (*OUT[:2], memory(1, 3)[2])),
    "flat memory": ("shape", WORDS, PIECE, tuple(array.ravel() for array in OUT)),
    "read-only memory": ("read-only", WORDS, PIECE, read_only()),
    "memory used twice": ("overlap", WORDS, PIECE, (OUT[0], OUT[1], OUT[1])),
    "its own tokens": ("overlap", [OUT[0][0]], PIECE, OUT),
    "its own tokens backwards": ("overlap", [OUT[0][0, ::-1]], PIECE, OUT),
}


@pytest.mark.parametrize("case", REFUSED)
def test_memory_and_documents_of_another_kind_are_refused(case: str) -> None:
    message, documents, pieces, out = REFUSED[case]
    with pytest.raises((TypeError, ValueError, BufferError, IndexError, AttributeError), match=message):
        fill_bins(held(documents), pieces, out)


class Mine(np.ndarray):
    pass


@pytest.mark.parametrize(
    "document",
    [
        np.zeros(3, np.int64),
        np.zeros(3, ">i4"),
        np.zeros((5, 1), np.int32),
        np.int32(1),
        np.array(1, np.int32),
        np.zeros(3, np.int32).view(Mine),
        [1, 2, 3],
        b"abcd",
        None,
    ],
)
def test_only_arrays_of_one_dimension_and_dtype_are_held(document: Any) -> None:
    with pytest.raises(TypeError, match="document 1 must be a one-dimensional array of int32"):
        HeldArrays([*WORDS, document], np.dtype(np.int32))


def test_held_arrays_cannot_be_resized_until_released() -> None:
    array = np.arange(3)
    holding = HeldArrays([array, array[::2], array[:0]], array.dtype)
    assert holding.lengths.tolist() == [3, 2, 0]
    with pytest.raises(ValueError, match="resize"):
        array.resize(1000)
    del holding
    array.resize(1000, refcheck=False)


def test_documents_are_numbered_across_all_held_arrays() -> None:
    texts = [HeldArrays(part, np.dtype(np.uint8)) for part in ([], [np.full(1, 5, np.uint8)], [], WORDS_OF_BYTES)]
    out = memory(1, 4, np.uint8)
    fill_bins(texts, np.array([[2, 0, 1, 0, 0], [0, 0, 1, 0, 0], [1, 0, 1, 0, 0]]), out)
    assert out[0].tolist() == [[7, 5, 6, 0]]
    with pytest.raises(IndexError, match="document 3 of 3"):
        fill_bins(texts, np.array([[3, 0, 1, 0, 0]]), out)


def test_without_pieces_bins_hold_only_padding() -> None:
    out = memory(2, 3)
    fill_bins([], np.zeros((0, 5), np.int64), out, 5)
    assert [array.tolist() for array in out] == [[[5] * 3] * 2, [[0] * 3] * 2, [[0] * 3] * 2]
    fill_bins([], np.zeros((0, 5), np.int64), memory(0, 3))
