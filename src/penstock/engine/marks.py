"""Marks of many parts as short text: what repeats from one open input to the next is said once."""

from __future__ import annotations

import json
import re
import zlib
from binascii import a2b_base64, b2a_base64, crc32
from collections.abc import Iterable
from itertools import accumulate, chain, pairwise
from typing import cast

from penstock.core.errors import CursorError
from penstock.plan.flow import Mark

LEAST = 80
"""Characters of JSON from which on a mark is packed; below, it is short enough, and says more as it is."""
MOST = 1 << 22
"""Characters of the longest mark that is packed, unless it is deep."""
DEEP = 100
"""Lists in one another from which on a mark is always packed: what writes and reads JSON goes only so deep."""
MOST_READ = 1 << 24
"""Characters of the longest mark that is read as packed text."""
_NUMBER = re.compile("0|[1-9][0-9]*")
_BRACKET = re.compile(r"[][]")
_LONG_TEXT = re.compile('"[^"]{99}')  # as in a state of the user's: it would not get shorter


def packed(mark: Mark) -> Mark:
    """The mark as text, where that is shorter and gives back the very same; else itself.

    It is base64 of a CRC-32; the mark's JSON with 0 for each number, deflated; and the numbers as `_bits_of` has them.

    >>> packed([3, 1]), unpacked(packed([[0, 1]] * 99)) == [[0, 1]] * 99
    ([3, 1], True)
    """
    if isinstance(mark, int | None):
        return mark
    try:
        plain, is_deep = _json_of(mark)
        if not isinstance(mark, str) and not is_deep and not (LEAST <= len(plain) <= MOST and _is_ours(plain, mark)):
            return mark
    except (TypeError, ValueError, RecursionError):  # what a generator says of its state may be no JSON data
        return mark
    text = _text_of(plain)
    return text if is_deep or len(text) < len(plain) or isinstance(mark, str) else mark


def _json_of(mark: Mark) -> tuple[str, bool]:
    """The mark as JSON, and whether its lists are deep in one another."""
    try:
        plain = json.dumps(mark, separators=(",", ":"))
    except RecursionError:
        return _deep_json_of(mark), True
    if plain.count("[") <= DEEP:
        return plain, False
    return plain, max(accumulate(1 if bracket == "[" else -1 for bracket in _BRACKET.findall(plain))) > DEEP


def _deep_json_of(mark: Mark) -> str:
    parts: list[str] = []
    coming: list[tuple[Mark, bool]] = [(mark, False)]  # each with whether it is JSON already
    while coming:
        value, is_json = coming.pop()
        if is_json:
            parts.append(value)
        elif isinstance(value, list):
            parts.append("[")
            coming.append(("]", True))
            for item in reversed(cast("list[Mark]", value)):
                coming += [(item, False), (",", True)]
            if value:
                coming.pop()
        else:
            parts.append(json.dumps(value, separators=(",", ":")))
    return "".join(parts)


def _of_json(plain: str) -> Mark:
    """The mark that has this JSON, however deep its lists are in one another."""
    try:
        return json.loads(plain)
    except RecursionError:
        pass
    whole: list[Mark] = []
    path, at, decoder = [whole], 0, json.JSONDecoder()
    while at < len(plain):
        if plain[at] == "[":
            inner: list[Mark] = []
            path[-1].append(inner)
            path.append(inner)
        elif plain[at] == "]":
            path.pop()
        elif plain[at] != ",":
            value, at = decoder.raw_decode(plain, at)
            path[-1].append(value)
            continue
        at += 1
    if len(path) != 1 or len(whole) != 1:
        raise ValueError("its lists have no end")
    return whole[0]


def _is_ours(plain: str, mark: Mark) -> bool:
    """Whether this JSON gives back the mark, and has no long text in it."""
    return not _LONG_TEXT.search(plain) and json.loads(plain) == mark


def _text_of(plain: str) -> str:
    between = _NUMBER.split(plain)
    bits = f"1{_bits_of(map(int, _NUMBER.findall(plain)), between)}"
    deflate = zlib.compressobj(9, wbits=-15)
    content = deflate.compress("0".join(between).encode()) + deflate.flush()
    content += int(bits, 2).to_bytes(-(-len(bits) // 8))
    return b2a_base64(crc32(content).to_bytes(4) + content, newline=False).decode()


def unpacked(mark: Mark, name: str = "mark") -> Mark:
    """The mark that `packed` was given; damaged text is a `CursorError`, which says what by `name` is damaged."""
    if not isinstance(mark, str):
        return mark
    try:
        content = a2b_base64(mark, strict_mode=True)
        if crc32(content[4:]).to_bytes(4) != content[:4]:
            raise ValueError("its checksum is another")
        inflate = zlib.decompressobj(wbits=-15)
        between = inflate.decompress(content[4:], MOST_READ).decode().split("0")
        bits = f"{int.from_bytes(inflate.unused_data):b}"[1:]
        numbers = map(str, _numbers_of(bits, between))
        return _of_json("".join(chain.from_iterable(zip(between, [*numbers, ""], strict=True))))
    except (ValueError, IndexError, zlib.error) as error:
        raise CursorError(
            f"the saved state's {name} is {mark!r:.60}, which is damaged: {error}; pass what state_dict() returned"
        ) from None


class _Column:
    """The numbers that stand between the same two pieces of text, such as the rows of all open inputs.

    Each is told as a difference, from the one before in the column or from the one just before it in the mark,
    whichever was closer lately: in a sum to which each number adds twice what the one before it still does.
    """

    __slots__ = ("from_before", "from_last", "is_new", "last", "told")

    def __init__(self, before: int) -> None:
        self.is_new = True
        self.last = before
        self.told = self.from_last = self.from_before = 0

    def guess(self, before: int) -> tuple[int, int]:
        """What the next number is told from, where `before` is just before it, and the order of its code."""
        return self.last if self.from_last <= self.from_before else before, (self.told >> 1).bit_length()

    def learn(self, number: int, before: int, told: int) -> None:
        """Go on after a number, which was told so; the first says nothing of how far apart others are."""
        if self.is_new:
            self.is_new = False
        else:
            self.told = (self.told >> 1) + told
            self.from_last = (self.from_last >> 1) + abs(number - self.last)
            self.from_before = (self.from_before >> 1) + abs(number - before)
        self.last = number


def _bits_of(numbers: Iterable[int], between: list[str]) -> str:
    """Numbers, which stand `between` pieces of text, as Exp-Golomb codes of how far each is from what was guessed."""
    columns, before, bits = dict[tuple[str, str], _Column](), 0, list[str]()
    for number, place in zip(numbers, pairwise(between), strict=True):
        column = columns.get(place)
        if column is None:
            column = columns[place] = _Column(before)
        guess, order = column.guess(before)
        told = 2 * (number - guess) if number >= guess else 2 * (guess - number) - 1
        code = f"{told + (1 << order):b}"
        bits.append("0" * (len(code) - 1 - order) + code)
        column.learn(number, before, told)
        before = number
    return "".join(bits)


def _numbers_of(bits: str, between: list[str]) -> list[int]:
    """The numbers of which these are the bits."""
    columns, before, at, numbers = dict[tuple[str, str], _Column](), 0, 0, list[int]()
    for place in pairwise(between):
        column = columns.get(place)
        if column is None:
            column = columns[place] = _Column(before)
        guess, order = column.guess(before)
        one = bits.index("1", at)
        at = 2 * one - at + order + 1
        told = int(bits[one:at], 2) - (1 << order)
        number = guess - (told + 1) // 2 if told % 2 else guess + told // 2
        column.learn(number, before, told)
        before = number
        numbers.append(number)
    return numbers
