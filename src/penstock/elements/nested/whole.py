"""The parts of an element as people look at them: a list of plain values, such as tokens out of JSON, is one part."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from penstock.elements.nested.structure import Structure, flatten, paths

_PLAIN = (bool, int, float, str, type(None), np.number, np.bool_)


def parts_and_nesting(element: Any) -> tuple[list[Any], Structure]:
    """Return the parts of an element and their nesting; lists of numbers of one shape are arrays.

    `None` and empty containers are parts, too.

    >>> parts_and_nesting({"ids": [3, 4], "boxes": [], "name": None, "pair": (1, [2.5, 0])})
    ([[], array([3, 4]), None, 1, array([2.5, 0. ])], {"ids": *, "boxes": *, "name": *, "pair": (*, *)})
    """
    parts, structure = flatten(element, keep=_is_part)
    return [_as_numbers(cast("list[Any]", part)) if isinstance(part, list) else part for part in parts], structure


def shown_parts(element: Any) -> dict[str, Any]:
    """Return the parts of an element by their paths.

    >>> shown_parts({"x": 1, "boxes": [], "name": None})
    {'["boxes"]': [], '["name"]': None, '["x"]': 1}
    """
    parts, structure = parts_and_nesting(element)
    return dict(zip(paths(structure), parts, strict=True))


def short_path(path: str) -> str:
    """Return a path as a name, if it is a single key.

    >>> short_path('["image"]'), short_path('["a"]["b"]'), short_path("[0]"), short_path(".x")
    ('image', '["a"]["b"]', '[0]', 'x')
    """
    if path.startswith('["') and path.endswith('"]') and path.count('"') == 2:
        return path[2:-2]
    return path[1:] if path.startswith(".") and path[1:].isidentifier() else path


def _is_part(node: Any) -> bool:
    if node is None or (isinstance(node, dict | list | tuple) and not node):
        return True
    return isinstance(node, list) and _is_plain(cast("Any", node))


def _is_plain(node: Any) -> bool:
    if isinstance(node, dict):
        return all(map(_is_plain, cast("dict[Any, Any]", node).values()))
    if isinstance(node, list | tuple):
        return all(map(_is_plain, cast("list[Any]", node)))
    return isinstance(node, _PLAIN)


def _as_numbers(values: list[Any]) -> Any:
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError):  # of other lengths
        return values
    return array if array.size and array.dtype.kind in "biuf" else values
