"""The digest by which streams of files are known, and elements of them that fail alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import DataError
from penstock.elements.chunks.chunk import Items
from penstock.sources.stream import Faulty, content_of_files, with_faults


def test_the_digest_depends_on_the_content_of_files_in_order(tmp_path):
    paths = [str(tmp_path / name) for name in "abc"]
    for path, content in zip(paths, ("one", "two", "one"), strict=True):
        with open(path, "w") as file:
            file.write(content)
    a, b, c = paths
    assert content_of_files([a, b]) == content_of_files([c, b])
    assert len({content_of_files(each) for each in ([], [a], [b], [a, b], [b, a])}) == 5


def made_of(faults, most_made):
    """Make numbers except those in `faults`; record the number of requests."""

    def make(low, high):
        most_made.append(high - low)
        bad = [i for i in range(low, high) if i in faults]
        if bad:
            error = DataError(f"{bad[0]} is damaged")
            error.element = bad[0] - low
            raise error
        return Items(list(range(low, high)))

    return make


@given(count=st.integers(0, 300), faults=st.sets(st.integers(0, 299), max_size=300))
def test_each_failure_is_reported_in_its_place_and_all_others_are_made(count, faults):
    asked = []
    found = []
    for chunk in with_faults(count, made_of(faults, asked)):
        if isinstance(chunk, Faulty):
            assert str(chunk.error) == f"{len(found)} is damaged"
            found.append(None)
        else:
            assert len(chunk)
            found += chunk.elements()
    assert found == [None if i in faults else i for i in range(count)]
    assert sum(asked) <= 4 * count  # some are made again
    assert len(asked) <= 1 + 2 * len(faults) * (count.bit_length() + 1)


def test_an_error_without_an_element_is_raised():
    def make(low, high):
        raise DataError("all of it")

    with pytest.raises(DataError, match="all of it"):
        list(with_faults(3, make))


def test_a_faulty_element_raises_its_error_when_requested():
    assert len(Faulty(DataError("bad"))) == 1
    with pytest.raises(DataError, match="bad"):
        Faulty(DataError("bad")).elements()
