"""Names of before: the error about each tells the name that it has now."""

from __future__ import annotations

import inspect
from operator import attrgetter

import pytest

import penstock as ps
from penstock.core.renamed import RENAMED, hint_of

DS = ps.Dataset.range(3)


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda: ps.skip, AttributeError, "no attribute 'skip'; it is ps.on_error.skip now"),
        (lambda: ps.replace, AttributeError, "no attribute 'replace'; it is ps.on_error.replace now"),
        (lambda: ps.write_tfrecord, AttributeError, r"it is ds.write_tfrecord\(path\), a method, now$"),
        (lambda: ps.write_tar, AttributeError, r"it is ds.write_tar\(path\), a method, now$"),
        (lambda: DS.drawn(3), AttributeError, "^Dataset has no 'drawn'; it is draw_counts now$"),
        (
            lambda: ps.Options(ignore="all"),
            TypeError,
            r"^Options\(ignore=\): there is no such setting; it is ignore_lint=",
        ),
        (
            lambda: DS.batch_by_tokens(length_func=int, max_tokens=3),
            TypeError,
            "'length_func'; it is element_length_func=",
        ),
        (lambda: DS.check(rows=3), TypeError, r"^Dataset\.check\(\) got .* 'rows'; it is count= now$"),
        (lambda: DS.pack(3, key="x"), TypeError, r"^Dataset\.pack\(\) got .* 'key'; it is on= now$"),
        (lambda: DS.split({"a": 1}, key=int), TypeError, r"^Dataset\.split\(\) got .* 'key'; it is key_func= now$"),
        (lambda: DS.unique(key=int), TypeError, r"^Dataset\.unique\(\) got .* 'key'; it is key_func= now$"),
        (lambda: ps.read_hdf5("a", keys="x"), TypeError, r"^read_hdf5\(\) got .* 'keys'; it is columns= now$"),
        (lambda: ps.read_zarr("a", keys="x"), TypeError, r"^read_zarr\(\) got .* 'keys'; it is columns= now$"),
        (
            lambda: ps.read_json("a", fields=["x"]),
            TypeError,
            r"^read_json\(\) .* 'fields'; it is columns=, with types=",
        ),
        (lambda: ps.read_json("a", defaults={}), TypeError, r"^read_json\(\) got .* 'defaults'; it is nulls= now$"),
        (lambda: ps.read_tar("a", extensions=[]), TypeError, r"^read_tar\(\) got .* 'extensions'; it is columns= now$"),
        (lambda: ps.read_mds(folder="a"), TypeError, r"^read_mds\(\) got .* 'folder'; it is paths= now$"),
        (lambda: ps.read_litdata(folder="a"), TypeError, r"^read_litdata\(\) got .* 'folder'; it is paths= now$"),
        (lambda: ps.read_image_folder(path="a"), TypeError, r"^read_image_folder\(\) got .* 'path'; it is paths= now$"),
    ],
)
def test_an_old_name_gives_the_new_one(call, kind, said):
    with pytest.raises(kind, match=said):
        call()


def test_the_import_of_an_old_name_gives_the_new_one():
    with pytest.raises(ImportError, match=r"it is ps\.on_error\.skip now"):
        exec("from penstock import skip")


def test_no_old_name_is_in_use():
    owners = {"penstock": ps, "Dataset": ps.Dataset, "Options": ps.Options}
    for place, names in RENAMED.items():
        there = dir(owners[place]) if place in owners else inspect.signature(attrgetter(place)(ps)).parameters
        assert set(names) & set(there) == set()


def test_other_names_get_no_hint():
    assert hint_of("Dataset", "shuffle") == hint_of("nowhere", "skip") == ""


def test_a_misspelled_argument_of_a_reader_suggests_the_right_one():
    with pytest.raises(TypeError, match=r"^read_csv\(\) got .* 'colums'; did you mean columns=\?$"):
        ps.read_csv("a", colums=["x"])
