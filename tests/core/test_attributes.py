from __future__ import annotations

import pytest

import penstock as ps
from penstock.core.attributes import attribute_of


class Data:
    def __len__(self):
        return 3

    def __getitem__(self, row):
        return row

    @property
    def blocks(self):
        return self.sizes


class Proxy:
    def __getattr__(self, name):
        if name == "blocks":
            return 3
        raise AttributeError(name)


def test_an_attribute_that_is_missing_is_none():
    assert attribute_of(3, "blocks") is None
    assert attribute_of(Proxy(), "advise") is None
    assert attribute_of(Proxy(), "blocks") == 3


def test_what_a_property_raises_is_not_taken_for_a_missing_one():
    with pytest.raises(AttributeError, match="sizes"):
        attribute_of(Data(), "blocks")


def test_a_source_whose_property_fails_says_so():
    with pytest.raises(AttributeError, match="sizes"):
        list(ps.Dataset.from_source(Data()).shuffle(seed=0))
