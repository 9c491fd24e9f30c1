"""The start of a pass: ranks that differ are found before the first step."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.core.errors import RankError
from penstock.plan.graph import rank_rows
from tests.dataset.ranks.job import Job


def errors_of(job):
    def begin(rank):
        try:
            next(job.iterators[rank])
        except RankError as error:
            return str(error)
        return ""

    return job.on_all(begin)


def differing(*pipelines):
    """The errors of ranks that iterate different pipelines."""
    left = list(pipelines)
    return errors_of(Job(lambda: left.pop(0), len(pipelines)))


NUMBERS = ps.Dataset.range(60)


@pytest.mark.parametrize(
    ("pipelines", "message"),
    [
        ((NUMBERS.batch(4), NUMBERS.skip(1).batch(4)), "rank 1 of 2 has another pipeline"),
        ((NUMBERS.batch(4), NUMBERS.batch(8)), "rank 1 of 2 has another pipeline"),
        (
            [NUMBERS.shuffle().batch(6).with_options(ps.Options(seed=seed)) for seed in (1, 1, 2)],
            "rank 2 of 3 has another seed in Options()",
        ),
    ],
)
def test_all_ranks_hear_which_rank_differs(pipelines, message):
    told = differing(*pipelines)
    assert len(set(told)) == 1
    assert message in told[0]
    assert "at the start of epoch 0" in told[0]


def test_the_operations_that_differ_are_named():
    told, _ = differing(NUMBERS.batch(4), NUMBERS.batch(8))
    assert "(- rank 0, + the other)" in told
    assert "\n  - batch(4, " in told
    assert "\n  + batch(8, " in told


def test_a_rank_that_did_not_load_the_state_of_the_others():
    job = Job(lambda: NUMBERS.batch(4), 2)
    job.iterators[1].load_state_dict({**job.iterators[1].state_dict(), "row": 3})
    for told in errors_of(job):
        assert "rank 1 of 2 has another position" in told
        assert told.endswith("epoch and step are 0 and 0, 0 and 3")


def test_a_rank_of_another_number_of_ranks():
    job = Job(lambda: NUMBERS.batch(4), 2)
    other = NUMBERS.batch(4).shard_by_rank(rank=1, world=4, group=job.store, timeout=5)
    rank_rows(other._plan).group.world = 2
    job.iterators[1] = iter(other)
    assert "rank 1 of 2 has another number of ranks than rank 0: 2, 4" in errors_of(job)[0]


def test_ranks_without_a_seed_take_that_of_rank_0():
    job = Job(lambda: NUMBERS.shuffle().batch(4), 2)
    steps = job.steps()
    assert sorted(row for step in steps for batch in step for row in batch.tolist()) == list(range(60))
    assert job.states()[0] == job.states()[1]


def test_ranks_that_cannot_agree_on_a_seed():
    ds = NUMBERS.shuffle().batch(4).shard_by_rank(rank=0, world=2)
    with pytest.raises(ps.errors.PlanError, match="every rank would draw another seed"):
        next(iter(ds))
    assert len(next(iter(ds.with_options(ps.Options(seed=1))))) == 2


def test_a_rank_that_is_late():
    job = Job(lambda: NUMBERS.batch(4), 2, timeout=0.02)
    with pytest.raises(RankError, match=r"at the start of epoch 0: rank 1 of 2 did not answer within 0.02 s"):
        next(job.iterators[0])


def test_a_look_at_one_element_asks_no_other_rank():
    job = Job(lambda: NUMBERS.filter(lambda x: x > 0).batch(4), 2)
    assert len(next(job.datasets[0].iterator(epoch=0))) == 2
