"""Numbers as text: bytes and counts."""

from __future__ import annotations

_UNITS = ("bytes", "KB", "MB", "GB", "TB", "PB")


def size(count: float) -> str:
    """Return a number of bytes with a fitting unit, in steps of a thousand.

    >>> size(999), size(1_234), size(56_700_000)
    ('999 bytes', '1.23 KB', '56.7 MB')
    """
    unit = 0
    while count >= 999.5 and unit < len(_UNITS) - 1:
        count, unit = count / 1000, unit + 1
    return f"{count:.3g} {_UNITS[unit]}" if unit and count < 999.5 else f"{count:.0f} {_UNITS[unit]}"


def many(count: int, what: str) -> str:
    """Return a count with its noun, in the singular or plural.

    >>> many(1, "record"), many(1234, "record")
    ('1 record', '1,234 records')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"
