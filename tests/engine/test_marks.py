"""Packed marks: the very same comes back, what is damaged is refused, and each open input takes a few bytes."""

from __future__ import annotations

import json
import random
import zlib
from binascii import a2b_base64, b2a_base64, crc32
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import CursorError
from penstock.engine.marks import MOST, packed, unpacked

COUNTS = st.integers(0, 20) | st.integers(0, 10**6) | st.integers(0, 1 << 63)
JSON = st.recursive(
    st.none() | st.booleans() | COUNTS | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=9) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=40,
)
LANE = st.tuples(st.none() | COUNTS, COUNTS, COUNTS).map(lambda lane: [[lane[0], lane[1]], lane[2], [None, 0]])


def lanes(count, most, seed=0):
    """Marks of inputs that stand wherever they like: a place in the input, how much was given, a place within."""
    draw = random.Random(seed).randrange
    return [
        [[draw(3 * count), draw(16)], given, [3 * given // 2 // 256 * 256, draw(256)]]
        for given in (draw(most) for _ in range(count))
    ]


@given(JSON | st.lists(LANE, max_size=70))
def test_what_is_packed_comes_back(mark):
    given_back = unpacked(json.loads(json.dumps(packed(mark))))
    assert json.dumps(given_back) == json.dumps(mark)


@given(st.lists(LANE, min_size=8, max_size=70))
def test_it_is_never_longer(mark):
    assert len(json.dumps(packed(mark))) <= len(json.dumps(mark))


@pytest.mark.parametrize("mark", [None, 0, 12345, [], [3, [7, 0]], [[[18047, 0], 682, [2, 19, 3, 18]], 1]])
def test_a_short_mark_stays_as_it_is(mark):
    assert packed(mark) is mark
    assert unpacked(mark) is mark


@pytest.mark.parametrize(
    "other",
    [
        [(1, 2)] * 99,  # a tuple would come back as a list
        {1: [0] * 99},
        [{0, 1}] * 99,
        [b"bytes"] * 99,
        [float("nan")] * 99,
        [0] * MOST,  # too long
        ["0" * 99 + "user's text"] * 9,
    ],
)
def test_what_would_not_come_back_the_same_or_no_shorter_stays_as_it_is(other):
    assert packed(other) is other


def test_a_mark_of_any_depth_is_packed_and_comes_back():
    nested = []
    for _ in range(10_000):
        nested = [7, nested]
    again, depth = unpacked(packed(nested)), 0
    while again:
        (_, again), depth = again, depth + 1
    assert depth == 10_000


@pytest.mark.parametrize(
    ("mark", "most"),
    [
        ([[[None, place], 12, [None, 12]] for place in range(64)], 120),
        ([[[[0, [[1, [None, 250]], 0]], 160 - place % 3]] for place in range(64)], 144),
        ([[[row, 0], 1000 - 7 * row, [None, 1000 - 7 * row]] for row in range(64)], 180),
    ],
)
def test_inputs_that_stand_alike_take_two_bytes_or_three(mark, most):
    assert len(packed(mark)) <= most < len(json.dumps(mark)) // 8


@pytest.mark.parametrize("most", [10**3, 10**5, 10**7, 10**9])
def test_inputs_that_stand_anywhere_take_what_their_numbers_have_of_bits(most):
    sizes = {count: len(packed(lanes(count, most))) for count in (16, 64, 256)}
    bits_at_most = (256).bit_length() + 16 + (3 * 256).bit_length() + 2 * most.bit_length()
    for (fewer, its_size), (more, size) in pairwise(sizes.items()):
        assert (size - its_size) / (more - fewer) < bits_at_most * 8 / 6 / 8 + 4
        assert size < len(json.dumps(lanes(more, most))) // 2


@given(st.lists(LANE, min_size=20, max_size=20), st.data())
def test_damaged_text_is_refused(mark, data):
    text = packed(mark)
    if not isinstance(text, str):
        return
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters() | st.sampled_from("ABCxyz019+/= \n"))
    for damaged in (text[:at] + other + text[at + 1 :], text[:at] + text[at + 1 :], text[:at] + other + text[at:]):
        with suppress(CursorError):
            assert unpacked(damaged) == mark  # only bits after the end differ


@pytest.mark.parametrize("cut", [0, 1, 4, 8, 40, -1, -4])
def test_text_that_is_cut_is_refused(cut):
    with pytest.raises(CursorError, match=r"mark is '.*, which is damaged: .*; pass what state_dict\(\) r"):
        unpacked(packed(lanes(20, 999))[:cut])


def sealed(content):
    return b2a_base64(crc32(content).to_bytes(4) + content, newline=False).decode()


def deflated(text):
    deflate = zlib.compressobj(9, wbits=-15)
    return deflate.compress(text.encode()) + deflate.flush()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0",
        deflated("[0,0]"),
        deflated("[0,0]") + b"\0" * 9,
        deflated("[0,0]") + b"\x80",
        deflated("[0,0]")[:-1],
        deflated("[0,0,") + b"\xff\xff",
        deflated("["),
        deflated("[" * 50_000),
        deflated("[" + "0," * 30_000 + "0]") + b"\xff" * 9,
        deflated(" " * (1 << 28)),  # a quarter of a gigabyte
        deflated("[0]") + b"\x01" + b"\0" * 10_000 + b"\xff" * 10_000,
        deflated("\udcff".encode("utf-8", "surrogateescape").decode("latin-1")),
    ],
)
def test_text_made_to_do_harm_is_refused(content):
    with pytest.raises(CursorError, match="which is damaged"):
        unpacked(sealed(content))


@given(st.text('[]0,-.eE"{}: ', max_size=20), st.binary(max_size=20))
def test_any_content_is_read_or_refused(text, numbers):
    try:
        json.dumps(unpacked(sealed(deflated(text) + numbers)))
    except CursorError:
        return


def test_the_format_is_frozen():
    mark = [[[[place // 5, place % 5], 100 * place + 3, [None, place * place]] for place in range(9)], -1, 1.5]
    text = "DAzDdYuOjo420DGI1THQic4rzckBMmN1BqlQrI4uUEjPIBYA5zWAyXRSCKch1OQsyeQiq5CbuR13IAC4wH6J"
    assert unpacked(text) == mark
    numbers = a2b_base64(text)[-27:]
    assert a2b_base64(packed(mark))[-27:] == numbers  # how well the text between them is deflated is up to zlib
