"""Tasks on trial: they tell their process and the element in hand, and know the elements that end processes."""

from __future__ import annotations

import os

import penstock as ps
from penstock.plan.trial import Spot, SpotFile, Terms, here, on_trial

PLAN = ps.Dataset.range(9).map(lambda x: x)._plan


def terms(file, deadly=None):
    return Terms(file.path, file.name, deadly or {})


def test_a_task_tells_its_process_and_the_element_in_hand():
    file = SpotFile()
    assert (file.pid, file.spot, file.seconds()) == (None, None, None)
    with on_trial(terms(file), PLAN):
        assert (file.pid, file.spot) == (os.getpid(), None)
        outer, inner = here.tried.spot(PLAN, 7, guarded=True), here.tried.spot(PLAN.inputs[0], 8, guarded=False)
        with here.tried.at(outer):
            with here.tried.at(inner):
                assert file.spot == inner == Spot(0, guarded=False, id=8)
                assert file.seconds() >= 0
            assert file.spot == outer == Spot(1, guarded=True, id=7)
        assert (file.pid, file.spot) == (os.getpid(), None)
    assert here.tried is None
    file.clear()
    assert (file.pid, file.spot) == (None, None)


def test_the_elements_that_end_processes_are_known():
    file = SpotFile()
    with on_trial(terms(file, {Spot(1, guarded=False, id=7): "it ended"}), PLAN):
        assert here.tried.verdict(here.tried.spot(PLAN, 7, guarded=False)) == "it ended"
        assert here.tried.verdict(here.tried.spot(PLAN, 7, guarded=True)) is None
        assert here.tried.verdict(here.tried.spot(PLAN, 6, guarded=False)) is None


def test_operations_of_inner_datasets_have_no_spot():
    file, inner = SpotFile(), ps.Dataset.range(3).map(lambda x: x)._plan
    with on_trial(terms(file), PLAN):
        spot = here.tried.spot(inner, 0, guarded=False)
        assert spot is None
        assert here.tried.verdict(spot) is None
        with here.tried.at(spot):
            assert file.spot is None


def test_another_file_at_the_same_path_is_left_alone(tmp_path):
    other = tmp_path / "other"
    other.write_text("precious")
    with on_trial(Terms(str(other), SpotFile().name, {}), PLAN), here.tried.at(Spot(1, guarded=False, id=7)):
        pass
    assert other.read_text() == "precious"


def test_a_task_that_is_not_on_trial_has_no_terms():
    with on_trial(None, PLAN):
        assert here.tried is None
