"""A generator that keeps its calls draws what it would draw anyway."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.core.seeds import recording_here, row_generator
from penstock.dryrun.recorded import MOST_CALLS, RecordingGenerator


def recorded():
    return RecordingGenerator(np.random.Philox(key=[7, 3]), 7, 3)


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.normal(2.0, size=3),
        lambda rng: rng.integers(1 << 40, size=(2, 2)),
        lambda rng: rng.permutation(9),
        lambda rng: rng.choice(["a", "b", "c"]),
        lambda rng: rng.bit_generator.random_raw(3),
    ],
)
def test_the_draws_are_those_of_the_plain_generator(draw):
    plain = np.random.Generator(np.random.Philox(key=[7, 3]))
    assert np.array_equal(draw(recorded()), draw(plain))


def test_calls_are_told_with_arguments_and_results():
    rng = recorded()
    plain = np.random.Generator(np.random.Philox(key=[7, 3]))
    rng.integers(5, size=2)
    rng.shuffle([1, 2, 3])
    wanted = plain.integers(5, size=2)
    assert str(rng.draws) == (
        f"Philox(key=[7, 3]): integers(5, size=2) = [{wanted[0]}, {wanted[1]}], shuffle([{rng_shuffled()}])"
    )


def test_calls_of_spawned_generators_are_told_with_the_place_they_come_from():
    rng = RecordingGenerator(np.random.Philox(np.random.SeedSequence(5)))
    made = rng.spawn(2)[1].spawn(1)[0].integers(9)
    rng.spawn(1)[0].random()
    told = str(rng.draws).partition(": ")[2]
    assert told.startswith(f"spawn(2), spawn(2)[1].spawn(1), spawn(2)[1].spawn(1)[0].integers(9) = {made}, spawn(1), ")
    assert "spawn(1)[0].random() = " in told
    plain = np.random.Generator(np.random.Philox(np.random.SeedSequence(5)))
    assert made == plain.spawn(2)[1].spawn(1)[0].integers(9)


def test_calls_that_a_method_makes_itself_are_not_told():
    rng = recorded()
    rng.permutation(3)
    rng.choice(5, size=2, replace=False)
    rng.permuted([1, 2])
    with pytest.raises(ValueError, match="high"):
        rng.integers(0)
    rng.random()
    assert rng.draws.count == 4
    assert str(rng.draws).startswith("Philox(key=[7, 3]): permutation(3) = [")


def rng_shuffled():
    plain = np.random.Generator(np.random.Philox(key=[7, 3]))
    plain.integers(5, size=2)
    numbers = [1, 2, 3]
    plain.shuffle(numbers)
    return ", ".join(map(str, numbers))


def test_many_calls_are_counted():
    rng = recorded()
    for _ in range(MOST_CALLS + 5):
        rng.random()
    assert str(rng.draws).endswith(", and 5 more")
    assert str(recorded().draws) == "Philox(key=[7, 3])"


def test_a_recorder_of_the_thread_receives_every_generator_of_a_row():
    seen = []

    def record(key, row, generator):
        seen.append((key, row))
        return generator

    recording_here.record = record
    try:
        row_generator(1, 2)
    finally:
        recording_here.record = None
    row_generator(3, 4)
    assert seen == [(1, 2)]
