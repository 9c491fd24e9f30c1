"""Combinations as a user meets them: with other operations around them."""

from __future__ import annotations

from penstock import Dataset


def test_concatenated_parts_of_a_split_are_the_whole():
    ds = Dataset.range(20).shuffle(seed=3)
    for epoch in (0, 1):
        whole = list(ds.iterator(epoch=epoch))
        assert list(ds.take(7).concatenate(ds.skip(7)).iterator(epoch=epoch)) == whole


def test_features_and_labels_stay_together_through_everything():
    ds = Dataset.zip({"x": Dataset.range(30), "y": Dataset.range(0, 300, 10)})
    for batch in ds.shuffle(seed=1).repeat(2).shard(2, 1).batch(4):
        assert (batch["y"] == batch["x"] * 10).all()


def test_a_dataset_zipped_with_itself_shifted():
    ds = Dataset.range(5)
    assert list(Dataset.zip(ds, ds.skip(1))) == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_an_endless_remainder_is_never_reached():
    ds = Dataset.counter()
    assert list(ds.concatenate(Dataset.range(3)).take(2)) == [0, 1]
