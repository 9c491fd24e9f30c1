"""The remainder of an epoch: one policy for every batching operation; and the unit of a run, with its rows."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock import INFINITE, UNKNOWN, Dataset
from penstock.core.errors import ElementError, PlanError
from penstock.elements.chunks.chunk import Columns, Items
from penstock.elements.nested.structure import LEAF, flatten
from penstock.ops.group.batch import Batch
from penstock.ops.group.batching import batching_of, rows_in, rows_in_all
from penstock.testing.laws import same, verify_determinism, verify_resume

COUNT = 7
WORDS = [np.arange(row % 3 + 1, dtype=np.int32) + row for row in range(COUNT)]
SHAPES = {"w": [3], "y": ()}
ROWS = Dataset.from_source([{"w": word, "y": np.float32(row)} for row, word in enumerate(WORDS)])
SLICES = Dataset.from_tensor_slices({"w": ps.Ragged.from_rows(WORDS), "y": np.arange(COUNT, dtype=np.float32)})


def length(element):
    return len(element["w"])


BATCHES = {
    "batch": lambda ds, size, **left: ds.map(lambda x: x["y"]).map(lambda y: {"y": y}).batch(size, **left),
    "batch of rows": lambda ds, size, **left: SLICES.batch(size, **left),
    "padded_batch": lambda ds, size, **left: ds.padded_batch(size, **left),
    "padded_batch of rows": lambda ds, size, **left: SLICES.padded_batch(size, SHAPES, -1, **left),
    "ragged_batch": lambda ds, size, **left: ds.ragged_batch(size, **left),
    "sparse_batch": lambda ds, size, **left: ds.sparse_batch(size, SHAPES, **left),
    "rebatch": lambda ds, size, **left: ds.padded_batch(2, SHAPES).rebatch(size, **left),
    "rebatch in turn": lambda ds, size, **left: ds.padded_batch(2, SHAPES).rebatch([size] * 2, **left),
    "rebatch of rows": lambda ds, size, **left: SLICES.batch(2).rebatch([size] * 2, **left),
    "bucket": lambda ds, size, **left: ds.bucket_by_sequence_length(length, [9], [size] * 2, **left),
    "tokens": lambda ds, size, **left: ds.batch_by_tokens(length, 99, tolerance=10, max_batch_size=size, **left),
}
STREAM = {name: lambda ds, size, make=make, **left: make(stream(ds), size, **left) for name, make in BATCHES.items()}
every_one = pytest.mark.parametrize(
    "make", [*BATCHES.values(), *STREAM.values()], ids=[*BATCHES, *(f"{name}, streamed" for name in STREAM)]
)


def stream(ds):
    return ds.filter(lambda *element: True)


def sizes(batch):
    return {len(leaf) for leaf in flatten(batch)[0]}


@every_one
@pytest.mark.parametrize("size", [1, 2, 3, 7, 8])
def test_every_batch_is_padded_and_flags_real_elements(make, size):
    kept, padded = list(make(ROWS, size)), list(make(ROWS, size, remainder="pad"))
    assert len(kept) == len(padded) == -(-COUNT // size)
    for one, other in zip(kept, padded, strict=True):
        count = len(one["y"])
        assert sizes(other) == {size}
        assert other["valid"].dtype == np.bool_
        assert other["valid"].tolist() == [True] * count + [False] * (size - count)
        assert other["valid"].flags.writeable
        real = {key: leaf[:count] for key, leaf in other.items() if key != "valid"}
        assert same(real, one)


@every_one
def test_the_spec_of_padded_batches_is_known_in_advance(make):
    ds = make(ROWS, 3, remainder="pad")
    assert (ds.cardinality() == 3) if ds._plan.indexed else (ds.cardinality() == UNKNOWN)
    assert 'remainder="pad"' in ds.explain()
    assert ds.fingerprint() != make(ROWS, 3).fingerprint() != make(ROWS, 3, drop_remainder=True).fingerprint()
    assert ds.fingerprint() != make(ROWS, 3, remainder="pad", mask_key="real").fingerprint()
    assert make(ROWS, 3, remainder="drop").fingerprint() == make(ROWS, 3, drop_remainder=True).fingerprint()
    assert make(ROWS, 3, remainder="keep").fingerprint() == make(ROWS, 3).fingerprint()
    assert "mask_key='real'" in make(ROWS, 3, remainder="pad", mask_key="real").explain()
    assert not any(finding.code == "PS201" for finding in ds.check().findings)


@every_one
def test_padded_batches_are_the_same_alone_with_any_executor_and_after_a_restore(make):
    ds = make(ROWS.shuffle(seed=3), 3, remainder="pad")
    if ds._plan.indexed:
        assert all(same(ds[at], batch) for at, batch in enumerate(list(ds)))
        assert len(ds.locate(2)) == len(ds.take(3).locate(2)) >= 1
    verify_determinism(ds)
    verify_resume(ds, most=4)


@every_one
@pytest.mark.parametrize(
    ("left", "error", "message"),
    [
        ({"remainder": "fill"}, ValueError, r'\(remainder=\'fill\'\): expected "keep", "drop" or "pad"'),
        ({"drop_remainder": True, "remainder": "pad"}, ValueError, "drop_remainder=True contradicts it"),
        ({"drop_remainder": True, "remainder": "keep"}, ValueError, "drop_remainder=True contradicts it"),
        ({"drop_remainder": 3}, TypeError, "drop_remainder=3"),
        ({"remainder": "pad", "mask_key": 3}, TypeError, "mask_key=3"),
    ],
)
def test_contradictory_arguments_are_refused(make, left, error, message):
    with pytest.raises(error, match=message):
        make(ROWS, 2, **left)


@every_one
def test_a_mask_key_that_the_elements_already_have_is_refused(make):
    with pytest.raises(
        (PlanError, ElementError), match="already has 'y'; choose another name for the mask with mask_key="
    ):
        list(make(ROWS, 2, remainder="pad", mask_key="y"))


@every_one
def test_drop_remainder_and_remainder_drop_are_the_same(make):
    assert same(list(make(ROWS, 3, drop_remainder=True, remainder="drop")), list(make(ROWS, 3, drop_remainder=True)))


@pytest.mark.parametrize(
    ("ds", "wanted"),
    [
        (SLICES.batch(4, remainder="pad"), ("ragged int32[4, ~]", "4")),
        (SLICES.padded_batch(4, remainder="pad"), ("int32[4, ?]", "4")),
        (SLICES.padded_batch(4, SHAPES, remainder="pad"), ("int32[4, 3]", "4")),
        (SLICES.ragged_batch(4, remainder="pad"), ("ragged int32[4, ~]", "4")),
        (SLICES.sparse_batch(4, SHAPES, remainder="pad"), ("sparse int32[4, 3]", "4")),
        (SLICES.batch(2).rebatch(3, remainder="pad"), ("ragged int32[3, ~]", "3")),
        (SLICES.batch(2).rebatch([3, 2], remainder="pad"), ("ragged int32[?, ~]", "?")),
        (stream(SLICES).padded_batch(2, remainder="pad"), ("int32[2, ?]", "2")),
        (SLICES.bucket_by_sequence_length(length, [2], [4, 4], remainder="pad"), ("int32[4, ?]", "4")),
        (SLICES.bucket_by_sequence_length(length, [2], [4, 3], remainder="pad"), ("int32[?, ?]", "?")),
        (SLICES.batch_by_tokens(length, 9, remainder="pad"), ("int32[?, ?]", "?")),
    ],
)
def test_the_spec_has_the_size_of_every_batch(ds, wanted):
    words, size = wanted
    assert repr(ds.element_spec) == f"{{'w': {words}, 'y': float32[{size}], 'valid': bool[{size}]}}"


def test_batches_that_are_no_dicts_become_pairs_with_flags():
    pairs = Dataset.from_source([(np.array([1, 2]), 3)])
    ((words, ones), real) = next(iter(pairs.padded_batch(2, padding_values=(-1, 9), remainder="pad")))
    assert (words.tolist(), ones.tolist(), real.tolist()) == ([[1, 2], [-1, -1]], [3, 9], [True, False])
    assert repr(Dataset.range(5).batch(4, remainder="pad").element_spec) == "(int64[4], bool[4])"
    (nothing, real) = next(iter(Dataset.from_source([(), ()]).batch(3, remainder="pad")))
    assert (nothing, real.tolist()) == ((), [True, True, False])


def test_padding_values_also_apply_to_numbers_and_text():
    ds = Dataset.from_tensor_slices({"w": ps.Ragged.from_rows([[1], [2, 3]]), "y": [7, 8], "s": ["a", "b"]})
    (batch,) = ds.take(1).padded_batch(2, padding_values={"w": -1, "y": -2, "s": "?"}, remainder="pad")
    assert {key: leaf.tolist() for key, leaf in batch.items()} == {
        "w": [[1], [-1]],
        "y": [7, -2],
        "s": ["a", "?"],
        "valid": [True, False],
    }
    (batch,) = ds.take(1).padded_batch(2, padding_values={"w": -1, "y": None, "s": None}, remainder="pad")
    assert (batch["y"].tolist(), batch["s"].tolist()) == ([7, 0], ["a", ""])
    assert len(list(ds.padded_batch(4, padding_values=-1))) == 1  # text is not padded where nothing is filled up
    for known in (ds, ds.map(dict)):
        with pytest.raises(TypeError, match=r'-1 for str at \["s"\]; pass a value of that type'):
            list(known.padded_batch(4, padding_values=-1, remainder="pad"))
        with pytest.raises(TypeError, match=r'0.5 for values of int64 at \["y"\]'):
            list(known.padded_batch(4, padding_values={"w": 0, "y": 0.5, "s": ""}, remainder="pad"))


def test_an_object_that_cannot_be_filled_up_is_named_with_its_batch():
    odd = Dataset.from_source([{1}, {2}, {3}])
    for ds in (odd, stream(odd), odd.map(set)):
        received = []
        with pytest.raises(ElementError, match=r"would need a zero for \{3\}, a set") as caught:
            received.extend(ds.batch(2, remainder="pad"))
        assert len(received) == 1
        assert "making batch 1" in "\n".join(caught.value.__notes__)
    assert [real.tolist() for _, real in odd.take(2).batch(2, remainder="pad")] == [[True, True]]


def test_each_rebatched_size_is_filled_up_in_its_turn():
    ds = Dataset.range(9).batch(4)
    wanted = [([0, 1, 2], [1, 1, 1]), ([3], [1]), ([4, 5, 6], [1, 1, 1]), ([7], [1]), ([8, 0, 0], [1, 0, 0])]
    for source in (ds, stream(ds)):
        made = source.rebatch([3, 1], remainder="pad")
        assert [(batch.tolist(), list(map(int, real))) for batch, real in made] == wanted
    repeated = ds.rebatch([3, 1], remainder="pad").repeat(2)
    assert same(repeated[9], repeated[4])


def test_buckets_are_filled_up_to_their_own_size_and_boundary():
    words = Dataset.from_source([np.full(length, length) for length in (1, 4, 2, 1, 5, 4)])
    ds = words.bucket_by_sequence_length(
        len, [3, 7], [2, 4, 1], [None], -1, pad_to_bucket_boundary=True, remainder="pad"
    )
    assert [(batch.shape, real.tolist()) for batch, real in ds] == [
        ((2, 2), [True, True]),
        ((2, 2), [True, False]),
        ((4, 6), [True, True, True, False]),
    ]
    assert list(ds)[1][0].tolist() == [[1, -1], [-1, -1]]
    assert (list(ds)[2][0][3] == -1).all()
    ((batch, real),) = words.take(1).bucket_by_sequence_length(len, [3], [2, 4], no_padding=True, remainder="pad")
    assert (batch.tolist(), real.tolist()) == ([[1], [0]], [True, False])


def test_batches_by_tokens_have_one_shape_for_each_longest_element():
    lengths = [5, 5, 5, 2, 3, 3, 5, 1, 5]
    ds = Dataset.from_source([np.ones(length, np.int64) for length in lengths])
    made = list(ds.batch_by_tokens(len, 12, tolerance=0.5, remainder="pad"))
    assert {batch.shape for batch, _ in made} == {(12 // longest, longest) for longest in {b.shape[1] for b, _ in made}}
    assert sum(batch.sum() for batch, _ in made) == sum(lengths)
    assert sum(real.sum() for _, real in made) == len(lengths)
    assert all(not batch[~real].any() for batch, real in made)


def test_filled_up_batches_are_taken_apart_and_batched_again():
    ds = Dataset.range(5).batch(4, remainder="pad")
    assert len(ds.unbatch()) == 8
    assert list(ds.unbatch())[4:] == [(4, True), (0, False), (0, False), (0, False)]
    assert len(SLICES.padded_batch(4, SHAPES, remainder="pad").unbatch()) == 8
    (((numbers, real), outer),) = ds.batch(3, remainder="pad")
    assert (numbers.shape, real.sum(), outer.tolist()) == ((3, 4), 5, [True, True, False])
    assert not real[2].any()
    assert same(next(iter(ds.map(lambda x, real: (x, real)).batch(2))), next(iter(ds.batch(2))))


def test_virtual_streams_and_shards_pad_their_own_batches():
    numbers = stream(Dataset.range(10))
    for shard in range(2):
        made = list(numbers.shard(2, shard, streams=2).batch(3, remainder="pad"))
        assert [x for batch, real in made for x in batch[real].tolist()] == list(range(shard, 10, 2))
        assert [len(batch) for batch, _ in made] == [3, 3]
    ds = Dataset.range(10).shard(2, 1).padded_batch(3, remainder="pad")
    verify_resume(ds)
    states = []
    for rank in range(2):
        with numbers.shard(2, rank, streams=4).batch(2, remainder="pad").iterator() as it:
            next(it)
            states.append(it.state_dict())
    with numbers.shard(1, 0, streams=4).batch(2, remainder="pad").iterator() as it:
        it.load_state_dict(states)
        assert sorted(x for batch, real in it for x in batch[real].tolist()) == [4, 5, 6, 7, 8, 9]


def test_records_are_parsed_before_they_are_filled_up(tmp_path):
    path = tmp_path / "numbers.tfrecord"
    ps.Dataset.from_source([ps.records.encode_example({"x": np.array([at + 1])}) for at in range(3)]).write_tfrecord(
        path
    )
    parse = ps.records.parse_example({"x": ps.records.FixedLenFeature((), "int64")})
    *_, last = ps.read_tfrecord(str(path)).map(parse).batch(2, remainder="pad")
    assert {key: leaf.tolist() for key, leaf in last.items()} == {"x": [3, 0], "valid": [True, False]}
    *_, (records, real) = ps.read_tfrecord(str(path)).batch(2, remainder="pad")
    assert (records[1], real.tolist()) == (b"", [True, False])


def test_windows_are_kept_or_dropped_and_never_filled_up():
    ds = Dataset.range(5)
    assert [len(window) for window in ds.window(2, remainder="drop")] == [2, 2]
    assert [len(window) for window in ds.window(2, remainder="keep")] == [2, 2, 1]
    with pytest.raises(ValueError, match="a window is a dataset and cannot be padded"):
        ds.window(2, remainder="pad")
    with pytest.raises(ValueError, match="drop_remainder=True contradicts it"):
        ds.window(2, drop_remainder=True, remainder="keep")


def test_empty_and_endless_datasets_are_padded():
    for ds in (Dataset.range(0), stream(Dataset.range(0))):
        assert list(ds.ragged_batch(2, remainder="pad")) == []
    ds = Dataset.counter().map(np.atleast_1d).padded_batch(2, remainder="pad")
    assert ds.cardinality() == INFINITE
    assert all(real.all() for _, real in ds.take(3))


# Units

D = Dataset.range(10)
PARSE = ps.records.parse_example({"x": ps.records.FixedLenFeature([], "int64")})
EXAMPLES = Dataset.from_source([ps.records.encode_example({"x": row}) for row in range(10)])


@pytest.mark.parametrize(
    ("ds", "items"),
    [
        (D.batch(4), 3),
        (D.batch(4, drop_remainder=True), 2),
        (Dataset.range(0).batch(4), 0),
        (D.batch(4).repeat(2), 6),
        (D.batch(4).skip(1).repeat(2).take(3), 3),
        (D.batch(4).shuffle().shard(2, 1), 1),
        (D.batch(4).map(np.sort), 3),
        (D.batch(4).map(np.sort, vectorized=True).prefetch(2), 3),
        (D.padded_batch(4), 3),
        (D.ragged_batch(4), 3),
    ],
)
def test_the_batching_operation_at_the_end_of_a_plan_is_found(ds, items):
    assert batching_of(ds._plan).size == 4
    assert ds._plan.stride == len(ds) == items


@pytest.mark.parametrize(
    "ds", [D, D.map(abs), D.batch(4).unbatch(), D.batch(4).flat_map(lambda x: x), Dataset.zip(D.batch(4), D.batch(4))]
)
def test_a_plan_that_does_not_end_in_batches_has_no_batching_operation(ds):
    assert batching_of(ds._plan) is None


def test_batches_of_a_stream_are_batches():
    assert type(batching_of(D.filter(lambda x: x > 3).batch(4).map(np.sort)._plan)) is Batch


@pytest.mark.parametrize(
    ("ds", "unit", "rows"),
    [
        (D, "element", 10),
        (D.batch(4), "batch", 10),
        (D.batch(4).map(lambda b: {"doubled": b * 2}), "batch", 10),
        (D.batch(4).repeat(2), "batch", 20),
        (D.batch(4, remainder="pad"), "batch", 12),
        (D.map(np.arange).ragged_batch(4), "batch", 10),
        (D.map(np.arange).padded_batch(4), "batch", 10),
        (D.filter(lambda x: x % 2 == 0).batch(4), "batch", 5),
        (D.batch(4).unbatch(), "element", 10),
        (D.batch(4).map(np.sort, vectorized=True), "batch", 10),
        (EXAMPLES.batch(4).map(PARSE), "batch", 10),
    ],
)
@pytest.mark.parametrize("options", [ps.Options(), ps.Options(executor="inline"), ps.Options(workers=2)])
def test_stats_count_items_and_the_rows_in_them(ds, unit, rows, options):
    with ds.with_options(options).iterator() as it:
        made = len(list(it))
        stats = it.stats()
    assert (stats.unit, stats.items, stats.rows) == (unit, made, rows)


@pytest.mark.parametrize(
    ("batch", "rows"),
    [
        (np.zeros((3, 2)), 3),
        (np.zeros(0), 0),
        (np.float64(3), 1),
        ({"name": "text", "x": np.zeros((3, 2))}, 3),
        ((7, [np.zeros(2), np.zeros(5)]), 2),
        ({"r": ps.Ragged.from_rows([[1], [], [2]])}, 3),
        (ps.Sparse.from_dense(np.eye(4)), 4),
        ((), 1),
        ("text", 1),
    ],
)
def test_a_batch_has_the_rows_of_its_first_array(batch, rows):
    assert rows_in(batch) == rows
    assert rows_in_all(Items([batch, batch]), [batch, batch]) == 2 * rows


@pytest.mark.parametrize("shape", [(4, 3, 2), (4, 3)])
def test_batches_in_columns_are_counted_at_once(shape):
    chunk = Columns(LEAF, [np.zeros(shape)], 4)
    assert rows_in_all(chunk, chunk.elements()[1:]) == 9
