"""Sizes in bytes, as numbers or as texts with a unit."""

from __future__ import annotations

import re

from penstock.core.checks import check_count


def parse_size(text: str) -> int:
    """Return the number of bytes of `256MB`, `1.5 GiB` or `1000`; raise a `ValueError` for anything else.

    >>> parse_size("256MB"), parse_size("1 GiB")
    (256000000, 1073741824)
    """
    matched = re.fullmatch(r"\s*([\d_.]+)\s*([kmgtp]?)(i?)b?\s*", text, re.IGNORECASE)
    if matched is None or matched[1].count(".") > 1 or (matched[3] and not matched[2]):
        raise ValueError(f"expected a size such as 256MB, not {text!r:.80}")
    try:
        number = float(matched[1])
    except ValueError:  # of points and underscores alone
        raise ValueError(f"expected a size such as 256MB, not {text!r:.80}") from None
    power = " kmgtp".index(matched[2].lower() or " ")
    return int(number * (1024 if matched[3] else 1000) ** power)


def check_bytes(call: str, name: str, value: object, *, least: int = 1, clip: bool = False) -> int:
    """Return a size given as a whole number of bytes or as a text such as "2GB"; refuse anything else.

    `least` and `clip` are those of `check_count`.

    >>> check_bytes("Options", "memory_budget", "2GB"), check_bytes("Options", "memory_budget", 1 << 20)
    (2000000000, 1048576)
    >>> check_bytes("Options", "memory_budget", "much")
    Traceback (most recent call last):
    ValueError: Options(memory_budget='much'): expected a size such as 256MB, not 'much'
    """
    size = value
    if isinstance(value, str):
        try:
            size = parse_size(value)
        except ValueError as error:
            raise ValueError(f"{call}({name}={value!r:.80}): {error}") from None
    return check_count(call, name, size, least=least, clip=clip)
