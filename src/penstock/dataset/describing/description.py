"""The result of describing a dataset: statistics by leaf, as a table and as plain data."""

from __future__ import annotations

import re
from cmath import isfinite
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from math import hypot
from typing import Any, NamedTuple, TypeVar

from penstock import dataset, watch
from penstock.core.attributes import UnknownKeyError
from penstock.core.frozen import frozen
from penstock.dataset.describing.classes import MOST_CLASSES, Class
from penstock.dataset.describing.moments import Floats, Moments, Whole
from penstock.dataset.describing.outline import ITEM, MOST_PATHS, Tallies
from penstock.dataset.describing.tally import NESTED, LeafTally
from penstock.elements.nested.whole import short_path

T = TypeVar("T", float, complex)
CLASSES_SHOWN = 12  # of a leaf, in the text


class LengthRange(NamedTuple):
    """The least, mean and largest length of the values of a leaf: of text, lists, or a first dimension."""

    min: int
    mean: float
    max: int


@frozen()
class LeafDescription:
    """Statistics of the values of all elements at one path.

    - `count`: elements (or items of a list) that have a value there; `missing`: those with `None`, or without the key.
      A path that has `None` in some and a dict or tuple in others counts the latter, as `nested`, or as `empty` if
      they are empty in all elements.
    - `specs`: the dtypes and shapes, or types, with their counts; sizes that differ are ranges.
    - `values`: the numbers, of which `nan` are NaN (or NaT) and `infinite` are infinite; `min` and `max` leave out NaN.
    - `masked`: numbers, texts and objects that masked arrays hide; they count nowhere else.
    - `mean`, `std`: of the finite numbers, as `np.mean` and `np.std`; of integers and flags they are rounded only once.
      `None` where sums or squares are beyond float64.
    - `lengths`: of text, bytes, lists, rows of `Ragged`, or first dimensions, unless all are 0-d.
    - `classes`: how often each value occurred, the most frequent first, for texts, flags, and integers in at most one
      dimension; `None` for other values, and if there are more than 1,000, or long texts (`too_many` is then true).

    >>> label = Dataset.from_source([{"label": "cat"}, {"label": "dog"}, {"label": "cat"}]).describe()["label"]
    >>> label.count, label.classes, label.lengths
    (3, {'cat': 2, 'dog': 1}, LengthRange(min=3, mean=3.0, max=3))
    """

    path: str
    count: int
    missing: int
    specs: dict[str, int]
    values: int = 0
    nan: int = 0
    infinite: int = 0
    masked: int = 0
    min: Any = None
    max: Any = None
    mean: float | complex | None = None
    std: float | None = None
    lengths: LengthRange | None = None
    classes: dict[Class, int] | None = None
    too_many: bool = False

    @property
    def name(self) -> str:
        """The path, short if it is a single key."""
        first, item, rest = self.path.partition(ITEM)
        return (short_path(first) or "element") + item + rest


@frozen(repr=False)
class Description(Mapping[str, LeafDescription]):
    """The result of `ds.describe()`: a mapping from paths to the statistics of leaves, shown as a table.

    `description["label"]` finds a leaf by its path, by the name shown, or by a key that only one path ends with; the
    path of a leaf that is the whole element is `""`, and its name `"element"`. The items of lists and of arrays of
    objects are described together, at the path of the list and `[*]`. `elements` counts the elements, and `to_dict()`
    returns all as JSON data. `class_names` are those of the dataset, if it has any; the text shows them.

    >>> Dataset.from_tensor_slices({"x": np.array([1.0, 2.0, 6.0]), "y": np.array([0, 1, 1])}).describe()
    3 elements
    leaf  spec     missing  NaN  min  mean    max  std     classes
    x     float64  0        0    1    3       6    2.1602
    y     int64    0             0    0.6667  1    0.4714  2
    y: 1 (2, 67 %), 0 (1, 33 %)
    """

    elements: int
    leaves: dict[str, LeafDescription] = field(default_factory=dict[str, LeafDescription])
    notes: tuple[str, ...] = ()
    class_names: tuple[str, ...] = ()

    def __getitem__(self, key: str) -> LeafDescription:
        path = watch.sheet.roles.path_of(key, self.leaves)
        if path is None:
            path = {leaf.name: path for path, leaf in self.leaves.items()}.get(key)
        if path is None:
            named = ", ".join(leaf.name for leaf in self.leaves.values()) or "none"
            raise UnknownKeyError(f"{key:.80}: no leaf, or several; there are {named}")
        return self.leaves[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self.leaves)

    def __len__(self) -> int:
        return len(self.leaves)

    def __repr__(self) -> str:
        return dataset.describing.tables.description_text(self)

    def _repr_html_(self) -> str:
        return watch.notebook.frame.never_failing(
            lambda: dataset.describing.tables.description_html(self), lambda: f"{self.elements:,} elements"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the statistics as JSON data: classes are pairs of a value and its count; bytes and times are text.

        >>> Dataset.range(3).describe().to_dict()["leaves"][""]["mean"]
        1.0
        """
        return {
            "elements": self.elements,
            "leaves": {path: _plain(leaf) for path, leaf in self.leaves.items()},
            "notes": list(self.notes),
        }


def described(tallies: Tallies, class_names: Sequence[str] = ()) -> Description:
    """Return the statistics of the elements of tallies."""
    leaves: dict[str, LeafDescription] = {}
    order = {path: at for at, path in enumerate(tallies.leaves)}
    lists = {path: _lists_of(path, tallies.leaves) for path in tallies.leaves}
    for path in sorted(order, key=lambda path: order[(lists[path] or [path])[0]]):  # items after their list
        tally = tallies.leaves[path]
        tally.settle()
        nesting = "nested" if tally.nested and _has_below(path, tallies.leaves) else "empty"
        if nesting == "nested" and tally.nested == tally.count + tally.none:
            continue  # never a leaf
        whole = tallies.leaves[lists[path][-1]].items if lists[path] else tallies.elements
        whole = whole if path else tally.count + tally.none
        leaves[path] = _leaf(path, tally, whole, nesting)
    notes = (f"there are more than {MOST_PATHS} leaves; the others are not described",) if tallies.left_out else ()
    return Description(tallies.elements, leaves, notes, tuple(class_names))


def _lists_of(path: str, paths: Container[str]) -> list[str]:
    """Return the paths of the lists that a path is in items of, the outermost first; a key may contain `[*]` too."""
    before = (path[: found.start()] for found in re.finditer(re.escape(ITEM), path))
    return [each for each in before if each in paths]


def _has_below(path: str, paths: Iterable[str]) -> bool:
    return any(len(each) > len(path) and each.startswith(path) and each[len(path)] in "[." for each in paths)


def _leaf(path: str, tally: LeafTally, whole: int, nesting: str) -> LeafDescription:
    floats, numbers = tally.floats, Whole()
    numbers.merge(tally.whole)
    numbers.merge(tally.flags)
    low, high = _range(tally, floats, numbers)
    mean, deviation = _moments(floats, tally.imaginary, numbers)
    is_counted = not floats.count and tally.times is None and not tally.nat
    counts = tally.classes.counts() if is_counted else None
    return LeafDescription(
        path=path,
        count=tally.count,
        missing=max(whole - tally.count, 0),
        specs={nesting if name == NESTED.value else name: count for name, count in tally.forms.texts()},
        values=numbers.count + floats.count,
        nan=floats.nan + tally.nat,
        infinite=floats.infinite,
        masked=tally.masked,
        min=low,
        max=high,
        mean=mean,
        std=deviation,
        lengths=_lengths(tally.lengths),
        classes=counts or None,
        too_many=is_counted and tally.classes.too_many,
    )


def _range(tally: LeafTally, floats: Floats, numbers: Whole) -> tuple[Any, Any]:
    if tally.times is not None:
        return tally.times
    if tally.imaginary.count:  # complex numbers have no order
        return None, None
    lows = [each for each in (floats.low, numbers.low) if each is not None]
    highs = [each for each in (floats.high, numbers.high) if each is not None]
    return min(lows, default=None), max(highs, default=None)


def _moments(floats: Floats, imaginary: Floats, numbers: Whole) -> tuple[float | complex | None, float | None]:
    if not floats.count:
        return numbers.mean, numbers.deviation
    moments = Moments(floats.moments.count, floats.moments.mean, floats.moments.spread)
    moments.merge(numbers.moments())
    if not moments.count:
        return None, None
    if imaginary.count:
        real, other = moments.deviation, imaginary.moments.deviation
        deviation = None if real is None or other is None else hypot(real, other)
        return _finite(complex(moments.mean, imaginary.moments.mean)), _finite(deviation)
    return _finite(moments.mean), _finite(moments.deviation)


def _finite(number: T | None) -> T | None:
    return number if number is not None and isfinite(number) else None


def _lengths(lengths: Whole) -> LengthRange | None:
    if lengths.low is None or lengths.high is None or lengths.mean is None:
        return None
    return LengthRange(lengths.low, lengths.mean, lengths.high)


def _plain(leaf: LeafDescription) -> dict[str, Any]:
    plain = dict(vars(leaf))
    plain["lengths"] = None if leaf.lengths is None else leaf.lengths._asdict()
    plain["classes"] = None if leaf.classes is None else [[_json(value), n] for value, n in leaf.classes.items()]
    return {name: _json(value) for name, value in plain.items()}


def _json(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, complex):
        return [value.real, value.imag]
    return value if isinstance(value, int | float | str | dict | list | None) else str(value)


TOO_MANY = f"over {MOST_CLASSES:,}"
