"""Pack long marks into short text: JSON, compressed by zlib, as base64."""

from __future__ import annotations

import json
import zlib
from binascii import a2b_base64, b2a_base64
from typing import cast

from penstock.core.errors import CursorError
from penstock.plan.flow import Mark

SHORTEST_PACKED = 128
"""Characters of JSON. A shorter mark is saved as it is, which is easier to read."""
LONGEST_PACKED = 1 << 22
"""Characters of JSON. A longer mark is saved as it is, and no packed text may expand beyond that."""


def packed(mark: Mark) -> Mark:
    """Return the mark as text if it is long and `unpacked` can restore the same data, else the mark itself.

    A mark that is text already is always packed, so that text always means a packed mark.

    >>> packed([3, 1]), unpacked(packed([[0, 1]] * 99)) == [[0, 1]] * 99
    ([3, 1], True)
    """
    if isinstance(mark, int | None):
        return mark
    items = _flattened(mark)
    try:
        text = json.dumps(items, separators=(",", ":"))
        is_packed = isinstance(mark, str) or SHORTEST_PACKED <= len(text) <= LONGEST_PACKED
        if not is_packed or json.loads(text) != items:  # JSON turns a tuple into a list, and keys into text
            return mark
    except (TypeError, ValueError, RecursionError):  # the state of a user's generator may not be JSON data
        return mark
    return b2a_base64(zlib.compress(text.encode(), 9), newline=False).decode()


def unpacked(mark: Mark, name: str = "mark") -> Mark:
    """Return the mark that was packed; raise a `CursorError` that mentions `name` if the text is damaged."""
    if not isinstance(mark, str):
        return mark
    try:
        inflate = zlib.decompressobj()
        text = inflate.decompress(a2b_base64(mark, strict_mode=True), LONGEST_PACKED + 1)
        if not inflate.eof:  # zlib compares its checksum at the end
            raise ValueError("the text is cut off")
        return _nested(json.loads(text))
    except (ValueError, TypeError, RecursionError, zlib.error) as error:
        raise CursorError(
            f"the saved state's {name} is {mark!r:.60}, which is damaged: {error}; pass what state_dict() returned"
        ) from None


def _flattened(mark: Mark) -> list[Mark]:
    """Return the parts of nested lists in order, with `[count]` before the parts of each list.

    `json` reads and writes by recursion, and marks may be nested deeper than the recursion limit.

    >>> _flattened([7, [8, []]])
    [[2], 7, [2], 8, [0]]
    """
    items: list[Mark] = []
    waiting = [mark]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            parts = cast("list[Mark]", part)
            items.append([len(parts)])
            waiting += reversed(parts)
        else:
            items.append(part)
    return items


def _nested(items: list[Mark]) -> Mark:
    """Return the mark from the parts that `_flattened` returned."""
    parts: list[Mark] = []  # last first
    for item in reversed(items):
        if isinstance(item, list):
            (count,) = cast("list[int]", item)
            if not 0 <= count <= len(parts):
                raise ValueError(f"a list of {count} parts has {len(parts)}")
            start = len(parts) - count
            parts[start:] = [parts[start:][::-1]]
        else:
            parts.append(item)
    (mark,) = parts
    return mark
