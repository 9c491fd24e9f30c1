"""The requirements on a feed, as checks that the feed of every framework must pass on every device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock.core.errors import ClosedError
from penstock.dataset.dataset import Dataset
from penstock.elements.nested.structure import flatten
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse

MakeFeed = Callable[[Dataset[Any]], Any]
"""A function that returns the feed of a dataset."""
ToNumpy = Callable[[Any], Any]
"""A function that returns a batch of a feed with NumPy's arrays, `Ragged` and `Sparse`, once it is on its device."""
FeedCheck = Callable[[MakeFeed, ToNumpy], None]


def verify_feed(open_feed: MakeFeed, to_numpy: ToNumpy) -> None:
    """Run every check of `CHECKS` on a feed; an `AssertionError` names the one that fails.

    The feed hands out the batches of the dataset one by one, on any device and with any depth. Types of 64 bits may be
    narrowed, and `Ragged` may stay.

    >>> from penstock.feed.feed import FrameworkFeed, Here
    >>> verify_feed(lambda ds: FrameworkFeed(ds, Here(lambda array: array), depth=2), lambda batch: batch)
    """
    for check in CHECKS:
        try:
            check(open_feed, to_numpy)
        except Exception as error:
            error.add_note(f"the feed does not pass {check.__name__}")
            raise


def yields_the_batches_of_the_dataset(open_feed: MakeFeed, to_numpy: ToNumpy) -> None:
    """Check that batches have the dataset's order, structure, shapes, dtypes and values, in each of several epochs."""
    for ds in (_rows(), _stream(), _rows().take(1), _rows().take(0)):
        feed = open_feed(ds)
        for epoch in range(3):
            _compare(list(ds.iterator(epoch=epoch)), list(map(to_numpy, feed)))
        assert len(list(feed.iterator(epoch=1))) == len(list(ds.iterator(epoch=1)))


def keeps_every_batch_as_it_was(open_feed: MakeFeed, to_numpy: ToNumpy) -> None:
    """Check that batches that are kept beyond any depth are not overwritten by later ones."""
    for ds in (_rows(), _large()):
        wanted = list(ds.iterator(epoch=0))
        kept = list(open_feed(ds).iterator(epoch=0))
        _compare(wanted, list(map(to_numpy, kept)))


def says_where_it_stands(open_feed: MakeFeed, to_numpy: ToNumpy) -> None:
    """Check that the state after each batch, of the iterator and of the dataset, continues with the next one."""
    for make in (_rows, _stream):
        ds = make()
        wanted = list(ds.iterator(epoch=0))
        feed = open_feed(ds)
        it = feed.iterator()
        for number in range(len(wanted) + 1):
            state = it.state_dict()
            assert number in (0, len(wanted)) or feed.state_dict() == state, (
                "the state of the feed is not that of its iterator"
            )
            again = open_feed(make()).iterator()
            again.load_state_dict(state)
            _compare(wanted[number:], list(map(to_numpy, again)))
            into_dataset = open_feed(make())
            into_dataset.load_state_dict(state)
            if number < len(wanted):
                _compare(wanted[number:], list(map(to_numpy, into_dataset)))
                _compare(wanted[number : number + 1], [to_numpy(next(it))])
        assert next(it, None) is None, "there is a batch too many"
        it.close()


def goes_on_from_a_state_that_is_loaded_midway(open_feed: MakeFeed, to_numpy: ToNumpy) -> None:
    """Check that an iterator that loads a state forgets the batches taken ahead."""
    ds = _rows()
    wanted = list(ds.iterator(epoch=0))
    with open_feed(ds).iterator() as it:
        next(it)
        state = it.state_dict()
        for _ in range(2):
            next(it)
        it.load_state_dict(state)
        _compare(wanted[1:], list(map(to_numpy, it)))


def hands_out_all_before_a_failure(open_feed: MakeFeed, to_numpy: ToNumpy) -> None:
    """Check that the batches before a failing one arrive, then its error, and after that a `ClosedError`."""
    ds = Dataset.range(20).map(_fails_at_13).batch(4)
    with open_feed(ds).iterator() as it:
        received = [to_numpy(next(it)) for _ in range(3)]
        _compare([np.arange(4 * i, 4 * i + 4) for i in range(3)], received)
        assert it.state_dict()["row"] == 3
        _raises(_Unlucky, it)
        _raises(ClosedError, it)
        assert it.state_dict()["row"] == 3


def stops_when_closed(open_feed: MakeFeed, to_numpy: ToNumpy) -> None:
    """Check that a closed iterator raises a `ClosedError`, and still says where it stood."""
    it = open_feed(_rows()).iterator()
    next(it)
    state = it.state_dict()
    it.close()
    it.close()
    _raises(ClosedError, it)
    assert it.state_dict() == state
    assert it.stats().items >= 1
    assert isinstance(it.verdict(), str)


CHECKS: list[FeedCheck] = [
    yields_the_batches_of_the_dataset,
    keeps_every_batch_as_it_was,
    says_where_it_stands,
    goes_on_from_a_state_that_is_loaded_midway,
    hands_out_all_before_a_failure,
    stops_when_closed,
]


def _rows() -> Dataset[Any]:
    """Return batches of leaves of many kinds, the last of an epoch shorter, in an order of its own each epoch."""
    rng = np.random.default_rng(0)
    data = {
        "image": rng.integers(0, 256, (22, 5, 3), np.uint8),
        "x": rng.random((22, 7), np.float32),
        "flag": rng.random(22) < 0.5,
        "label": np.arange(22, dtype=np.int32),
        "id": np.arange(22),
        "name": [f"row {i}" for i in range(22)],
        "half": rng.random((22, 2)).astype(np.float16),
        "ragged": Ragged.from_rows([np.arange(i % 4, dtype=np.float32) for i in range(22)]),
        "sparse": Sparse.from_dense((rng.random((22, 6)) < 0.3).astype(np.float32)),
    }
    return Dataset.from_tensor_slices(data).shuffle(seed=3).ragged_batch(4)


def _large() -> Dataset[Any]:
    """Return batches of several leaves, each in memory that is used again."""
    data = {"x": np.arange(48 * 3000, dtype=np.float32).reshape(48, 3000), "y": np.arange(48, dtype=np.int32)}
    return Dataset.from_tensor_slices(data).map(_same).batch(4)


def _stream() -> Dataset[Any]:
    return Dataset.range(30, output_type=np.int32).filter(_is_odd).map(_pair).batch(4)


def _same(element: dict[str, Any]) -> dict[str, Any]:
    return {"x": np.sort(element["x"]), "y": element["y"]}


def _is_odd(x: Any) -> Any:
    return x % 2 == 1


def _pair(x: Any) -> tuple[Any, Any]:
    return np.full(3, x, np.float32), x


class _Unlucky(Exception):  # noqa: N818 - no error of ours
    pass


def _fails_at_13(x: int) -> np.int32:
    if x == 13:
        raise _Unlucky
    return np.int32(x)


def _raises(wanted: type[BaseException], it: Iterator[Any]) -> None:
    try:
        next(it)
    except wanted:
        return
    raise AssertionError(f"next() raised no {wanted.__name__}")


def _compare(wanted: list[Any], made: list[Any]) -> None:
    assert len(wanted) == len(made), f"{len(made)} batches instead of {len(wanted)}"
    for number, (want, have) in enumerate(zip(wanted, made, strict=True)):
        leaves, structure = flatten(want)
        given, its_structure = flatten(have)
        assert structure == its_structure, f"batch {number} has the structure {its_structure}, not {structure}"
        for leaf, other in zip(leaves, given, strict=True):
            _compare_leaves(leaf, other, number)


def _compare_leaves(leaf: Any, other: Any, number: int) -> None:
    if isinstance(leaf, Ragged | Sparse):
        assert type(leaf) is type(other), f"batch {number} has {type(other).__name__} for {type(leaf).__name__}"
        for part, its_part in zip(leaf.arrays(), other.arrays(), strict=True):
            _compare_leaves(part, np.asarray(its_part), number)
        return
    array, its_array = np.asarray(leaf), np.asarray(other)
    assert array.shape == its_array.shape, f"batch {number} has {its_array.shape} for {array.shape}"
    narrow = array.dtype.itemsize == 8 and array.dtype.kind == its_array.dtype.kind and its_array.dtype.itemsize == 4
    assert narrow or array.dtype == its_array.dtype, f"batch {number} has {its_array.dtype} for {array.dtype}"
    np.testing.assert_array_equal(array, its_array)
