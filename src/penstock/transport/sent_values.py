"""The values of places in modules, as they are compared and sent; an object in several places stays one object."""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from penstock.core.digest import digest_array
from penstock.core.pickling import TooLargeError, dumps, dumps_with_memo
from penstock.plan.safety.instructions import ABSENT
from penstock.plan.safety.module_place import ModulePlace, place_of_name

LARGEST_VALUE = 1 << 24  # bytes of a value that is sent; beyond, an array is compared, and of other values the type
_WITHOUT_IDENTITY = (str, bytes, type, np.dtype, types.CodeType, types.BuiltinFunctionType, types.ModuleType)
"""Types of which one object is as good as an equal one, or of which every process has its own one by name."""
Memo: TypeAlias = Mapping[int, tuple[int, Any]]


class SentValue(NamedTuple):
    """The content of one place in a module of the program.

    `data` is a pickled `value`, the `digest` of a large array, or the type of another `large` value or of one that is
    `unsendable`. What the program has set and `undone` has none. If a value shares an object with those of other
    places, such as one list that has two names, `data` is the list of the values of all these `places`.
    """

    kind: Literal["value", "digest", "large", "unsendable", "undone"]
    data: bytes
    places: tuple[ModulePlace, ...] = ()

    @property
    def is_by_type(self) -> bool:
        """True if nothing but the type can be compared."""
        return self.kind in ("large", "unsendable")


UNDONE = SentValue("undone", b"")


def sent_values(values: Mapping[ModulePlace, Any]) -> dict[ModulePlace, SentValue]:
    """Return the contents of places that hold these values."""
    made: dict[ModulePlace, SentValue] = {}
    memos: dict[ModulePlace, Memo] = {}
    for place, value in values.items():
        made[place], memos[place] = _sent(value)
    for places in _sharing(memos):
        together = SentValue("value", dumps([values[place] for place in places]), places)
        made.update(dict.fromkeys(places, together))
    return made


def sent_value(value: Any) -> SentValue:
    """Return the content of a place that holds a value, apart from all others."""
    return _sent(value)[0]


def type_of(value: Any) -> str:
    """Return the name of a type as errors show it; none if there is no value."""
    return "" if value is ABSENT else f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")


def _sent(value: Any) -> tuple[SentValue, Memo]:
    if isinstance(value, np.ndarray) and value.nbytes > LARGEST_VALUE and not value.dtype.hasobject:
        return SentValue("digest", digest_array(value).encode()), {}
    try:
        data, memo = dumps_with_memo(value, most=LARGEST_VALUE)
    except TooLargeError:
        return SentValue("large", type_of(value).encode()), {}
    except Exception:  # noqa: BLE001 - whatever cannot be pickled
        return SentValue("unsendable", type_of(value).encode()), {}
    return SentValue("value", data), {} if isinstance(value, types.CodeType) else memo


def _sharing(memos: Mapping[ModulePlace, Memo]) -> Iterable[tuple[ModulePlace, ...]]:
    """Return the groups of places whose values have objects in common, given the memo of each."""
    group_of = {place: [place] for place in memos}
    first: dict[int, ModulePlace] = {}  # that has the object
    for place, memo in memos.items():
        for key in first.keys() & memo.keys():
            group, other = group_of[place], group_of[first[key]]
            if group is not other and _has_identity(memo[key][1]):
                other.extend(group)
                group_of.update(dict.fromkeys(group, other))
        first.update(dict.fromkeys(memo, place))
    groups = {id(group): group for group in group_of.values() if len(group) > 1}
    return [tuple(sorted(group, key=repr)) for group in groups.values()]  # in the same order in each process


def _has_identity(thing: Any) -> bool:
    if isinstance(thing, types.FunctionType):
        return place_of_name(thing) is None  # otherwise it travels by its name
    return not isinstance(thing, _WITHOUT_IDENTITY)
