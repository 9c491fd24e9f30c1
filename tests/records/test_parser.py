"""In a pipeline: before and after `batch`, in parts of elements, in place, and wherever it is sent."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import penstock as ps
from penstock.elements.chunks.chunk import Columns
from penstock.elements.nested.structure import LEAF
from penstock.testing.laws import same as alike
from penstock.testing.laws import verify_resume

R = ps.records
FEATURES = {
    "x": R.FixedLenFeature([], "float32"),
    "pair": R.FixedLenFeature([2], "int64", [7, 8]),
    "name": R.FixedLenFeature([], str, ""),
}
UNEVEN = {
    **FEATURES,
    "ids": R.RaggedFeature("int64"),
    "list": R.VarLenFeature("int64"),
    "rows": R.RaggedFeature(bytes, "tags", [R.RaggedFeature.RowLengths("n")]),
}


def record(i: int) -> bytes:
    said = {
        "x": i / 2,
        "name": f"n{i}",
        "ids": range(i % 4),
        "list": range(i % 3),
        "tags": ["a"] * (i % 3),
        "n": [i % 3],
    }
    return R.encode_example({**said, **({"pair": [i, -i]} if i % 2 else {})})


def dataset(count: int) -> ps.Dataset:
    return ps.Dataset.from_tensor_slices(np.array([record(i) for i in range(count)], object))


def same(one, other) -> bool:
    return repr(one) == repr(other)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9])
@pytest.mark.parametrize("drop", [False, True])
def test_parsing_before_the_batch_and_after_is_the_same(count: int, drop: bool) -> None:
    parse = R.parse_example(FEATURES)
    before = list(dataset(count).map(parse).batch(4, drop_remainder=drop))
    after = list(dataset(count).batch(4, drop_remainder=drop).map(parse))
    assert len(before) == len(after) == (count // 4 if drop else -(-count // 4))
    assert same(before, after)


@pytest.mark.parametrize("options", [ps.Options(), ps.Options(rewrite=False), ps.Options(executor="threads")])
def test_elements_in_a_pipeline_equal_those_of_a_call(options: ps.Options) -> None:
    parse = R.parse_example(UNEVEN)
    ds = dataset(9).with_options(options)
    for i, element in enumerate(ds.map(parse)):
        called = parse(record(i))
        assert element.keys() == called.keys()
        assert all(np.array_equal(element[k], called[k]) if k != "list" else element[k] == called[k] for k in called)
    for i, batch in enumerate(ds.shuffle(seed=0).batch(4).map(parse)):
        rows = list(ds.shuffle(seed=0).batch(4).iterator(epoch=0))[i]
        assert same(batch, parse(list(rows))) or i > 2


def test_ragged_features_are_batched_as_they_are_parsed() -> None:
    parse = R.parse_example(UNEVEN)
    alone = [parse([record(i) for i in range(low, min(low + 4, 9))]) for low in range(0, 9, 4)]
    assert same(list(dataset(9).batch(4).map(parse)), alone)
    ids = R.parse_example({"ids": R.RaggedFeature("int64", row_splits_dtype="int64"), "x": FEATURES["x"]})
    assert same(list(dataset(9).map(ids).ragged_batch(4)), list(dataset(9).batch(4).map(ids)))


EXECUTORS = [ps.Options(), ps.Options(rewrite=False), ps.Options(executor="threads", workers=3)]


@pytest.mark.parametrize("options", EXECUTORS)
@pytest.mark.parametrize("drop", [False, True])
def test_uneven_features_are_the_same_parsed_before_the_batch_and_after(options: ps.Options, drop: bool) -> None:
    parse = R.parse_example(UNEVEN)
    rows = dataset(11).shuffle(seed=3, reshuffle_each_iteration=False).with_options(options)
    before, after = rows.map(parse).batch(4, drop_remainder=drop), rows.batch(4, drop_remainder=drop).map(parse)
    assert before.element_spec == after.element_spec
    made = list(before)
    assert alike(made, list(after))
    assert made[0]["ids"].shape == (4, None)
    assert made[0]["list"].dense_shape[0] == 4
    assert alike(list(rows.map(parse).filter(lambda x: True).batch(4, drop_remainder=drop)), list(after))


def test_batches_of_uneven_features_resume() -> None:
    verify_resume(dataset(11).shuffle(seed=3).map(R.parse_example(UNEVEN)).batch(4), most=3)


def test_a_part_of_an_element_may_become_several() -> None:
    parse = R.parse_example(FEATURES)
    ds = ps.Dataset.zip((ps.Dataset.range(6), dataset(6), ps.Dataset.range(6))).map(parse, on=1)
    first, second = ds.batch(3)
    assert first[0].tolist() == [0, 1, 2]
    assert same(second[1], parse([record(i) for i in (3, 4, 5)]))
    assert ds.element_spec[1]["pair"].shape == (2,)


def test_values_of_fixed_size_are_written_in_place() -> None:
    parse = R.parse_example(FEATURES)
    out = [np.empty(3, object), np.empty((3, 2), np.int64), np.empty(3, np.float32)]
    made = parse.columns([record(i) for i in range(3)], np.arange(3), out, np.empty)
    assert isinstance(made, Columns)
    assert made.columns[1] is out[1] or np.shares_memory(made.columns[1], out[1])
    assert out[2].tolist() == [0, 0.5, 1]


def test_a_parser_is_comparable_data() -> None:
    parse = R.parse_example(UNEVEN)
    assert pickle.loads(pickle.dumps(parse)) == parse
    assert same(pickle.loads(pickle.dumps(parse))(record(5)), parse(record(5)))
    assert repr(parse) == "parse_example(6 features)"
    assert dataset(3).map(parse).fingerprint() != dataset(3).map(R.parse_example(FEATURES)).fingerprint()


def test_several_batches_are_refused() -> None:
    with pytest.raises(TypeError, match="not several batches"):
        R.parse_example(FEATURES)([[record(0)], [record(1)]])
    assert LEAF.num_leaves == 1


LENGTHS = {
    "ids": R.RaggedFeature("int64"),
    "list": R.VarLenFeature("int64"),
    "padded": R.FixedLenSequenceFeature([], "int64", allow_missing=True),
    "x": R.FixedLenFeature([], "int64"),
}
EVEN, DIFFERENT = [2] * 12, [1, 2, 3, 0, 2, 2, 2, 2, 4, 0, 0, 1]


def of_lengths(lengths: list[int]) -> list[bytes]:
    return [
        R.encode_example({"ids": [7] * n, "list": [8] * n, "padded": [9] * n, "x": i}) for i, n in enumerate(lengths)
    ]


SOURCES = {
    "a list": ps.Dataset.from_source,
    "slices": lambda records: ps.Dataset.from_tensor_slices(np.array(records, object)),
    "a generator": lambda records: ps.Dataset.from_generator(lambda: iter(records)),
    "a function": lambda records: ps.Dataset.range(len(records)).map(records.__getitem__),
    "a stream": lambda records: ps.Dataset.from_source(records).filter(lambda record: True),
}


@pytest.mark.parametrize("lengths", [EVEN, DIFFERENT])
@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize("options", EXECUTORS)
def test_the_types_of_a_batch_depend_neither_on_lengths_nor_on_the_source(lengths, source, options) -> None:
    parsed = source(of_lengths(lengths)).map(R.parse_example(LENGTHS)).with_options(options)
    for ds in (parsed, parsed.filter(lambda x: True), parsed.take(100).prefetch(1), parsed.shuffle(3, seed=0)):
        for batched in (ds.batch(4), ds.batch(2).rebatch([3, 4, 5])):
            for batch in batched:
                assert {key: type(leaf) for key, leaf in batch.items()} == {
                    "ids": ps.Ragged,
                    "list": ps.Sparse,
                    "padded": ps.Ragged,
                    "x": np.ndarray,
                }
                assert batch["ids"].row_lengths().tolist() == batch["padded"].row_lengths().tolist()


@pytest.mark.parametrize("lengths", [EVEN, DIFFERENT])
@pytest.mark.parametrize("options", EXECUTORS)
def test_types_of_records_in_a_part_of_an_element_do_not_depend_on_lengths(lengths, options) -> None:
    elements = [{"record": record, "name": f"n{i}"} for i, record in enumerate(of_lengths(lengths))]
    sources = (ps.Dataset.from_source(elements), ps.Dataset.from_generator(lambda: iter(elements)))
    for source in sources:
        ds = source.map(R.parse_example(LENGTHS), on="record").with_options(options)
        for batch in (*ds.batch(4), *ds.batch(2).rebatch([5, 7])):
            assert isinstance(batch["record"]["ids"], ps.Ragged)
            assert isinstance(batch["record"]["list"], ps.Sparse)
            assert isinstance(batch["record"]["padded"], ps.Ragged)
            assert batch["name"].dtype == object


@pytest.mark.parametrize("lengths", [EVEN, DIFFERENT])
def test_types_of_lists_of_sequence_examples_do_not_depend_on_lengths(lengths) -> None:
    lists = {"seen": R.RaggedFeature("int64"), "price": R.FixedLenSequenceFeature([], "int64")}
    records = [R.encode_sequence_example({"u": [1] * n}, {"seen": [[2]] * n, "price": [3] * n}) for n in lengths]
    parse = R.parse_sequence_example({"u": R.RaggedFeature("int64")}, lists)
    for source in SOURCES.values():
        for context, of_lists in source(records).map(parse).batch(4):
            assert isinstance(context["u"], ps.Ragged)
            assert (of_lists["seen"].ragged_rank, of_lists["price"].ragged_rank) == (2, 1)
