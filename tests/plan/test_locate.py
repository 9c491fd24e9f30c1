"""From rows down to records of sources."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import Dataset
from penstock.plan.locate import place_of, records

LETTERS = Dataset.from_source(list("abcdef"))


def located(ds, row):
    return [record.position for record in ds.locate(row)]


def test_a_batch_is_made_of_several_records_in_their_order():
    shuffled = LETTERS.shuffle(seed=4)
    assert "".join("abcdef"[at] for at in located(shuffled.batch(4), 1)) == "".join(list(shuffled)[4:])


def test_every_order_leads_to_the_record_that_is_yielded():
    ds = LETTERS.skip(1).shuffle(seed=1).repeat(3).shard(2, 1).take(6)
    assert ["abcdef"[located(ds, row)[0]] for row in range(6)] == list(ds.iterator(epoch=0))


def test_the_records_of_a_zip_come_from_each_input():
    found = Dataset.zip(LETTERS, Dataset.range(10, 20)).locate(2)
    assert [str(record) for record in found] == ["item 2 of list", "the number 12"]


def test_a_concatenation_leads_to_the_input_that_has_the_row():
    ds = LETTERS.concatenate(Dataset.from_source(["x", "y"]).skip(1))
    assert [located(ds, row) for row in (0, 5, 6)] == [[0], [5], [1]]


def test_another_epoch_is_located_by_epoch_and_row():
    ds = LETTERS.shuffle(seed=0)
    for epoch in (0, 1, 2):
        order = list(ds.iterator(epoch=epoch))
        assert ["abcdef"[located(ds, (epoch, row))[0]] for row in range(6)] == order


@pytest.mark.parametrize("row", [6, -7, (0, 6), (-1, 0)])
def test_a_row_that_does_not_exist_is_an_index_error(row):
    with pytest.raises(IndexError):
        LETTERS.locate(row)


def test_places_are_described_as_text():
    assert str(place_of(LETTERS._plan, 4)) == "row 4"
    assert str(place_of(LETTERS._plan, 15)) == "row 3 of epoch 2"
    assert str(place_of(Dataset.counter()._plan, 10**9)) == "row 1000000000"


def test_random_numbers_are_draws():
    (record,) = list(records(Dataset.random(seed=1)._plan, np.array([5])))
    assert str(record) == "random: draw 5"
