"""Packed marks: the same mark comes back, damaged text is refused, and each open input takes a few bytes."""

from __future__ import annotations

import json
import random
import zlib
from binascii import a2b_base64, b2a_base64
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import CursorError
from penstock.engine.cursors.codec import LONGEST_PACKED, packed, unpacked

COUNTS = st.integers(0, 20) | st.integers(0, 10**6) | st.integers(0, 1 << 63)
JSON = st.recursive(
    st.none() | st.booleans() | COUNTS | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=9) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=40,
)
LANE = st.tuples(st.none() | COUNTS, COUNTS, COUNTS).map(lambda lane: [[lane[0], lane[1]], lane[2], [None, 0]])


def lanes(count, most, seed=0):
    """Marks of inputs at unrelated positions: a place in the input, elements given, a place within."""
    draw = random.Random(seed).randrange
    return [
        [[draw(3 * count), draw(16)], given, [3 * given // 2 // 256 * 256, draw(256)]]
        for given in (draw(most) for _ in range(count))
    ]


@given(JSON | st.lists(LANE, max_size=70))
def test_a_packed_mark_comes_back(mark):
    given_back = unpacked(json.loads(json.dumps(packed(mark))))
    assert json.dumps(given_back) == json.dumps(mark)


@given(st.lists(LANE, min_size=8, max_size=70))
def test_packed_text_is_never_longer_than_the_json_of_many_inputs(mark):
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
        [0] * LONGEST_PACKED,  # too long
    ],
    ids=["tuples", "integer keys", "sets", "bytes", "nan", "too long"],
)
def test_marks_that_json_would_change_and_very_long_marks_stay_as_they_are(other):
    assert packed(other) is other


def test_a_deep_mark_with_data_that_json_would_change_stays_as_it_is():
    nested = [(1, 2)]
    for _ in range(10_000):
        nested = [7, nested]
    assert packed(nested) is nested


def test_a_mark_of_any_depth_is_packed_and_comes_back():
    nested = []
    for _ in range(10_000):
        nested = [7, nested]
    again, depth = unpacked(packed(nested)), 0
    while again:
        (_, again), depth = again, depth + 1
    assert depth == 10_000


@pytest.mark.parametrize(
    "mark",
    [
        [[[None, place], 12, [None, 12]] for place in range(64)],
        [[[[0, [[1, [None, 250]], 0]], 160 - place % 3]] for place in range(64)],
        [[[row, 0], 1000 - 7 * row, [None, 1000 - 7 * row]] for row in range(64)],
    ],
)
def test_inputs_at_similar_positions_take_under_10_bytes_each(mark):
    assert len(packed(mark)) < 10 * 64


@pytest.mark.parametrize("most", [10**3, 10**5, 10**7, 10**9, 10**12])
@pytest.mark.parametrize("count", [16, 64, 256])
def test_inputs_at_unrelated_positions_take_under_30_bytes_each(most, count):
    text = packed(lanes(count, most))
    assert len(text) < 30 * count
    assert len(text) < len(json.dumps(lanes(count, most))) * 2 / 3


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


def text_of(content, level=9):
    return b2a_base64(zlib.compress(content, level), newline=False).decode()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0",
        b"[",
        b"[]",
        b"[1,2]",
        b"[[2],0]",
        b"[[-1]]",
        b"[[1,2],0,0]",
        b"[[1.5],0]",
        b'[["1"],0]',
        b"[[null],0]",
        b"7",
        b"{}",
        b"[[" + b"9" * 5000 + b"]]",
        b"[" * 50_000,
        b" " * (1 << 28),  # a quarter of a gigabyte
        b"\xff",
    ],
    ids=lambda content: content[:9].decode("latin-1") or "empty",
)
def test_text_of_other_content_is_refused(content):
    with pytest.raises(CursorError, match="which is damaged"):
        unpacked(text_of(content))


def test_text_without_its_checksum_is_refused():
    content = zlib.compress(b"[[2],0,0]")
    with pytest.raises(CursorError, match="which is damaged: the text is cut off"):
        unpacked(b2a_base64(content[:-1], newline=False).decode())
    with pytest.raises(CursorError, match=r"which is damaged: .*incorrect data check"):
        unpacked(b2a_base64(content[:-1] + b"\0", newline=False).decode())


@given(st.text('[]0,-.eE"{}: ', max_size=20))
def test_any_text_is_unpacked_or_refused(text):
    try:
        json.dumps(unpacked(text_of(text.encode())))
    except CursorError:
        return


def test_the_format_is_frozen():
    mark = [[[[place // 5, place % 5], 100 * place + 3, [None, place * place]] for place in range(9)], -1, 1.5]
    content = (
        b"[[3],[9],[3],[2],0,0,3,[2],null,0,[3],[2],0,1,103,[2],null,1,[3],[2],0,2,203,[2],null,4,[3],[2],0,3,303,[2],"
        b"null,9,[3],[2],0,4,403,[2],null,16,[3],[2],1,0,503,[2],null,25,[3],[2],1,1,603,[2],null,36,[3],[2],1,2,703,"
        b"[2],null,49,[3],[2],1,3,803,[2],null,64,-1,1.5]"
    )
    assert zlib.decompress(a2b_base64(packed(mark))) == content
    assert unpacked(text_of(content, level=1)) == mark  # the zlib of another machine may compress better or worse
