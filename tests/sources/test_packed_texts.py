"""A long list of texts travels as arrays, which processes may share, and gives back each text."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import penstock as ps
from penstock.sources.arrays import slices
from penstock.sources.files import FileBytes
from penstock.sources.indexable import indexable
from penstock.sources.packed_texts import PackedTexts, packed_texts
from penstock.storage.remote.file import Access, ObjectInfo, RemoteFile

TEXTS = [f"text {i} é \ud800"[: i % 13] for i in range(1500)]
BYTES = [text.encode("utf-8", "surrogatepass") for text in TEXTS]


@pytest.mark.parametrize("values", [TEXTS, BYTES], ids=["str", "bytes"])
def test_items_are_those_of_the_list(values):
    packed = packed_texts(values)
    assert isinstance(packed, PackedTexts)
    assert (len(packed), list(packed), packed[:3], packed[-1]) == (len(values), values, values[:3], values[-1])
    assert packed.read_many(np.array([7, 0, 7])) == [values[7], values[0], values[7]]
    assert list(pickle.loads(pickle.dumps(packed))) == values
    with pytest.raises(IndexError):
        packed[len(values)]


@pytest.mark.parametrize(
    "values",
    [
        TEXTS[:999],
        [*TEXTS, b""],
        [*TEXTS, 1],
        tuple(TEXTS),
        [*TEXTS, RemoteFile("s3://a/b", Access("s3://a", {}), ObjectInfo("b", 1, None))],
    ],
    ids=["short", "mixed", "number", "tuple", "remote"],
)
def test_anything_else_stays_as_it_is(values):
    assert packed_texts(values) is values


SOURCES = {
    "files": lambda: FileBytes([f"/a/{i}.jpg" for i in range(1500)], unread=True),
    "slices": lambda: slices({"x": TEXTS, "y": np.arange(1500)}),
    "items": lambda: indexable(list(BYTES)),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_a_source_in_another_process_shares_its_texts(kind):
    source, beside = SOURCES[kind](), []
    pickled = pickle.dumps(source, protocol=5, buffer_callback=beside.append)
    assert len(pickled) < 2000
    other = pickle.loads(pickled, buffers=beside)
    rows = np.array([3, 1499, 0, 3])
    assert other.read_many(rows).elements() == source.read_many(rows).elements()
    assert other.read_many(np.arange(5, 9)).elements() == source.read_many(np.arange(5, 9)).elements()
    assert (other.spec(), other.length, other.name) == (source.spec(), source.length, source.name)
    assert (other.fingerprint(), other.describe(3)) == (source.fingerprint(), source.describe(3))
    assert pickle.loads(pickle.dumps(other)).read_many(rows).elements() == source.read_many(rows).elements()


@pytest.mark.parametrize("options", [{"executor": "processes", "workers": 1}, {"isolate": True}], ids=str)
def test_elements_are_the_same_in_other_processes(options):
    ds = ps.Dataset.from_source(list(TEXTS)).shuffle(seed=1).map(lambda text: text + "!")
    assert list(ds.with_options(ps.Options(**options))) == list(ds)
