"""The iterator of one rank: the steps that all ranks share, and the steps after them."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import CursorError, RankError
from tests.dataset.ranks.job import Job, rows_of, taken


def filtered(count=3000, size=24, keep=lambda x: x % 3 > 0):
    inline = ps.Options(executor="inline", ignore_lint="all")
    return ps.Dataset.range(count).shuffle(seed=5).filter(keep).batch(size).with_options(inline)


def test_a_rank_makes_only_its_own_part_of_a_stream_but_for_the_end():
    calls = [0, 0, 0]
    ranks = {}

    def keep(x):
        calls[ranks[threading.get_ident()]] += 1
        return x % 3 > 0

    job = Job(lambda: filtered(48_000, keep=keep), 3)

    def run(rank):
        ranks[threading.get_ident()] = rank
        return taken(job.iterators[rank])

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(16_000 <= each < 36_000 for each in calls), calls  # and up to a task of each stream again at the end


@pytest.mark.parametrize("world", [2, 5])
def test_ranks_that_cannot_share_the_streams_make_all_elements(world):
    make = lambda: filtered(600, size=10 * world if world == 5 else 127 * 2)  # noqa: E731
    alone, job = Job(make, 1), Job(make, world)
    assert [rows_of(step) for step in job.steps()] == [rows_of(step) for step in alone.steps()]


def test_the_state_is_merged_while_the_ranks_share_the_streams():
    job = Job(lambda: filtered(4000), 4)
    before = [rows_of(step) for step in job.steps(70)]
    (state, *others) = job.states()
    assert others == [state] * 3
    assert state["row"] == 70
    assert 0 < state["offset"] < 70  # a mark of all ranks, and the steps since then
    assert len(str(state)) < 1500
    job.close()
    rest = Job(lambda: filtered(4000), 2).load(state).steps()
    assert before + [rows_of(step) for step in rest] == [rows_of(s) for s in Job(lambda: filtered(4000), 1).steps()]


def test_epochs_follow_one_another():
    job = Job(filtered, 2)
    epochs = []
    for _ in range(3):
        epochs.append([rows_of(step) for step in job.steps()])
        job.iterators = [iter(ds) for ds in job.datasets]
    assert epochs[0] != epochs[1] != epochs[2]
    whole = Job(filtered, 1)
    for each in epochs:
        assert [rows_of(step) for step in whole.steps()] == each
        whole.iterators = [iter(ds) for ds in whole.datasets]


def test_an_endless_stream_has_no_end_to_agree_on():
    make = lambda: ps.Dataset.range(40).filter(lambda x: x > 3).repeat().batch(6)  # noqa: E731
    job, whole = Job(make, 3), Job(make, 1)
    assert [rows_of(step) for step in job.steps(50)] == [rows_of(step) for step in whole.steps(50)]
    job.close()
    whole.close()


def test_a_rank_whose_function_fails_tells_the_others():
    def fragile(rank):
        def call(x):
            if x == 701 and rank == 1:
                raise ValueError("bad record")
            return x

        return call

    left = [0, 1]
    inline = ps.Options(executor="inline", ignore_lint="all")

    class OnRank:
        """A function with the same fingerprint on all ranks."""

        def __init__(self, rank):
            self._call = fragile(rank)

        def __call__(self, x):
            return self._call(x)

    job = Job(
        lambda: ps.Dataset.range(1500).filter(lambda x: x > 5).map(OnRank(left.pop(0))).batch(4).with_options(inline), 2
    )

    def run(rank):
        with pytest.raises((ValueError, RankError)) as caught:
            taken(job.iterators[rank])
        return caught.value

    other, failed = job.on_all(run)
    assert isinstance(failed, ValueError)
    assert isinstance(other, RankError)
    assert "rank 1 failed with ValueError: bad record" in str(other)


def test_a_rank_that_stops_early_tells_the_others():
    job = Job(filtered, 2)
    job.steps(2)
    job.iterators[1].close()
    with pytest.raises(RankError, match=r"after step \d+ of epoch 0: rank 1 was closed"):
        taken(job.iterators[0])


def test_a_rank_that_dies_is_named_within_the_limit():
    job = Job(filtered, 2, timeout=0.05)
    with pytest.raises(RankError, match=r"rank 1 of 2 did not answer within 0.05 s"):
        taken(job.iterators[0])


def test_the_rows_of_all_steps_are_counted_also_after_the_last_that_ranks_share():
    def scanned():
        return ps.Dataset.range(200).scan(0, lambda total, x: (total + x, x)).batch(12)

    for make in (scanned, filtered):
        job = Job(make, 2)
        steps = job.steps()
        for rank, it in enumerate(job.iterators):
            stats = it.stats()
            assert (stats.items, stats.rows) == (len(steps), sum(len(step[rank]) for step in steps))
            assert stats.work > 0


def test_a_consumer_that_takes_steps_ahead_tells_the_position_of_those_it_handed_out():
    job = Job(filtered, 2)
    whole = [rows_of(step) for step in Job(filtered, 2).steps()]

    def handed_out(rank):
        it, ahead, states, ledgers = job.iterators[rank], [], [], []
        it.report_position(it.position())
        for _ in range(5):
            while len(ahead) < 3:
                ahead.append((next(it), it.position()))
            _, position = ahead.pop(0)
            it.report_position(position)
            states.append(it.state_dict())
            ledgers.append(it.ledger()["spans"])
        return states, ledgers

    for rank, (states, ledgers) in enumerate(job.on_all(handed_out)):
        assert [state["row"] for state in states] == [1, 2, 3, 4, 5]
        assert ledgers[-1] == [[0, 0, 5, rank, 2]]
    for step in (1, 5):
        again = Job(filtered, 3).load(json.loads(json.dumps(states[step - 1])))
        assert [rows_of(each) for each in again.steps()] == whole[step:]


def test_a_feed_of_a_rank_saves_the_position_of_the_steps_handed_out():
    pytest.importorskip("torch")
    job = Job(filtered, 2)
    feeds = [ds.to_torch("cpu", depth=3) for ds in job.datasets]

    def stopped(rank):
        for step, _ in enumerate(feeds[rank], 1):
            if step == 4:
                return feeds[rank].state_dict()
        return None

    first, second = job.on_all(stopped)
    assert first == second
    whole = [rows_of(step) for step in Job(filtered, 2).steps()]
    assert [rows_of(step) for step in Job(filtered, 3).load(first).steps()] == whole[4:]


def test_states_of_the_ranks_at_different_steps():
    job = Job(filtered, 2)
    job.steps(3)
    first, second = job.states()
    loaded = Job(filtered, 1).load([first, second])
    assert loaded.states()[0]["row"] == 3
    with pytest.raises(CursorError, match="are from different steps"):
        loaded.load([first, {**second, "row": 4}])


def test_states_of_ranks_that_drew_seeds_of_their_own():
    def make():
        return ps.Dataset.range(24).shuffle().batch(4)

    first, second = (make().shard_by_rank(rank=rank, world=2).iterator(epoch=0) for rank in range(2))
    next(first), next(second)
    loaded = make().shard_by_rank(rank=0, world=1)
    with pytest.raises(CursorError, match=r"of the ranks have different seeds, .*Options\(seed=\)"):
        loaded.load_state_dict([first.state_dict(), second.state_dict()])


def test_a_state_of_another_number_of_ranks_without_a_global_batch():
    def make():
        return ps.Dataset.range(12)

    job = Job(make, 3)
    assert [rows_of([np.array(step)]) for step in job.steps(2)] == [[0, 1, 2], [3, 4, 5]]
    for state in (job.states()[0], job.states()):
        with pytest.raises(CursorError) as caught:
            Job(make, 2).load(state)
        assert "loads only with the number of ranks that it was saved with" in caught.value.__notes__[0]


def test_a_state_of_one_rank_where_the_position_of_each_differs():
    """After operations that drop elements the position of one rank says nothing about the others."""
    pipeline = ps.Dataset.range(24).batch(2).filter(lambda batch: batch[0] % 4 == 0)
    first, second = (
        ps.Dataset.range(24).batch(2).shard_by_rank(rank=rank, world=2).filter(lambda batch: batch[0] % 4 == 0)
        for rank in range(2)
    )
    assert first.cardinality() == pipeline.cardinality() == ps.UNKNOWN
    it = iter(first)
    next(it)
    with pytest.raises(CursorError, match="belongs to another plan"):
        second.load_state_dict(it.state_dict())


@pytest.mark.parametrize("world", [1, 2, 3, 6])
def test_a_state_after_the_end_of_a_stream_but_of_a_mark_before_it(world):
    """The mark after a map is that of its task, here before several batches, and two of six streams are empty."""

    def make():
        return ps.Dataset.range(50).filter(lambda x: x % 3 > 0).batch(6).map(lambda batch: batch * 2)

    whole = [rows_of(step) for step in Job(make, 1).steps()]
    for count in range(len(whole)):
        job = Job(make, world)
        before = [rows_of(step) for step in job.steps(count)]
        again = Job(make, 2).load(job.states()[-1])
        assert before + [rows_of(step) for step in again.steps()] == whole
