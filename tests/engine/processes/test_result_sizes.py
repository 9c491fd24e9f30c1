from __future__ import annotations

from penstock.engine.processes.result_sizes import RECENT_RESULTS, ResultSizes


def test_the_room_fits_the_largest_of_the_recent_results_with_a_margin():
    sizes = ResultSizes()
    assert sizes.room > 0
    sizes.add(200_000)
    sizes.add(100_000)
    assert sizes.room == 250_000
    for _ in range(RECENT_RESULTS - 1):
        sizes.add(100_000)
    assert sizes.room == 125_000


def test_small_results_need_no_room():
    sizes = ResultSizes()
    sizes.add(100)
    assert sizes.room == 0
