import numpy as np
import pytest

import penstock as ps
from penstock.cli.files.words import LONGEST_VALUE, cut_text, kind_of_bytes, lines_of


def test_each_leaf_has_a_line_with_its_path():
    lines = lines_of({"image": {"bytes": b"\xff\xd8\xff\xe0" + bytes(2000)}, "label": np.int64(3), "words": ["a", "b"]})
    assert [line.split()[0] for line in lines] == ["image.bytes", "label", "words[0]", "words[1]"]
    assert "JPEG" in lines[0]
    assert "2 KB" in lines[0]


@pytest.mark.parametrize(
    ("leaf", "told"),
    [
        (b"abc", "bytes (3 bytes)  b'abc'"),
        ("abc", "str  'abc'"),
        (3, "int  3"),
        (np.float32(0.5), "float32  0.5"),
        (np.arange(3), "int64[3]  [0, 1, 2]"),
        (np.zeros((2, 5)), "float64[2, 5]  [0, 0, 0, 0, 0, 0, ...]"),
        (ps.Ragged.from_rows([[1], []]), "Ragged  Ragged([[1], []], int64[2, ~])"),
    ],
)
def test_a_leaf_is_shown_with_its_type_and_beginning(leaf, told):
    assert lines_of(leaf) == [told]


def test_a_long_value_is_cut():
    (line,) = lines_of("a" * 10_000)
    assert len(line) < LONGEST_VALUE + 10
    assert line.endswith("…")
    assert cut_text("a" * LONGEST_VALUE) == "a" * LONGEST_VALUE


def test_an_element_without_leaves_has_no_lines():
    assert lines_of({}) == []


def test_kinds_are_detected_by_the_first_bytes():
    assert [kind_of_bytes(content) for content in (b"\x89PNG\r\n\x1a\n", b"fLaC...", b"", b"none")] == [
        "PNG",
        "FLAC",
        "",
        "",
    ]
