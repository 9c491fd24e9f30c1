from __future__ import annotations

import pickle

import pytest

import penstock as ps
from penstock.core.attributes import UnknownNameError, attribute_of


class Data:
    def __len__(self):
        return 3

    def __getitem__(self, row):
        return row

    @property
    def blocks(self):
        return self.sizes


class Forwarding:
    """An object that changes the items of another one, and forwards the rest."""

    def __init__(self, inner):
        self.inner = inner

    def __getitem__(self, row):
        return -self.inner[row]

    def __len__(self):
        return len(self.inner)

    def __getattr__(self, name):
        return getattr(self.inner, name)


class ForwardingBySlots(Forwarding):
    """The same, without a `__dict__`; that of the inner object has the method."""

    __slots__ = ("inner",)

    def __init__(self, inner):
        self.inner = inner
        inner.read_many = inner.read_many


class Fast:
    def __getitem__(self, row):
        return row

    def __len__(self):
        return 4

    def __getitems__(self, rows):
        return rows

    def read_many(self, rows):
        return rows

    def fingerprint(self):
        return "fast"


def test_an_attribute_that_is_missing_or_of_another_object_is_none():
    assert attribute_of(3, "blocks") is None
    assert attribute_of(Forwarding(Fast()), "read_many") is None
    assert attribute_of(ForwardingBySlots(Fast()), "read_many") is None
    own = Fast()
    own.blocks = 3
    assert attribute_of(own, "blocks") == 3


def test_the_items_of_an_object_that_forwards_the_rest_are_its_own():
    ds = ps.Dataset.from_source(Forwarding(Fast()))
    assert list(ds) == [0, -1, -2, -3]
    assert ds.fingerprint() != ps.Dataset.from_source(Fast()).fingerprint()


def test_an_exception_of_a_property_does_not_count_as_a_missing_attribute():
    with pytest.raises(AttributeError, match="sizes"):
        attribute_of(Data(), "blocks")


def test_the_exception_of_a_property_of_a_source_is_raised():
    with pytest.raises(AttributeError, match="sizes"):
        list(ps.Dataset.from_source(Data()).shuffle(seed=0))


def test_a_pickled_unknown_name_still_suggests_the_right_one():
    error = UnknownNameError("Dataset has no 'shuffel'", "shuffel", ["shuffle"])
    assert isinstance(error, AttributeError)
    assert str(pickle.loads(pickle.dumps(error))) == str(error) == "Dataset has no 'shuffel'; did you mean shuffle?"
    assert str(UnknownNameError("no 'x'", "x", ["shuffle"])) == "no 'x'"


class Broken:
    """Has properties that fail, of names that are looked for."""

    def __len__(self):
        return 3

    def __getitem__(self, row):
        return row

    @property
    def read_many(self):
        return self.misspelled


class BrokenItems(Broken):
    read_many = None

    @property
    def __getitems__(self):
        return self.misspelled


@pytest.mark.parametrize("data", [Broken, BrokenItems])
def test_exceptions_of_reading_methods_are_not_hidden(data):
    with pytest.raises(AttributeError, match="misspelled"):
        list(ps.Dataset.from_source(data()))


def test_properties_of_a_dataset_exist_whatever_a_function_raises():
    ds = ps.Dataset.range(3).map(lambda x: x.misspelled)
    with pytest.raises(RuntimeError, match=r"AttributeError: .*misspelled") as caught:
        hasattr(ds, "element_spec")
    assert isinstance(caught.value.__cause__, AttributeError)
    assert any(note.startswith("in map(lambda)") for note in caught.value.__notes__)
    assert not hasattr(ps.Dataset.range(3), "class_names")


def test_a_property_called_fingerprint_is_no_method_of_that_name():
    class Settings:
        @property
        def fingerprint(self):
            return self.misspelled

        def __call__(self, x):
            return x

    assert ps.Dataset.range(3).map(Settings()).fingerprint() == ps.Dataset.range(3).map(Settings()).fingerprint()
