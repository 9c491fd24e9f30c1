"""Rules for orders: findings, and similar pipelines without findings."""

from __future__ import annotations

import gzip

import pytest

import penstock as ps
from penstock import Dataset, Options
from penstock.lint.order import (
    buffer_smaller_than_a_file,
    classes_in_order,
    repeat_before_shuffle,
    shards_of_different_orders,
    shuffle_after_batch,
    shuffle_in_a_small_buffer,
    split_of_an_order_that_changes,
)
from penstock.lint.written import Written
from penstock.ops.combine.inner import Unfolding
from penstock.plan.graph import post_order

DS = Dataset.range(20)


def found(rule, ds, *parts):
    return [found.message for found in rule(Written(ds._plan, parts))]


def draw(x, *, rng):
    return x


@pytest.mark.parametrize(
    "ds",
    [
        DS.batch(4).shuffle(seed=1),
        DS.batch(4, drop_remainder=True).map(abs).repeat(2).take(3).prefetch(1).shuffle(2),
        Dataset.zip(DS, DS.batch(4).shuffle()),
    ],
)
def test_a_shuffle_of_batches_is_found(ds):
    (sentence,) = found(shuffle_after_batch, ds)
    assert "comes after batch(4" in sentence
    assert "before .batch(4" in sentence


@pytest.mark.parametrize(
    "ds",
    [
        DS.shuffle().batch(4),
        DS.shuffle().batch(4).shuffle(),
        DS.batch(1).shuffle(),
        DS.batch(4).shuffle(1),
        Dataset.zip(DS.batch(4), DS.batch(4)).shuffle(),  # whether neighbours belong together, nobody can tell
    ],
)
def test_a_second_shuffle_or_one_that_moves_no_batch_is_fine(ds):
    assert found(shuffle_after_batch, ds) == []


@pytest.mark.parametrize("ds", [DS.repeat(2).shuffle(), DS.repeat().map(abs).shard(2, 0).shuffle(5, seed=1)])
def test_a_shuffle_of_several_epochs_is_found(ds):
    (sentence,) = found(repeat_before_shuffle, ds)
    assert "mixes the epochs" in sentence
    assert "before .repeat(" in sentence


@pytest.mark.parametrize(
    "ds",
    [
        DS.shuffle().repeat(),
        DS.repeat(1).shuffle(),
        DS.repeat(3).concatenate(DS).shuffle(),  # one class more often than another
        Dataset.from_tensors(0).repeat(9).map(draw).shuffle(),
        DS.repeat().take(30).shuffle(),
        DS.repeat().shuffle(1),
    ],
)
def test_a_repeat_that_mixes_no_epochs_is_fine(ds):
    assert found(repeat_before_shuffle, ds) == []


@pytest.mark.parametrize(
    "ds",
    [
        DS.shuffle().shard(2, 0),
        DS.shuffle().batch(2).map(abs).shard(2, 1).repeat(),
        DS.filter(draw).shard(2, 0),
        Dataset.sample_from_datasets([DS, DS]).shard(2, 0),
    ],
)
def test_shards_of_orders_that_differ_are_found(ds):
    (sentence,) = found(shards_of_different_orders, ds)
    assert sentence.startswith("shard(2, ")
    assert found(shards_of_different_orders, ds.with_options(Options(seed=1))) == []


@pytest.mark.parametrize(
    "ds",
    [
        DS.shuffle(seed=1).shard(2, 0),
        DS.shard(2, 0).shuffle(),
        DS.shuffle().shard(1, 0),
        DS.map(draw).filter(bool).shard(2, 0),
    ],
)
def test_shards_of_one_order_are_fine(ds):
    assert found(shards_of_different_orders, ds) == []


@pytest.mark.parametrize("shuffled", [DS.shuffle(), DS.shuffle(seed=1)])
def test_a_split_of_an_order_that_changes_is_found(shuffled):
    part = shuffled.map(abs).skip(5)
    (sentence,) = found(split_of_an_order_that_changes, part, part._plan)
    assert sentence.startswith("skip(5) is one of several parts of shuffle(")
    assert found(split_of_an_order_that_changes, part) == []


@pytest.mark.parametrize(
    "part",
    [
        DS.shuffle(seed=1, reshuffle_each_iteration=False).skip(5),
        DS.shuffle(reshuffle_each_iteration=False).skip(5),
        DS.skip(5).shuffle(),
    ],
)
def test_a_split_of_one_order_is_fine(part):
    cuts = [node for node in (part._plan, *part._plan.inputs) if node.name == "skip"]
    assert found(split_of_an_order_that_changes, part, *cuts) == []


def test_parts_that_are_combined_again_are_fine():
    shuffled = DS.shuffle(seed=1)
    head, tail = shuffled.take(5), shuffled.skip(5)
    assert found(split_of_an_order_that_changes, tail.concatenate(head), head._plan, tail._plan) == []


@pytest.mark.parametrize("ds", [DS.shuffle(5), DS.map(abs).shuffle(19, seed=1).batch(2)])
def test_an_unnecessary_buffer_is_found(ds):
    (sentence,) = found(shuffle_in_a_small_buffer, ds)
    assert "mixes 20 elements over" in sentence


@pytest.mark.parametrize("ds", [DS.shuffle(), DS.shuffle(20), DS.filter(bool).shuffle(5), DS.repeat().shuffle(5)])
def test_a_buffer_that_holds_all_or_is_needed_is_fine(ds):
    assert found(shuffle_in_a_small_buffer, ds) == []


def first_seen(ds):
    """Return the messages found once the first element of the unfolded input is known."""
    unfolding = next(node for node in post_order(ds._plan) if isinstance(node, Unfolding))
    seen = {id(unfolding.input): next(iter(DS.map(lambda x: Dataset.range(50))))}
    return [found.message for found in buffer_smaller_than_a_file(Written(ds._plan, firsts=seen))]


FILES = DS.flat_map(lambda x: Dataset.range(50))


@pytest.mark.parametrize("ds", [FILES.shuffle(49), FILES.map(abs).shuffle(9).batch(2)])
def test_a_buffer_smaller_than_a_file_is_found_after_a_dry_run(ds):
    (message,) = first_seen(ds)
    assert "holds less than the 50 elements of the first part that flat_map() reads" in message
    assert found(buffer_smaller_than_a_file, ds) == []


@pytest.mark.parametrize(("files", "buffer", "is_found"), [(2, 9, True), (2, 10, False), (1, 9, False)])
def test_a_buffer_smaller_than_a_compressed_file_is_found_by_a_dry_run(tmp_path, files, buffer, is_found):
    for number in range(files):
        (tmp_path / f"{number}.txt.gz").write_bytes(gzip.compress(b"line\n" * 10))
    ds = ps.read_text(str(tmp_path / "*.gz")).map(bytes.upper).shuffle(buffer, seed=1)
    assert found(buffer_smaller_than_a_file, ds) == []
    messages = [finding.message for finding in ds.check().findings if finding.code == "PS106"]
    assert len(messages) == is_found
    assert all("holds less than the first file that read_text" in message for message in messages)


@pytest.mark.parametrize("ds", [FILES.shuffle(50), FILES.shuffle(1), FILES])
def test_a_buffer_that_holds_a_file_is_fine(ds):
    assert first_seen(ds) == []


def codes(ds):
    return {finding.code for finding in ds.check().findings}


@pytest.mark.parametrize("put", ["flat_map", "interleave"])
def test_one_seed_for_all_parts_of_flat_map_is_found(put):
    def parts(**seed):
        return getattr(DS, put)(lambda x: Dataset.range(3).shuffle(**seed))

    assert codes(parts(seed=0)) == {"PS110"}
    assert codes(parts()) == set()


def test_a_zip_of_two_orders_of_the_same_data_is_found():
    one = DS.shuffle()
    assert codes(Dataset.zip(one, DS.map(abs).shuffle())) == {"PS111"}
    assert codes(Dataset.zip(one, one.map(abs))) == set()
    assert codes(Dataset.zip(one, Dataset.range(20).shuffle())) == set()
    assert codes(Dataset.zip(DS, DS.map(abs)).shuffle()) == set()


@pytest.mark.parametrize("put", ["flat_map", "interleave"])
def test_a_shuffle_in_a_part_without_a_seed_is_fine(put):
    def parts(make):
        return getattr(DS, put)(lambda x: make(Dataset.range(3)))

    assert codes(parts(lambda part: part.shuffle(1, seed=0))) == set()
    assert codes(parts(lambda part: part).shuffle(300, seed=0)) == set()
    assert codes(parts(lambda part: part.map(abs).shuffle(seed=0).take(2))) == {"PS110"}
    (finding,) = parts(lambda part: part.shuffle(seed=7)).check().findings
    assert finding.operation.startswith(put)
    assert "shuffle(seed=7)" in finding.message


def folder_of(path, *classes):
    for name in classes:
        (path / name).mkdir()
        (path / name / "1.jpg").write_bytes(b"...")
    return ps.read_image_folder(path)


def test_a_folder_of_classes_without_a_shuffle_is_found(tmp_path):
    photos = folder_of(tmp_path, "cat", "dog")
    (message,) = found(classes_in_order, photos.map(lambda x: x).batch(2))
    assert "read_image_folder" in message
    assert "comes sorted by class; to train, write .shuffle()" in message
    assert len(found(classes_in_order, photos.shuffle(1))) == 1
    for ds in (photos.shuffle(), photos.batch(1).unbatch().shuffle(8), photos.repeat(2).shuffle(seed=0).batch(2)):
        assert found(classes_in_order, ds) == []
    assert photos.with_options(Options(ignore_lint="PS112")).check().findings == ()


def test_a_folder_of_one_class_has_no_order_of_classes(tmp_path):
    assert found(classes_in_order, folder_of(tmp_path, "cat")) == []
    assert found(classes_in_order, DS) == []
