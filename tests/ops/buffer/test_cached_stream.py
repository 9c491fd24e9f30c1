"""Streams of which a folder keeps all elements: with a length, rows, and states of the stream."""

import pickle
import warnings

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import CacheWarning, CursorError
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


@pytest.mark.parametrize("buffer", [{"buffer_size": 5}, {"buffer_size": 1000}, {"buffer_bytes": 300}])
def test_a_state_of_the_stream_goes_on_as_a_stream_after_it_was_cached(tmp_path, buffer):
    def plan():
        ds = numbers(Noted()).cache(tmp_path).map(lambda e, rng: (e["name"], int(rng.integers(1000))))
        return ds.shuffle(**buffer, seed=2).batch(2)

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


def test_such_a_state_loads_if_a_part_of_the_plan_is_read_twice(tmp_path):
    def plan():
        cached = Dataset.from_generator(lambda: iter(range(17))).cache(tmp_path)
        drawn = cached.map(lambda x, rng: (x, int(rng.integers(1000))))
        return drawn.concatenate(drawn.skip(2))

    it = iter(plan())
    assert len([next(it) for _ in range(2)]) == 2
    saved, rest = it.state_dict(), as_texts(it)
    list(plan())
    again = plan()
    again.load_state_dict(saved)
    assert as_texts(again) == rest


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


def test_a_state_of_a_cached_stream_says_why_it_loads_into_no_stream():
    cached = Dataset.from_generator(lambda: iter(range(20))).cache()
    list(cached)
    it = cached.batch(3).iterator()
    next(it)
    stream = Dataset.from_generator(lambda: iter(range(20))).cache()
    with pytest.raises(CursorError, match="another plan") as caught:
        stream.batch(3).iterator().load_state_dict(it.state_dict())
    assert "read the cached dataset once, then build this one" in caught.value.__notes__[0]
    list(stream)
    with pytest.raises(CursorError) as caught:
        stream.batch(3).iterator().load_state_dict(Dataset.range(3).iterator().state_dict())
    assert not hasattr(caught.value, "__notes__")


class Shrinking:
    """A stream whose length no key of a cache and no fingerprint counts."""

    def __init__(self):
        self._length = 20

    def __call__(self):
        yield from map(str, range(self._length))

    def shrink(self):
        self._length = 10


def test_a_stream_that_has_become_shorter_than_a_state_says_so():
    texts = Shrinking()
    ds = Dataset.from_generator(texts).cache().batch(3)
    list(ds)
    it = ds.iterator()
    for _ in range(5):
        next(it)
    texts.shrink()
    again = Dataset.from_generator(texts).cache().batch(3).iterator()
    again.load_state_dict(it.state_dict())
    with pytest.raises(CursorError, match=r"after element 14 of a stream that now ends after 10 elements"):
        list(again)


def test_an_element_that_a_stream_no_longer_makes_is_named():
    texts = Shrinking()
    cached = Dataset.from_generator(texts).cache()
    list(cached)
    texts.shrink()
    copied = pickle.loads(pickle.dumps(cached.skip(3)))  # without the elements that were kept
    with pytest.raises(CursorError, match=r"cache\(.*the stream, which now ends after 10 elements but had 20 when"):
        list(copied.with_options(INLINE))


def test_a_stream_that_has_become_shorter_than_what_is_kept_says_so_without_a_saved_state():
    texts = Shrinking()
    ds = Dataset.from_generator(texts).cache().with_options(INLINE)
    with ds.iterator() as it:
        for _ in range(15):
            next(it)
    texts.shrink()
    with pytest.raises(
        CursorError, match=r"cache\(\): the stream has become shorter than the 15 elements that are kept"
    ):
        list(ds)
