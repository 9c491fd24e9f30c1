"""Packing: documents side by side in sequences of one length, the same after every restore and in every run."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import INFINITE, UNKNOWN, Dataset, Options, Ragged, pack_efficiency
from penstock.core.errors import ElementError
from penstock.elements.chunks.chunk import Items
from penstock.elements.nested.nesting import leaf_column
from penstock.kernels import SideThread
from penstock.kernels.reference import pack as twin
from penstock.ops.group.pack import Pack
from penstock.ops.read.given import Given
from penstock.plan.background import Inline
from penstock.plan.flow import Piece
from penstock.testing.laws import same, verify_resume
from tests.draws import draws

STRATEGIES = ["first_fit", "best_fit", "split"]


def documents(sizes, dtype=np.int32):
    """Documents whose tokens tell where they are from: 1000 * (document + 1) + index."""
    return [np.arange(size, dtype=dtype) + dtype(1000 * (i + 1)) for i, size in enumerate(sizes)]


def token_rows(dataset):
    return [sequence["tokens"].tolist() for sequence in dataset]


@st.composite
def packings(draw):
    """A dataset of documents in runs of all sizes, packed in some way, and the same arguments for `pack`."""
    sizes = draw(st.lists(st.integers(0, 12), max_size=30))
    dataset = Dataset.from_source(documents(sizes))
    if draw(st.booleans()):
        dataset = dataset.filter(lambda document: len(document) != 3)
        sizes = [size if size != 3 else 0 for size in sizes]
    strategy = draw(st.sampled_from(STRATEGIES))
    arguments = {"strategy": strategy, "keep_positions": draw(st.booleans())}
    if strategy != "split":
        arguments |= {"window": draw(st.none() | st.integers(1, 60))}
    return sizes, draw(st.integers(1, 15)), arguments, dataset


@given(packings())
def test_every_token_is_in_its_place_once(packing):
    sizes, length, arguments, dataset = packing
    seen = []
    for sequence in dataset.pack(length, pad=-5, **arguments):
        tokens, ids, positions = sequence["tokens"], sequence["segment_ids"], sequence["positions"]
        assert tokens.shape == ids.shape == positions.shape == (length,)
        assert (tokens.dtype, ids.dtype, positions.dtype) == (np.int32, np.int32, np.int32)
        used = int((ids > 0).sum())
        assert used > 0
        assert (ids[:used] > 0).all()
        assert set(tokens[used:].tolist()) <= {-5}
        assert set(positions[used:].tolist()) <= {0}
        assert np.unique(ids[:used]).tolist() == list(range(1, ids.max() + 1))
        for number in range(1, ids.max() + 1):
            segment, its_positions = tokens[ids == number], positions[ids == number]
            first = its_positions[0]
            assert its_positions.tolist() == list(range(first, first + len(segment)))
            assert first == (segment[0] % 1000 if arguments["keep_positions"] else 0)
            assert (np.diff(segment) == 1).all()
            seen += segment.tolist()
    every = [1000 * (i + 1) + index for i, size in enumerate(sizes) for index in range(size)]
    assert sorted(seen) == every
    if arguments["strategy"] == "split":
        assert seen == every


@given(packings(), st.integers(1, 4))
@settings(max_examples=draws(25))
def test_a_restore_at_every_step_and_in_batches(packing, size):
    _, length, arguments, dataset = packing
    packed = dataset.pack(length, **arguments)
    verify_resume(packed)
    verify_resume(packed.batch(size), options=Options(executor="threads", workers=2))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_window_longer_than_a_piece_resumes_in_the_middle(strategy, monkeypatch):
    monkeypatch.setattr("penstock.ops.group.pack.PIECE_BYTES", 1000)
    sizes = np.random.default_rng(0).integers(0, 40, 300).tolist()
    dataset = Dataset.from_source(documents(sizes)).pack(
        16, strategy, **({} if strategy == "split" else {"window": 900})
    )
    whole = list(dataset)
    it = dataset.iterator(epoch=0)
    saved = []
    for _ in whole:
        saved.append(json.dumps(it.state_dict()))
        next(it)
    for step in range(0, len(whole), 7):
        other = dataset.iterator()
        other.load_state_dict(json.loads(saved[step]))
        assert all(same(a, b) for a, b in zip(whole[step : step + 20], other, strict=False))
    assert max(map(len, saved)) < 600


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_sequences_do_not_depend_on_the_pieces_of_the_input(strategy):
    sizes = np.random.default_rng(1).integers(0, 30, 200).tolist()
    source = Dataset.from_source(documents(sizes))
    ways = [
        source,
        source.filter(lambda document: True),
        source.map(lambda document: document[::-1]).map(lambda document: document[::-1].tolist()),
        Dataset.from_tensor_slices(Ragged.from_rows(documents(sizes))),
        source.map(lambda document: {"text": document, "more": 1}).map(np.asarray, on="text"),
        Dataset.from_tensor_slices({"text": Ragged.from_rows(documents(sizes)), "id": np.arange(200)}),
    ]
    whole = [{leaf: array.tolist() for leaf, array in sequence.items()} for sequence in source.pack(32, strategy)]
    for dataset, key in zip(ways, [None] * 4 + ["text"] * 2, strict=True):
        for options in (Options(executor="inline"), Options(executor="threads", workers=3)):
            packed = dataset.pack(32, strategy, on=key).with_options(options)
            assert whole == [{leaf: array.tolist() for leaf, array in sequence.items()} for sequence in packed]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_few_sequences_are_filled_at_a_time_for_any_number_of_documents(strategy, monkeypatch):
    monkeypatch.setattr("penstock.ops.group.pack.PIECE_BYTES", 1000)
    texts = Ragged.from_rows(documents([9] * 200))
    pack = Pack(Dataset.from_tensor_slices(texts)._plan, 16, strategy)
    pieces = list(
        pack.flow((lambda epoch, mark: iter([Piece(leaf_column(texts), np.arange(200), 1)]),), 0, None, np.empty)
    )
    assert sum(map(len, pieces)) == (113 if strategy == "split" else 200)
    assert {len(piece) for piece in pieces[:-1]} == {4}


def test_sequences_filled_in_the_background_equal_those_of_small_pieces(monkeypatch):
    sizes = np.random.default_rng(3).integers(1, 1500, 1200)
    texts = Ragged.from_row_lengths(np.arange(sizes.sum(), dtype=np.int32), sizes)
    dataset = Dataset.from_tensor_slices(texts).pack(1024, window=1 << 21)
    large = list(dataset)
    with dataset.iterator() as cut_short:
        assert same(next(cut_short), large[0])
    assert all(map(same, large, dataset.with_options(Options(executor="inline"))))
    monkeypatch.setattr("penstock.ops.group.pack.PIECE_BYTES", 1 << 15)
    small = list(dataset)
    assert len(large) == len(small) > 768
    assert all(map(same, large, small))


def test_slow_input_is_not_read_before_the_current_window_is_yielded(monkeypatch):
    class Aside(Inline):
        def side_thread(self):
            return SideThread()

    def texts(epoch, mark):
        for row, document in enumerate(documents([600] * 2000)):
            read.append(row)
            yield Piece(Items([document]), np.array([row]), row + 1)

    monkeypatch.setattr("penstock.ops.group.pack.QUICKLY", 0)
    read = []
    window = 437 * 600  # of 437 sequences with a document each, in one piece
    flow = Pack(Given(), 1024, window=window).flow((texts,), 0, None, np.empty, Aside())
    assert len(next(flow)) == 437
    assert len(read) < 2 * 437


def test_windows_are_packed_separately():
    sizes = [5, 3, 6, 2, 4, 1]
    packed = token_rows(Dataset.from_source(documents(sizes)).pack(8, window=8, pad=-1))
    alone = [documents(sizes)[low:high] for low, high in ((0, 2), (2, 4), (4, 6))]  # 8, 8 and 5 tokens
    assert [[token for token in row if token >= 0] for row in packed] == [
        np.concatenate(window).tolist() for window in alone
    ]
    assert len(token_rows(Dataset.from_source(documents(sizes)).pack(8))) == 3


@pytest.mark.parametrize("strategy", ["first_fit", "best_fit"])
def test_windows_are_packed_as_by_the_twin(strategy):
    sizes = np.random.default_rng(2).integers(0, 50, 80)
    texts = documents(sizes.tolist())
    bins, count = twin.pack_bins(sizes, 50, strategy)
    expected = [np.concatenate([texts[i] for i in np.flatnonzero(bins == b)]).tolist() for b in range(count)]
    made = list(Dataset.from_source(texts).pack(50, strategy))
    assert [sequence["tokens"][sequence["segment_ids"] > 0].tolist() for sequence in made] == expected


def test_documents_are_joined_and_cut():
    packed = list(Dataset.from_source(documents([3, 0, 6, 1])).pack(4, "split"))
    assert [sequence["tokens"].tolist() for sequence in packed] == [
        [1000, 1001, 1002, 3000],
        [3001, 3002, 3003, 3004],
        [3005, 4000, 0, 0],
    ]
    assert [sequence["segment_ids"].tolist() for sequence in packed] == [[1, 1, 1, 2], [1, 1, 1, 1], [1, 2, 0, 0]]
    assert [sequence["positions"].tolist() for sequence in packed] == [[0, 1, 2, 0], [0, 1, 2, 3], [0, 0, 0, 0]]
    kept = Dataset.from_source(documents([3, 0, 6, 1])).pack(4, "split", keep_positions=True)
    assert [sequence["positions"].tolist() for sequence in kept] == [[0, 1, 2, 0], [1, 2, 3, 4], [5, 0, 0, 0]]


def test_documents_that_are_too_long_are_split_dropped_or_refused():
    source = Dataset.from_source(documents([2, 7, 1]))
    whole = {"tokens": [[2000, 2001, 2002], [2003, 2004, 2005], [1000, 1001, 2006], [3000, 0, 0]]}
    assert sorted(token_rows(source.pack(3, "first_fit"))) == sorted(whole["tokens"])
    assert token_rows(source.pack(3, overlong="drop")) == [[1000, 1001, 3000]]
    with pytest.raises(
        ElementError, match="the element of row 1 has 7 tokens, more than the 3 of a sequence"
    ) as caught:
        list(source.pack(3, overlong="error"))
    assert caught.value.__notes__[:2] == ["row 1 is made from item 1 of list", "in pack(3, overlong='error')"]
    positions = [row["positions"].tolist() for row in source.pack(3, "first_fit", keep_positions=True)]
    assert [3, 4, 5] in positions
    assert [0, 1, 6] in positions


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int64, np.dtype(">u4")])
def test_tokens_keep_their_dtype(dtype):
    packed = list(Dataset.from_source([np.array([3, 4], dtype), np.array([5], dtype)]).pack(4, pad=9))
    assert packed[0]["tokens"].dtype == dtype
    assert packed[0]["tokens"].tolist() == [3, 4, 5, 9]


def test_documents_of_one_length_may_come_in_columns():
    matrix = np.arange(12).reshape(4, 3)
    assert token_rows(Dataset.from_tensor_slices(matrix).pack(6)) == matrix.reshape(2, 6).tolist()
    pairs = Dataset.from_tensor_slices({"id": np.arange(4), "text": matrix})
    assert token_rows(pairs.pack(6, on="text")) == matrix.reshape(2, 6).tolist()
    assert pairs.pack(6, on="text").element_spec["tokens"].shape == (6,)


def test_an_epoch_without_tokens_has_no_sequences():
    for texts in ([], [np.zeros(0, int)] * 3, [[], []]):
        for strategy in STRATEGIES:
            assert list(Dataset.from_source(texts).pack(4, strategy)) == []
    assert list(Dataset.from_source(documents([9])).pack(4, overlong="drop")) == []


def test_documents_without_a_token_may_have_any_dtype():
    assert token_rows(Dataset.from_source([[], np.array([1, 2]), []]).pack(4)) == [[1, 2, 0, 0]]


@pytest.mark.parametrize(
    ("elements", "named"),
    [
        ([np.zeros(3), np.zeros(2)], "row 0 has float64\\[3\\]"),
        ([np.zeros(2, int), np.zeros((2, 2), int)], "row 1 has int64\\[2, 2\\]"),
        ([np.zeros(2, int), 5], "row 1 has int64\\[\\]"),
        ([{"text": np.zeros(2, int)}], "row 0 has a dict.* with on="),
        (["text"], "row 0 has <U4"),
        ([[1, [2, 3]]], "row 0 has object"),
        ([np.zeros(2, np.int32), np.zeros(2, np.int64)], "are int32, but those of row 1 are int64"),
        (
            [np.zeros(0, np.float32), np.zeros(2, np.int64), np.zeros(2, np.uint8)],
            "are int64, but those of row 2 are uint8",
        ),
    ],
)
def test_elements_that_are_no_documents_are_named(elements, named):
    with pytest.raises(ElementError, match=named) as caught:
        list(Dataset.from_source(elements).pack(8))
    at = re.search(r"row (\d)", str(caught.value))[1]
    assert caught.value.__notes__[:2] == [f"row {at} is made from item {at} of list", "in pack(8)"]


def test_errors_name_documents_of_streams_and_of_later_epochs():
    long = Dataset.from_source(documents([1, 4])).shuffle(seed=3)
    last = next(epoch for epoch in range(1, 9) if len(next(iter(long.iterator(epoch=epoch)))) == 1)
    with pytest.raises(ElementError, match="row 1 has 4 tokens") as caught:
        list(long.pack(3, overlong="error").iterator(epoch=last))
    assert caught.value.__notes__[0] == "row 1 is made from item 1 of list"
    with pytest.raises(ElementError, match="row 0 has 4 tokens") as caught:
        list(long.filter(lambda x: len(x) > 1).pack(3, overlong="error"))
    assert caught.value.__notes__[0] == "in pack(3, overlong='error')"


def test_a_missing_key_is_named():
    with pytest.raises(ElementError, match="no 'ids'"):
        list(Dataset.from_source([{"text": np.zeros(2, int)}]).pack(8, on="ids"))


def test_a_pad_value_that_does_not_fit_the_dtype_is_refused():
    with pytest.raises(ElementError, match=r"pack\(pad=-1\): tokens are uint16, from 0 to 65535"):
        list(Dataset.from_source([np.zeros(2, np.uint16)]).pack(8, pad=-1))


def test_errors_of_the_input_pass_through():
    def fail(document):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        list(Dataset.from_source(documents([1])).map(fail).pack(4))


def test_pack_has_no_length_and_shows_its_arguments():
    finite, endless = Dataset.from_tensor_slices(np.zeros((3, 2), int)), Dataset.from_tensors(np.zeros(2, int)).repeat()
    assert finite.pack(4).cardinality() == UNKNOWN
    assert endless.pack(4).cardinality() == INFINITE
    assert token_rows(endless.pack(3, window=10).take(2)) == [[0] * 3] * 2
    node = finite.pack(2048)._plan
    assert node.label() == "pack(2048)"
    assert node.window_tokens == 1024 * 2048
    assert Pack(node.input, 1 << 20).window_tokens == 1 << 24
    assert Pack(node.input, 1 << 24).window_tokens == 1 << 24
    assert (
        finite.pack(4, "first_fit", window=9, pad=1)._plan.label() == "pack(4, strategy='first_fit', window=9, pad=1)"
    )


def test_batches_of_sequences_can_be_written_to():
    batches = list(Dataset.from_source(documents([4] * 8)).pack(4).batch(2))
    batches[0]["tokens"][:] = -1
    assert batches[1]["tokens"].tolist() == [[3000, 3001, 3002, 3003], [4000, 4001, 4002, 4003]]


def test_little_room_is_left_among_documents_of_50_to_2000_tokens():
    sizes = np.random.default_rng(0).integers(50, 2001, 8000).tolist()
    dataset = Dataset.from_source([np.zeros(size, np.uint8) for size in sizes]).pack(2048)
    sequences = list(dataset)
    assert sum(map(pack_efficiency, sequences)) / len(sequences) >= 0.98


@given(st.lists(st.integers(0, 9), max_size=12), st.integers(1, 8))
def test_a_last_sequence_that_is_not_full_may_be_left_out(sizes, length):
    for ds in (Dataset.from_source(documents(sizes)), Dataset.from_source(documents(sizes)).filter(lambda x: True)):
        kept = ds.pack(length, "split")
        full = ds.pack(length, "split", remainder="drop")
        assert list(map(repr, full)) == list(map(repr, kept))[: sum(sizes) // length]
        verify_resume(full, most=4)
    assert full.fingerprint() != kept.fingerprint()
    assert "pack(" in full.explain()
    assert "remainder='drop')" in full.explain()


def test_pack_efficiency_is_the_share_of_places_with_tokens():
    packed = Dataset.from_source([np.arange(3), np.arange(4), np.arange(2)]).pack(6)
    batch = next(iter(packed.batch(2)))
    assert pack_efficiency(batch) == pack_efficiency(batch["segment_ids"]) == 9 / 12
    assert [pack_efficiency(sequence) for sequence in packed] == [3 / 6, 6 / 6]
    assert pack_efficiency([[1, 1, 2, 0]]) == 0.75
    assert pack_efficiency(np.zeros((0, 4))) == 1


def test_pack_efficiency_refuses_other_batches():
    with pytest.raises(ElementError, match="segment_ids"):
        pack_efficiency({"tokens": np.zeros(3)})
