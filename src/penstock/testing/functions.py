"""Functions for random plans: they accept elements of any structure, and other processes can import them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np

from penstock.core.frozen import frozen
from penstock.elements.nested.structure import flatten, unflatten
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse


class Pair(NamedTuple):
    """An element that is a named tuple."""

    first: Any
    second: Any


@frozen()
class Labelled:
    """An element that is a dataclass."""

    value: Any
    label: Any


def stepped(*element: Any) -> Any:
    """Add 1 to every number; put text and bytes twice."""
    return _each(_whole(element), _step)


def as_floats(*element: Any) -> Any:
    """Convert every number to float32 and leave other leaves."""
    return _each(_whole(element), lambda leaf: np.float32(leaf) / np.float32(3) if is_number(leaf) else leaf)


def as_python(*element: Any) -> Any:
    """Replace every array by its largest number, as a Python number."""
    return _each(_whole(element), lambda leaf: np.asarray(leaf).max(initial=0).item() if is_number(leaf) else leaf)


def as_text(*element: Any) -> str:
    """Convert the element to text."""
    return "|".join(
        np.array2string(leaf) if isinstance(leaf, np.ndarray) else str(leaf) for leaf in flatten(element)[0]
    )


def as_dict(*element: Any) -> dict[str, Any]:
    """Put the element into a dict whose keys are not in alphabetical order."""
    return {"z": _whole(element), "a": np.float64(0.5), "none": None}


def as_tuple(*element: Any) -> tuple[Any, ...]:
    """Put the element into a tuple."""
    return (_whole(element), np.arange(3, dtype=np.uint8))


def as_list(*element: Any) -> list[Any]:
    """Put the element into a list."""
    return [_whole(element), b"\x00bytes"]


def as_pair(*element: Any) -> Pair:
    """Put the element into a named tuple."""
    return Pair(_whole(element), "second")


def as_labelled(*element: Any) -> Labelled:
    """Put the element into a dataclass."""
    return Labelled(_whole(element), True)


def as_windows(*windows: Any) -> Any:
    """Convert every dataset of a window to text."""
    return _each(_whole(windows), lambda dataset: "; ".join(map(as_text, dataset)))


def written(*element: Any) -> Any:
    """Add 1 to every number, and write the sums into the very dicts and lists that hold the numbers."""
    return _written(_whole(element))


def grown(*element: Any) -> Any:
    """Add the number of its keys to every dict, and a number to the end of every list."""
    return _grown(_whole(element))


def drawn(*element: Any, rng: np.random.Generator) -> tuple[Any, np.float64, np.ndarray]:
    """Return the element with a random number and some random bytes."""
    return _whole(element), np.float64(rng.random()), rng.integers(0, 256, 5, dtype=np.uint8)


def noisy(*element: Any, rng: np.random.Generator) -> Any:
    """Add the same random number to every number of the element."""
    noise = rng.normal()
    return _each(_whole(element), lambda leaf: leaf + noise if is_number(leaf) else leaf)


def halved(x: Any) -> Any:
    """Halve a number, or the numbers of an array."""
    return x / 2


def is_odd(x: Any) -> Any:
    """Return whether numbers are odd."""
    return x % 2 == 1


def squashed(x: Any) -> Any:
    """Clip numbers to [-1, 1]."""
    return np.tanh(x)


def as_units(x: Any) -> Any:
    """Convert numbers to float32, scaled such that the largest byte is 1."""
    return np.float32(x) / np.float32(255)


def capped(x: Any) -> dict[str, Any]:
    """Pair numbers with their values capped below 3."""
    return {"x": x, "low": np.minimum(x, 3)}


def inverted(x: Any) -> Any:
    """Divide by a number that may be zero."""
    return 24 // (x - 3)


def is_low(x: Any) -> Any:
    """Return true for two in three whole numbers."""
    return x % 3 < 2


def columns_stepped(*columns: Any) -> Any:
    """Add 2 to whole columns of numbers; leave columns of objects."""
    return _each(_whole(columns), lambda column: column + 2 if is_number(column) else column)


def columns_and_peaks(*columns: Any) -> dict[str, Any]:
    """Return the columns with the largest of every element's numbers."""
    whole = _whole(columns)
    leaves = flatten(whole)[0]
    peaks = np.zeros(len(leaves[0]))
    for leaf in leaves:
        if is_number(leaf):
            np.maximum(peaks, leaf.reshape(len(peaks), -1).max(axis=1, initial=0), out=peaks)
    return {"peak": peaks, "columns": whole}


class Scratch:
    """A function like `stepped` that works on attributes, so that two threads calling one object mix up elements."""

    def __call__(self, *element: Any) -> Any:
        self._element = _whole(element)
        self._leaves, self._structure = flatten(self._element)
        self._made = [_step(leaf) for leaf in self._leaves]
        return unflatten(self._structure, self._made)


ELEMENTWISE: tuple[Callable[..., Any], ...] = (
    *(stepped, as_floats, as_python, as_text, as_dict, as_tuple, as_list, as_pair, as_labelled),
    Scratch(),
)
"""Functions of one element."""
IN_PLACE: tuple[Callable[..., Any], ...] = (written, grown)
"""Functions of one element that write into its dicts and lists."""
ARITHMETIC: tuple[Callable[..., Any], ...] = (halved, is_odd, squashed, as_units, capped)
"""Functions of one number or array of numbers, which the compiler may run on columns."""
RANDOM: tuple[Callable[..., Any], ...] = (drawn, noisy)
"""Functions of one element and `rng`."""
VECTORIZED: tuple[Callable[..., Any], ...] = (columns_stepped, columns_and_peaks)
"""Functions of columns."""


def _whole(parts: tuple[Any, ...]) -> Any:
    """Return the element that `map` passed: a tuple from several arguments, any other element from one."""
    return parts[0] if len(parts) == 1 else parts


def _written(value: Any) -> Any:
    return _inside(value, _written) if _is_container(value) else _step(value)


def _grown(value: Any) -> Any:
    if not _is_container(value):
        return value
    value = _inside(value, _grown)
    if type(value) is dict:
        value["grown"] = len(value)
    if type(value) is list:
        value.append(len(value))
    return value


def _is_container(value: Any) -> bool:
    return isinstance(value, dict | list | tuple | Labelled) or value is None


def _inside(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return the same dict or list with its values changed, or a new tuple or other structure."""
    if isinstance(value, dict | list):
        parts: Any = value
        for key in list(parts) if isinstance(parts, dict) else range(len(parts)):
            parts[key] = change(parts[key])
        return parts
    if isinstance(value, tuple):
        made = [change(part) for part in cast("tuple[Any, ...]", value)]
        return Pair(*made) if isinstance(value, Pair) else tuple(made)
    return Labelled(change(value.value), change(value.label)) if isinstance(value, Labelled) else value


def _each(element: Any, function: Callable[[Any], Any]) -> Any:
    leaves, structure = flatten(element)
    return unflatten(structure, [function(leaf) for leaf in leaves])


def is_number(leaf: Any) -> bool:
    """Return whether the leaf is a number, or an array of numbers."""
    if isinstance(leaf, np.ndarray | np.generic):
        return leaf.dtype.kind in "biuf"
    return isinstance(leaf, bool | int | float)


def _step(leaf: Any) -> Any:
    if isinstance(leaf, np.ndarray):
        return leaf + leaf.dtype.type(1) if leaf.dtype.kind in "iuf" else leaf
    if isinstance(leaf, np.generic | bool | Ragged | Sparse):
        return leaf
    return leaf + 1 if isinstance(leaf, int | float) else leaf + leaf
