"""Keys: mixed the same for ever, and cheap generators of rows that equal NumPy's own."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator, Philox

from penstock.core.seeds import fresh_seed, mix, row_generator

WORD = (1 << 64) - 1


@given(st.lists(st.integers(-(1 << 130), 1 << 130), max_size=4))
def test_a_key_is_a_64_bit_word(parts: list[int]) -> None:
    assert 0 <= mix(*parts) <= WORD


def test_neighboring_parts_give_different_keys() -> None:
    parts = [
        (),
        *[(a,) for a in range(-50, 200)],
        *[(a, b) for a in range(60) for b in range(60)],
        (1 << 64,),
        (1 << 65,),
    ]
    assert len({mix(*each) for each in parts}) == len(parts)


def test_half_the_bits_of_a_key_change_with_one_bit_of_a_part() -> None:
    changed = [(mix(part, 5) ^ mix(part ^ (1 << bit), 5)).bit_count() for part in range(50) for bit in range(64)]
    assert 31.5 < np.mean(changed) < 32.5
    assert min(changed) > 8


def test_fresh_seeds_are_63_bits_and_differ() -> None:
    seeds = {fresh_seed() for _ in range(100)}
    assert len(seeds) == 100
    assert all(0 <= seed < 1 << 63 for seed in seeds)


@given(key=st.integers(0, WORD), row=st.integers(0, (1 << 63) - 1))
def test_a_rows_generator_equals_numpys_philox(key: int, row: int) -> None:
    mine = row_generator(key, row)
    theirs = Generator(Philox(key=np.array([key, row], np.uint64)))
    assert repr(mine.bit_generator.state) == repr(theirs.bit_generator.state)
    assert mine.normal(size=5).tolist() == theirs.normal(size=5).tolist()


def test_a_rows_generator_can_be_copied_pickled_and_spawned() -> None:
    rng = row_generator(3, 4)
    rng.random()
    twins = [pickle.loads(pickle.dumps(rng)), copy.deepcopy(rng)]
    draws = {rng.random(), *[twin.random() for twin in twins]}
    assert len(draws) == 1
    first, second = row_generator(3, 4).spawn(2)
    again = row_generator(3, 4).spawn(1)[0]
    value = first.random()
    assert value == again.random()
    assert value not in {second.random(), row_generator(3, 4).random()}


def test_keys_alone_do_not_import_numpy_random() -> None:
    program = "import sys, penstock.core.seeds as s; s.mix(1, 2); s.fresh_seed(); print('numpy.random' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
