"""Reading and parsing in one go gives the batches, and the errors, of reading and parsing one after the other."""

from __future__ import annotations

import os
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock import Dataset
from penstock.core.errors import DataError
from penstock.engine.tasks.compile import compiled
from penstock.engine.tasks.observer import Unobserved
from penstock.rewrite.passes import rewritten
from penstock.testing.laws import same as is_same

R = ps.records
FEATURES = {
    "n": R.FixedLenFeature([], "int64"),
    "pair": R.FixedLenFeature([2], "float32", default_value=[1.0, 2.0]),
    "word": R.FixedLenFeature([], str, default_value="no"),
    "texts": R.RaggedFeature(bytes),
    "ids": R.RaggedFeature("int64"),
    "wide": R.RaggedFeature("int64", value_key="ids", row_splits_dtype="int64"),
    "rows": R.RaggedFeature("float32", value_key="x", partitions=[R.RaggedFeature.RowLengths("lengths")]),
    "sparse": R.VarLenFeature("int64"),
    "placed": R.SparseFeature(["at"], "weights", "float32", [10]),
    "items": R.FixedLenSequenceFeature([2], "int64", allow_missing=True),
}


def record(i: int) -> bytes:
    values = {
        "n": i,
        "texts": [b"x" * (i % 5)] * (i % 3),
        "ids": np.arange(i % 7) * i,
        "x": np.arange(i % 4, dtype=np.float32),
        "lengths": [i % 4],
        "sparse": range(i % 2),
        "at": [i % 10],
        "weights": [float(i)],
        "items": range(2 * (i % 3)),
        "passed over": "x",
    }
    if i % 2:
        values |= {"pair": [float(i), -1.0], "word": f"ä{i}"}
    return R.encode_example(values)


@pytest.fixture
def files(tmp_path) -> list[str]:
    for number in range(3):
        ps.Dataset.from_source([record(i) for i in range(20 * number, 20 * number + 20)]).write_tfrecord(
            tmp_path / f"{number}.tfrecord"
        )
    return [str(tmp_path / f"{number}.tfrecord") for number in range(3)]


def plain(ds):
    return list(ds.with_options(ps.Options(rewrite=False)).iterator(epoch=0))


def same(one, other) -> bool:
    return repr(one) == repr(other) and all(
        type(a) is type(b)
        and (a == b if not isinstance(a, np.ndarray) else a.dtype == b.dtype and bool((a == b).all()))
        for x, y in zip(one, other, strict=True)
        for a, b in zip(x.values(), y.values(), strict=True)
    )


@pytest.mark.parametrize("size", [1, 7, 30, 60, 100])
@pytest.mark.parametrize("drop", [False, True])
def test_batches_equal_those_of_separate_reading_and_parsing(files, size: int, drop: bool) -> None:
    ds = ps.read_tfrecord(files).shuffle(seed=4).batch(size, drop_remainder=drop).map(R.parse_example(FEATURES))
    assert "read → parse_example" in str(ds.explain())
    for _ in range(2):  # at first there is too little room
        assert same(list(ds.iterator(epoch=0)), plain(ds))


@given(st.data())
def test_any_features_and_moves_give_equal_batches(tmp_path_factory, data) -> None:
    names = data.draw(st.sets(st.sampled_from(sorted(FEATURES)), min_size=1))
    path = tmp_path_factory.mktemp("records") / "a.tfrecord"
    ps.Dataset.from_source([record(i) for i in range(data.draw(st.integers(0, 20)))]).write_tfrecord(path)
    ds = ps.read_tfrecord(path).skip(data.draw(st.integers(0, 3))).repeat(2)
    ds = ds.batch(data.draw(st.integers(1, 9))).take(data.draw(st.integers(0, 4)))
    made = ds.map(R.parse_example({name: FEATURES[name] for name in names}))
    assert same(list(made.iterator(epoch=0)), plain(made))


def test_batches_can_be_written_to_and_outlive_those_after_them(files) -> None:
    ds = ps.read_tfrecord(files).batch(10).map(R.parse_example(FEATURES))
    kept = list(ds)
    for batch in kept:
        batch["n"] += 1
        batch["ids"].flat_values[...] = 0
    assert [int(batch["n"][0]) for batch in kept] == [1, 11, 21, 31, 41, 51]
    assert same(list(ds), plain(ds))


def failure_of(ds) -> tuple[list[int], BaseException]:
    found: list[int] = []
    try:
        for batch in ds.iterator(epoch=0):
            found += batch["n"].tolist()
    except Exception as error:  # noqa: BLE001 - which it is is what tests compare
        return found, error
    raise AssertionError("nothing failed")


def damage(path: str, at: int) -> None:
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 1]))


def check_failure(ds, words: list[str]) -> None:
    apart = ds.with_options(ps.Options(rewrite=False))
    (before, error), (before_apart, error_apart) = failure_of(ds), failure_of(apart)
    assert before == before_apart
    assert type(error) is type(error_apart)
    assert str(error) == str(error_apart)
    assert all(word in "\n".join([str(error), *error.__notes__]) for word in words)


def test_a_damaged_record_is_named_with_its_file_and_place(files) -> None:
    ds = ps.read_tfrecord(files).batch(8).map(R.parse_example(FEATURES))
    list(ds)
    damage(files[1], 200)
    check_failure(ds, [files[1], "record 1", "at byte", "ds[2]"])


def test_a_record_that_lacks_a_feature_is_named_with_its_file_and_place(files) -> None:
    lacking = [record(0), record(1), R.encode_example({"ids": [1]})]
    ps.Dataset.from_source(lacking).write_tfrecord(files[2], overwrite=True)
    ds = ps.read_tfrecord(files).batch(8).map(R.parse_example(FEATURES))
    check_failure(ds, ['feature "n"', "missing", "record 2 of the batch", "ds[5]"])


@pytest.mark.parametrize("gone", [False, True])
def test_a_file_that_is_cut_or_gone_is_named(files, gone: bool) -> None:
    ds = ps.read_tfrecord(files).batch(20).map(R.parse_example(FEATURES))
    with ds.with_options(ps.Options(executor="inline")).iterator() as it:
        next(it)
        if gone:
            Path(files[1]).unlink()
        else:
            os.truncate(files[1], 100)
        with pytest.raises(OSError if gone else DataError, match=r"1\.tfrecord") as caught:
            next(it)
        assert not gone or any("moved or deleted" in note for note in caught.value.__notes__)


def test_a_map_that_skips_errors_does_not_skip_those_of_files(files) -> None:
    damage(files[0], 30)
    ds = ps.read_tfrecord(files).batch(8).map(R.parse_example(FEATURES), on_error="skip")
    assert "read →" not in str(ds.explain())
    with pytest.raises(DataError, match="record 0"):
        list(ds)


def test_lists_and_single_records_are_parsed_separately(files) -> None:
    ds = ps.read_tfrecord(files)
    for made in (
        ds.map(R.parse_example(FEATURES)),
        ds.batch(4).map(R.parse_sequence_example({}, {"ids": R.VarLenFeature("int64")})),
    ):
        assert "read →" not in str(made.explain())
        assert len(list(made)) > 0


@pytest.mark.parametrize("executor", ["inline", "threads"])
def test_any_executor_gives_the_same(files, executor: str) -> None:
    ds = ps.read_tfrecord(files).shuffle(seed=1).batch(4).map(R.parse_example(FEATURES))
    run = ds.with_options(ps.Options(executor=executor, workers=None if executor == "inline" else 3))
    assert same(list(run.iterator(epoch=1)), list(ds.iterator(epoch=1)))


def test_a_pickled_parser_has_no_open_files(files) -> None:
    from penstock.rewrite.passes import rewritten

    ds = ps.read_tfrecord(files).batch(5).map(R.parse_example(FEATURES))
    plan = rewritten(ds._plan).plan
    numbers, rows = np.arange(10).reshape(2, 5), np.arange(2)
    function = plan.function
    made = function.columns(numbers, rows, None, np.empty).elements()
    travelled = pickle.loads(pickle.dumps(plan)).function
    assert travelled.source is not function.source
    assert same(travelled.columns(numbers, rows, None, np.empty).elements(), made)
    assert repr(function).startswith("read → parse_example(")


def test_threads_can_share_a_parser(files) -> None:
    ds = ps.read_tfrecord(files).shuffle(seed=1).batch(3).map(R.parse_example(FEATURES))
    expected = plain(ds)
    wrong: list[int] = []

    def run(number: int) -> None:
        if not same(list(ds.iterator(epoch=0)), expected):
            wrong.append(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("in_memory", [False, True])
def test_leaves_of_a_fixed_size_are_written_into_the_slot(files, in_memory) -> None:
    """One task makes two batches; the last batch is short, and has a task of its own."""
    features = {name: FEATURES[name] for name in ("n", "pair", "word", "ids")}
    ds = Dataset.from_source([record(i) for i in range(60)]) if in_memory else ps.read_tfrecord(files)
    ds = ds.batch(16).map(R.parse_example(features))
    program = compiled(rewritten(ds._plan).plan, np.empty, Unobserved())
    for numbers in ([0, 1], [3]):
        wanted = program(np.array(numbers))
        numbers_of, pairs = np.zeros((len(numbers), 16), np.int64), np.zeros((len(numbers), 16, 2), np.float32)
        texts = np.empty(len(numbers), object)
        found = program(np.array(numbers), [texts, numbers_of, pairs, texts])  # by name
        assert all(map(is_same, found.elements(), wanted.elements()))
        for i, batch in enumerate(found.elements()):
            assert np.shares_memory(batch["n"], numbers_of[i])
            assert np.shares_memory(batch["pair"], pairs[i])


@pytest.mark.parametrize("in_memory", [False, True])
def test_batches_of_several_sizes_in_one_task_are_not_mixed_up(files, in_memory) -> None:
    ds = Dataset.from_source([record(i) for i in range(60)]) if in_memory else ps.read_tfrecord(files)
    ds = ds.batch(16).map(R.parse_example({name: FEATURES[name] for name in ("n", "pair")}))
    program = compiled(rewritten(ds._plan).plan, np.empty, Unobserved())
    out = [np.zeros((2, 16), np.int64), np.zeros((2, 16, 2), np.float32)]
    found = program(np.array([3, 0]), out).elements()
    assert [batch["n"].tolist() for batch in found] == [list(range(48, 60)), list(range(16))]


def test_a_batch_larger_than_the_one_before_gets_memory_of_its_own(files) -> None:
    ds = ps.read_tfrecord(files).batch(16).map(R.parse_example({"n": FEATURES["n"]})).repeat(3)
    it = ds.with_options(ps.Options(executor="inline")).iterator()
    first = [next(it) for _ in range(3)]
    again = ds.iterator()
    again.load_state_dict(it.state_dict())  # begins with a short batch
    assert [len(batch["n"]) for batch in [*first, *again]] == 3 * [16, 16, 16, 12]
