"""Functions that write into the arrays that they are given are found and named."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.testing.laws import verify_determinism, verify_resume
from penstock.testing.writes import first_write

D = ps.Dataset


def halve_in_place(row):
    row["image"] /= 2
    return row


IMAGES = D.range(7).map(lambda i: {"label": i, "image": np.full(2, float(i))})


@pytest.mark.parametrize("verify", [verify_determinism, verify_resume])
@pytest.mark.parametrize("on_error", ["raise", ps.on_error.skip()])
def test_a_function_that_writes_into_an_array_it_is_given_is_named(verify, on_error):
    told = r"halve_in_place.*wrote into its input.*copy first"
    for ds in (IMAGES, IMAGES.filter(lambda row: True), IMAGES.batch(2), IMAGES.cache().map(copied).shuffle(4)):
        with pytest.raises(AssertionError, match=told):
            verify(ds.map(halve_in_place, on_error=on_error))
    verify(IMAGES.map(lambda row: {**row, "image": row["image"] / 2}))


def copied(row):
    return {**row, "image": row["image"].copy()}


def test_the_message_has_the_row_and_place_of_the_write():
    told = r'map\(halve_third\), at row 3 wrote into its input: the array at \["image"\] was changed'

    def halve_third(row):
        return halve_in_place(row) if row["label"] == 3 else row

    with pytest.raises(AssertionError, match=told):
        verify_determinism(IMAGES.map(halve_third))


def test_writes_of_every_operation_are_found():
    def spoil(row):
        row["image"][:] = -1
        return True

    def running(total, row):
        total += row["image"]
        row["image"][:] = 0
        return total, total

    for ds in (
        IMAGES.filter(spoil),
        IMAGES.take_while(spoil),
        IMAGES.flat_map(lambda row: [spoil(row)] * 2),
        IMAGES.group_by_window(lambda row: int(spoil(row)), lambda key, group: group, window_size=2),
        IMAGES.scan(np.zeros(2), running),
        IMAGES.batch(2).map(lambda rows: [spoil(rows), rows["label"]][1], vectorized=True),
    ):
        with pytest.raises(AssertionError, match="wrote into its input"):
            verify_determinism(ds)


def test_the_state_of_scan_may_be_written_to():
    def running(total, row):
        total += row["image"]
        return total, total.copy()

    verify_determinism(IMAGES.scan(np.zeros(2), running))


def test_a_write_into_a_table_is_reported_as_the_cause():
    table = [{"image": np.full(2, float(row))} for row in range(4)]
    with pytest.raises(AssertionError, match="wrote into its input"):
        verify_determinism(D.range(4).map(lambda i: table[i]).map(halve_in_place))


def test_failures_of_functions_are_no_writes():
    assert first_write(D.range(3).map(lambda x: 1 // x), 0, 5) is None
    assert first_write(IMAGES, 0, None) is None


def test_a_filled_cache_does_not_hide_writes_below():
    spoiled = IMAGES.map(halve_in_place).cache()
    assert len(list(spoiled)) == 7
    assert "halve_in_place" in (first_write(spoiled, 0, 5) or "")
