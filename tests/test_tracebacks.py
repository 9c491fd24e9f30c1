"""The tracebacks that a user sees: their own frames, and one error with its notes."""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np
import pytest

import penstock as ps

NUMBERS: Any = ps.Dataset.range(20)
MOST_LINES = 30


def disliking(x):
    if x == 7:
        raise ValueError("I dislike 7")
    return x


def shown(make) -> str:
    """Return the text that Python prints for the error of a dataset."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - of any kind
        list(make())
    return "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "make",
    [
        lambda: NUMBERS.map(disliking),
        lambda: NUMBERS.map(disliking).batch(5),
        lambda: NUMBERS.filter(lambda x: x > 2).map(disliking).batch(5),
        lambda: NUMBERS.map(lambda x: np.zeros(int(x) % 3)).batch(5),
        lambda: ps.Dataset.from_source([{"a": 1}, {"b": 1}]).batch(2),
        lambda: ps.Dataset.from_source([np.zeros((2, 3)), np.zeros(2)]).padded_batch(2),
        lambda: NUMBERS.map(lambda x: x[0], vectorized=True),
        lambda: NUMBERS.flat_map(lambda x: 3),
        lambda: NUMBERS.map(lambda x: b"no image").map(ps.image.decode()),
        lambda: ps.Dataset.from_source([b"abc"]).map(
            ps.records.parse_example({"a": ps.records.FixedLenFeature([], "int64")})
        ),
    ],
)
def test_an_error_is_told_once_without_the_frames_between(make):
    text = shown(make)
    assert text.count("Traceback (most recent call last)") == 1
    assert len(text.splitlines()) <= MOST_LINES


def test_an_unreadable_line_is_told_once(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"one\n\xff\n")
    text = shown(lambda: ps.read_text(tmp_path / "a.txt"))
    assert text.count("Traceback (most recent call last)") == 1
    assert text.count("0xff") == 1


@pytest.mark.parametrize("options", [ps.Options(isolate=True), ps.Options(executor="processes", workers=1)])
def test_an_error_in_another_process_has_the_frames_of_the_user_there(options):
    text = shown(lambda: NUMBERS.map(disliking).with_options(options))
    assert text.count("ValueError: I dislike 7") == 1
    assert text.count("in disliking\n") == 1
    assert len(text.splitlines()) <= MOST_LINES + 10


def test_an_unexpected_error_inside_penstock_keeps_its_frames(monkeypatch):
    monkeypatch.setattr("penstock.elements.chunks.to_arrays.stack", None)
    assert len(shown(lambda: NUMBERS.map(str).batch(5)).splitlines()) > MOST_LINES
