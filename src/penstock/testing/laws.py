"""What a pipeline promises, as one-line tests: the same elements again, by any worker, and after any restore."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import islice, zip_longest
from typing import Any

import numpy as np

from penstock.core.options import Options
from penstock.dataset.dataset import Dataset
from penstock.dataset.iterator import Iterator
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.elements.spec import leaf_spec
from penstock.elements.structure import flatten, paths
from penstock.engine.settings import settings_of

WAYS: tuple[tuple[str, Options], ...] = (
    ("a second time", Options()),
    ("inline", Options(executor="inline")),
    ("without rewrites", Options(executor="inline", rewrite=False)),
    ("on 1 thread", Options(executor="threads", workers=1)),
    ("on 2 threads", Options(executor="threads", workers=2)),
    ("on 4 threads", Options(executor="threads", workers=4)),
)
"""The runs that `verify_determinism` compares."""

_MISSING = object()


def same(a: Any, b: Any) -> bool:
    """Whether two elements are exactly equal: nesting, types, shapes, dtypes and every bit, so that a NaN is itself.

    >>> same({"x": np.float32([1, np.nan])}, {"x": np.float32([1, np.nan])})
    True
    >>> same(np.int64(1), 1)
    False
    """
    return difference(a, b) is None


def difference(a: Any, b: Any) -> str | None:
    """Where two elements differ and how, in words; `None` where they are exactly equal.

    >>> difference({"x": (1, np.zeros(2))}, {"x": (1, np.zeros(3))})
    'at ["x"][1]: float64[2] against float64[3]'
    """
    if a is _MISSING or b is _MISSING:
        return "one came to its end, and the other had " + (repr(b) if a is _MISSING else repr(a))
    leaves, structure = flatten(a)
    others, other_structure = flatten(b)
    if structure != other_structure or repr(structure) != repr(other_structure):  # the order of keys counts too
        return f"structure {structure!r} against {other_structure!r}"
    for one, other, path in zip(leaves, others, paths(structure), strict=True):
        found = _leaf_difference(one, other)
        if found is not None:
            return f"at {path}: {found}" if path else found
    return None


def verify_determinism(
    dataset: Dataset[Any], *, epoch: int = 0, most: int = 64, ways: Iterable[tuple[str, Options]] = WAYS
) -> None:
    """Assert that an epoch's first `most` elements are the same in every run, and made alone as `ds[epoch, i]`.

    A function that draws from a global generator, keeps state, or looks at the clock fails here, and the first element
    that differs is named. Where the pipeline allows another order (`deterministic=False`), the whole epoch is compared,
    in any order.

    >>> verify_determinism(Dataset.range(9).shuffle().map(lambda x: x * 2).batch(2))
    >>> count = iter(range(100))
    >>> verify_determinism(Dataset.range(9).map(lambda x: x + next(count)))
    Traceback (most recent call last):
    AssertionError: element 0 of epoch 0 differs a second time: 0 against 9
    """
    bound = dataset.with_options(Options(seed=dataset.iterator(epoch=epoch).state_dict()["seed"]))
    ordered = is_ordered(bound)
    count = _count(bound, most, ordered=ordered)
    whole = _first(bound.iterator(epoch=epoch), count)
    for name, options in ways:
        again = bound.with_options(options)
        made = _first(again.iterator(epoch=epoch), count)
        _expect(whole, made, epoch, name, ordered=is_ordered(again))
    if ordered and dataset._plan.indexed:  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        alone = [bound[epoch, row] for row in range(len(whole))]
        _expect(whole, alone, epoch, "made alone", ordered=True)


def verify_resume(dataset: Dataset[Any], *, epoch: int = 0, most: int = 32, options: Options | None = None) -> None:
    """Assert that an epoch restored after any of its first `most` elements goes on exactly as if nothing had happened.

    Each state travels as JSON, and is loaded into an iterator that runs with `options`: by default as the dataset says.
    What comes after each restore is compared to the end; and once more with a restore after every single element.

    >>> verify_resume(Dataset.range(9).shuffle().batch(2), options=Options(executor="threads", workers=2))
    """
    target = dataset if options is None else dataset.with_options(options)
    ordered = is_ordered(dataset) and is_ordered(target)
    count = _count(dataset, most, ordered=ordered)
    received: list[Any] = []
    states: list[str] = []
    with dataset.iterator(epoch=epoch) as it:
        states.append(json.dumps(it.state_dict()))
        for element in islice(it, most):
            received.append(element)
            states.append(json.dumps(it.state_dict()))
    whole = received if ordered else _first(_restored(target, states[0]), count)
    for step, state in enumerate(states):
        rest = _first(_restored(target, state), None if count is None else len(whole) - step)
        _expect(whole, [*received[:step], *rest], epoch, f"after a restore at {step}", ordered=ordered)
    chain: list[Any] = []
    state = states[0]
    for _ in whole:
        with _restored(target, state) as it:
            chain.append(next(it))
            state = json.dumps(it.state_dict())
    _expect(whole, chain, epoch, "after a restore at every step", ordered=ordered)


def is_ordered(dataset: Dataset[Any]) -> bool:
    """Whether elements come in the order of the plan, and not as they are finished."""
    return settings_of(dataset._plan).ordered  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def multiset(elements: Iterable[Any]) -> list[str]:
    """The elements as sorted texts: equal for equal elements in any order."""
    return sorted(_text(element) for element in elements)


def _restored(dataset: Dataset[Any], state: str) -> Iterator[Any]:
    it = dataset.iterator(epoch=0)
    it.load_state_dict(json.loads(state))
    return it


def _count(dataset: Dataset[Any], most: int, *, ordered: bool) -> int | None:
    """How many elements to compare: where their order is loose, all of the epoch (`None`)."""
    if not ordered and dataset.cardinality() < 0:
        raise ValueError("elements without end that come in any order cannot be compared; take() some of them")
    return most if ordered else None


def _first(it: Iterator[Any], most: int | None) -> list[Any]:
    with it:
        return list(islice(it, most))


def _expect(whole: Sequence[Any], made: Sequence[Any], epoch: int, name: str, *, ordered: bool) -> None:
    if not ordered:
        missing = sorted(set(multiset(whole)) ^ set(multiset(made)))
        if missing or len(whole) != len(made):
            raise AssertionError(
                f"epoch {epoch} has other elements {name}: {len(whole)} against {len(made)}; {missing[:3]}"
            )
        return
    for index, (one, other) in enumerate(zip_longest(whole, made, fillvalue=_MISSING)):
        found = difference(one, other)
        if found is not None:
            raise AssertionError(f"element {index} of epoch {epoch} differs {name}: {found}")


def _leaf_difference(one: Any, other: Any) -> str | None:
    if type(one) is not type(other):
        return f"{type(one).__name__} {one!r} against {type(other).__name__} {other!r}"
    if isinstance(one, Ragged | Sparse):
        if one.shape != other.shape or len(one.arrays()) != len(other.arrays()):
            return f"{leaf_spec(one)!r} against {leaf_spec(other)!r}"
        pairs = zip(one.arrays(), other.arrays(), strict=True)
        return next((found for pair in pairs if (found := _array_difference(*pair)) is not None), None)
    if isinstance(one, np.ndarray | np.generic):
        return _array_difference(np.asarray(one), np.asarray(other))
    if isinstance(one, float | complex):
        equal = np.asarray(one).tobytes() == np.asarray(other).tobytes()
    else:
        equal = one is other or bool(one == other)
    return None if equal else f"{one!r} against {other!r}"


def _array_difference(one: np.ndarray, other: np.ndarray) -> str | None:
    if one.dtype != other.dtype or one.shape != other.shape:
        return f"{_described(one)} against {_described(other)}"
    if one.dtype.hasobject:
        pairs = zip(one.ravel().tolist(), other.ravel().tolist(), strict=True)
        return next((found for pair in pairs if (found := difference(*pair)) is not None), None)
    if one.tobytes() == other.tobytes():
        return None
    if one.ndim == 0:
        return f"{one.dtype} {one} against {other.dtype} {other}"
    at = next(index for index in np.ndindex(one.shape) if one[index].tobytes() != other[index].tobytes())
    return f"{_described(one)}: {one[at]} against {other[at]} at {list(at)}"


def _described(array: np.ndarray) -> str:
    return f"{array.dtype}{list(array.shape)}" if array.ndim else str(array.dtype)


def _text(element: Any) -> str:
    leaves, structure = flatten(element)
    return f"{structure!r}: {[_leaf_text(leaf) for leaf in leaves]}"


def _leaf_text(leaf: Any) -> str:
    if isinstance(leaf, Ragged | Sparse):
        return f"{leaf_spec(leaf)!r} {[_leaf_text(array) for array in leaf.arrays()]}"
    if isinstance(leaf, np.ndarray | np.generic):
        content = [_text(each) for each in leaf.ravel()] if leaf.dtype.hasobject else np.asarray(leaf).tolist()
        return f"{type(leaf).__name__} {leaf.dtype}{list(leaf.shape)} {content!r}"
    return f"{type(leaf).__name__} {leaf!r}"
