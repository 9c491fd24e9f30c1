"""Packing: every token in its place once, no sequence too long, documents cut only where they must be."""

from __future__ import annotations

from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.index import packed as packing

LENGTHS = st.lists(st.integers(0, 30), max_size=25).map(lambda lengths: np.array(lengths, np.int64))


def tokens(packed: packing.Packed) -> list[list[tuple[int, int]]]:
    """The tokens of each sequence as (document, index)."""
    sequences: list[list[tuple[int, int]]] = [[] for _ in range(packed.sequences)]
    for document, start, size, _, sequence in packed.pieces.tolist():
        sequences[sequence] += [(document, start + i) for i in range(size)]
    return sequences


def every_token(lengths: np.ndarray) -> list[tuple[int, int]]:
    return [(document, i) for document, length in enumerate(lengths.tolist()) for i in range(length)]


@given(lengths=LENGTHS, length=st.integers(1, 35), fit=st.sampled_from(["first_fit", "best_fit"]), keep=st.booleans())
def test_documents_are_packed_whole_or_in_pieces_of_the_length(lengths, length, fit, keep):
    packed = packing.fitted(lengths, length, fit, keep_positions=keep)
    sequences = tokens(packed)
    assert sorted(chain(*sequences)) == every_token(lengths)
    assert all(0 < len(sequence) <= length for sequence in sequences)
    assert packed.pieces[:, 4].tolist() == sorted(packed.pieces[:, 4].tolist())
    for document, start, size, position, _ in packed.pieces.tolist():
        assert size == length or start + size == lengths[document]
        assert start % length == 0
        assert position == (start if keep else 0)


@given(lengths=LENGTHS, length=st.integers(1, 35), data=st.data(), keep=st.booleans())
def test_documents_are_joined_and_cut(lengths, length, data, keep):
    offset = data.draw(st.integers(0, int(lengths[0]) if len(lengths) else 0))
    packed = packing.join_documents(lengths, length, offset=offset, keep_positions=keep)
    sequences = tokens(packed)
    assert list(chain(*sequences)) == every_token(lengths)[offset:]
    assert [len(sequence) for sequence in sequences[:-1]] == [length] * max(packed.sequences - 1, 0)
    assert all(sequences)
    assert packed.pieces[:, 3].tolist() == (packed.pieces[:, 1].tolist() if keep else [0] * len(packed.pieces))
    # a piece ends where its document or its sequence does
    ends = packed.pieces[:, 1] + packed.pieces[:, 2] == lengths[packed.pieces[:, 0]]
    last = np.append(packed.pieces[1:, 4] != packed.pieces[:-1, 4], True)[: len(packed.pieces)]
    assert (ends | last).all()


@given(lengths=LENGTHS, length=st.integers(1, 35), cuts=st.lists(st.integers(0, 30), min_size=2).map(sorted))
def test_parts_are_the_sequences_between_cuts(lengths, length, cuts):
    packed = packing.fitted(lengths, length, "best_fit")
    cuts = [min(cut, packed.sequences) for cut in cuts]
    parts = packed.parts(cuts)
    assert [tokens(part) for part in parts] == [tokens(packed)[low:high] for low, high in pairwise(cuts)]


@pytest.mark.parametrize("sizes", [range(50, 2001), range(1, 600)], ids=["50 to 2,000", "1 to 599"])
def test_best_fit_leaves_little_room(sizes):
    windows = np.random.default_rng(0).choice(np.array(sizes), (10, 2000))
    sequences = sum(packing.fitted(lengths, 2048, "best_fit").sequences for lengths in windows)
    assert windows.sum() / (sequences * 2048) > 0.98
