"""The things that tasks wait for, told from counts."""

from __future__ import annotations

import pytest

from penstock.watch.verdict import verdict
from tests.watch.measured import stats

# The GIL

CONTENDED = {"contention": 0.6, "cpu": 9.8, "blocked": 4.0}


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({}, "gil"),
        ({"contention": 0.1}, "input"),  # a coincidence
        ({"contention": 0.3, "blocked": 18.0}, "input"),  # tasks wait for something else most of the time
        ({"cpu": 1.0}, "input"),  # functions sleep, and the machine is busy
        ({"cpu": 18.0}, "input"),  # two cores are in use
        ({"cpu": 9.0, "starved": 9.0}, "input"),  # and would be, without other processes
        ({"cores": 1.0}, "input"),
        ({"waited": 0.1, "stepped": 9.9, "step_cpu": 5.0}, "gil"),  # the step takes twice its time
        ({"waited": 0.1, "stepped": 9.9, "step_cpu": 9.5}, "step"),
        ({"waited": 0.1, "stepped": 9.9, "step_cpu": 0.5}, "step"),  # it waits for a device
    ],
)
def test_threads_that_wait_for_the_gil_use_one_core_together(changed, kind):
    assert verdict(stats(**CONTENDED | changed)).kind == kind


def test_a_step_that_holds_the_gil_leaves_the_pipeline_a_process_of_its_own():
    found = verdict(stats(**CONTENDED | {"step_cpu": 6.0, "stepped": 6.5, "waited": 3.5}))
    assert found.change == (
        "Your own step holds the GIL for 60 % of the time, in which threads cannot call the functions: let the "
        "pipeline run in a process of its own, with Options(isolate=True)."
    )
    assert found.gain == pytest.approx(1 / (1 - 0.35))  # the step alone takes 6.5 of 10 s
    assert "then your own step is the limit" in found


def test_a_step_that_holds_the_gil_beside_more_work_leaves_it_to_processes():
    found = verdict(stats(**CONTENDED | {"step_cpu": 4.5}))
    assert "Your own step holds the GIL for 45 % of the time" in found
    assert "with Options(executor='processes')" in found.change
    assert found.gain == pytest.approx(2 * 100 / (5.3 + 4.5) / 10)  # both cores, with the steps on them


def test_a_step_slowed_by_the_gil_is_told_and_may_gain_that_wait():
    found = verdict(stats(**CONTENDED | {"waited": 0.1, "stepped": 9.9, "step_cpu": 5.0, "cpu": 8.0}))
    assert found.startswith("GIL-bound: the consumer waited 1.0 % of the time; its step, for the GIL, up to 49 %. ")
    assert found.gain == pytest.approx(10 / 5.0)
