"""Streams of which a folder keeps all elements: with a length, rows, and states of the stream."""

import warnings

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import CacheWarning
from tests.ops.buffer.kept import INLINE, Dataset, Noted, as_texts, damage


def numbers(noted):
    return Dataset.range(20).filter(lambda x: x % 4 != 2).map(noted)


def test_a_stream_cached_to_its_end_has_a_length_rows_and_a_global_shuffle(tmp_path):
    noted = Noted()
    plain = as_texts(numbers(Noted()))
    stream = numbers(noted).cache(tmp_path)
    with pytest.raises(TypeError):
        len(stream)
    assert as_texts(stream) == plain
    whole = numbers(noted).cache(tmp_path)
    assert len(whole) == 15
    assert repr(whole[11]) == plain[11]
    shuffled = whole.shuffle(seed=0).with_options(INLINE)
    first, second = as_texts(shuffled), as_texts(shuffled)
    assert sorted(first) == sorted(second) == sorted(plain)
    assert first != second
    assert len(noted.calls) == 15


def test_a_damaged_element_of_a_cached_stream_is_made_again(tmp_path):
    noted = Noted()
    assert len(as_texts(numbers(noted).cache(tmp_path))) == 15
    damage(tmp_path, b"\x07" * 6)
    whole = numbers(noted).cache(tmp_path)
    assert as_texts(whole.with_options(INLINE)) == as_texts(numbers(Noted()))


def test_damaged_elements_that_are_read_in_another_order_are_made_again(tmp_path):
    def even():
        return Dataset.range(40).filter(lambda x: x % 2 == 0).map(lambda x: np.full(3, x)).cache(tmp_path)

    plain = as_texts(even())
    for row in range(0, 40, 4):
        damage(tmp_path, np.full(3, row).tobytes())
    shuffled = [batch[:, 0].tolist() for batch in even().shuffle(seed=0).batch(7).with_options(INLINE)]
    assert shuffled == [batch.tolist() for batch in Dataset.range(0, 40, 2).shuffle(seed=0).batch(7)]
    assert as_texts(even()) == plain


def test_a_state_of_the_stream_goes_on_as_a_stream_after_it_was_cached(tmp_path):
    def plan():
        ds = numbers(Noted()).cache(tmp_path).map(lambda e, rng: (e["name"], int(rng.integers(1000))))
        return ds.shuffle(5, seed=2).batch(2)

    ds = plan()
    for epoch in range(2):
        it = iter(ds)
        received = [next(it) for _ in range(3)]
        saved, rest = it.state_dict(), as_texts(it)
        for again in (plan(), plan().iterator()):
            again.load_state_dict(saved)
            assert as_texts(again) == rest, epoch
        whole = plan()
        assert sorted(name for batch in whole for name in batch[0]) == sorted(
            name for batch in ds.iterator(epoch=epoch) for name in batch[0]
        )
        assert len(received) == 3


def test_another_seed_makes_the_elements_of_a_cached_stream_again(tmp_path):
    def plan(**options):
        ds = Dataset.range(9).filter(lambda x: x != 3).map(lambda x, rng: rng.random()).cache(tmp_path)
        return ds.with_options(ps.Options(ignore_lint="all", **options))

    kept = list(plan())
    assert list(plan()) == kept
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CacheWarning)
        assert list(plan(seed=5)) != kept
    assert len(plan()) == 8
