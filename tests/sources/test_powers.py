"""The optional powers of a source are found, and one without them offers none."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.sources.powers import advise_of, blocks_of_source, called_by, faults_of, native_gatherer


class Plain:
    pass


class Able:
    blocks = "blocks"
    called = "called"
    faults = {"file": OSError("gone")}  # noqa: RUF012 - as short as a source of a test may be

    def advise(self, rows):
        return rows + 1

    def begin_reading(self, rows, batch, join, pool, side):
        return None


@pytest.mark.parametrize("source", [Plain(), None])
def test_a_source_without_powers_offers_none(source):
    assert (advise_of(source), native_gatherer(source), blocks_of_source(source), called_by(source)) == (None,) * 4
    assert not faults_of(source)


def test_the_powers_of_a_source_are_found():
    source = Able()
    assert (blocks_of_source(source), called_by(source), list(faults_of(source))) == ("blocks", "called", ["file"])
    advise = advise_of(source)
    assert advise is not None
    assert native_gatherer(source) is source
    assert advise(np.array([1])).tolist() == [2]
