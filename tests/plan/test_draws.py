"""Which operations draw, and which of them draw anew."""

from __future__ import annotations

import pytest

from penstock import Dataset
from penstock.plan.draws import is_unseeded, varies


def noisy(x, *, rng):
    return x + rng.random()


@pytest.mark.parametrize(
    ("ds", "unseeded", "varying"),
    [
        (Dataset.range(3), False, False),
        (Dataset.range(3).map(abs), False, False),
        (Dataset.range(3).map(noisy), True, True),
        (Dataset.range(3).shuffle(), True, True),
        (Dataset.range(3).shuffle(seed=1), False, True),
        (Dataset.range(3).shuffle(seed=1, reshuffle_each_iteration=False), False, False),
        (Dataset.range(3).shuffle(reshuffle_each_iteration=False), True, False),
    ],
)
def test_what_draws_without_a_seed_and_what_draws_anew(ds, unseeded, varying):
    assert is_unseeded(ds._plan) is unseeded
    assert varies(ds._plan) is varying
