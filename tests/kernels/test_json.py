"""The native parser returns the objects of Python's json, and leaves uncommon text to it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels.json import parse_objects

NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(st.characters(codec="utf-8"), max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=10,
)
OBJECTS = st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=4), VALUES, max_size=5)

PLAIN_NUMBERS = """
    0 -0 -0.0 1e5 1E+05 1.5e-3 9223372036854775807 -9223372036854775808 0.1 5e-324 2.2250738585072011e-308
    179769313486231570000000000000000e276 123456789012345678901234567890.5
"""
NOT_PLAIN = r"""[1]
1
"a"
null
{"a": 1
{"a" 1}
{"a": 1,}
{,}
{"a": 01}
{"a": +1}
{"a": 1.}
{"a": .5}
{"a": 1e}
{"a": -}
{"a": tru}
{"a": NaN}
{"a": 9223372036854775808}
{"a": 1e999}
{"a": "\ud800"}
{"a": "\udc00"}
{"a": "\x"}
{"a": "\u12"}
{'a': 1}
{"a": 1} x
{"a": "
{"a": "\
{"a": 1}{}"""
ODD_BYTES = [
    *(b"", b" ", b'{"a": "\t"}', b'{"a": "\0"}', b'{"a": "\xff"}', b'{"\xed\xa0\x80": 1}', b'{"a": \xff}'),
    b"\xef\xbb\xbf{}",
]


def parsed(*lines, names=None):
    texts = [line if isinstance(line, bytes) else line.encode() for line in lines]
    return parse_objects(b"".join(texts), np.cumsum([0, *map(len, texts)]), names)


@given(objects=st.lists(OBJECTS, max_size=4), ascii=st.booleans(), indent=st.sampled_from([None, 1]))
def test_objects_equal_those_of_the_json_module(objects, ascii, indent):
    made, elsewhere = parsed(*(json.dumps(each, ensure_ascii=ascii, indent=indent) for each in objects))
    assert elsewhere == []
    assert repr(made) == repr(objects)  # 1 is not 1.0, and keys have their order


@given(text=st.text(st.sampled_from('{}[]:,"\\ \t\n0123456789.eE+-truefalsn/bu"éd8'), max_size=30))
def test_any_text_gives_the_result_of_json_or_none(text):
    text = '{"a":' + text + "}"
    made, elsewhere = parsed(text)
    try:
        expected = json.loads(text)
    except ValueError:
        assert elsewhere == [0]
        return
    assert elsewhere == [0] or repr(made) == repr([expected])


@pytest.mark.parametrize("number", PLAIN_NUMBERS.split())
def test_numbers_equal_those_of_python(number):
    made, elsewhere = parsed(f'{{"x": {number}}}')
    assert elsewhere == []
    assert repr(made) == repr([json.loads(f'{{"x": {number}}}')])


@pytest.mark.parametrize("text", [*NOT_PLAIN.splitlines(), *ODD_BYTES, '{"a":' * 65 + "1" + "}" * 65])
def test_unusual_values_are_left_to_python(text):
    assert parsed("{}", text, '{"b": 2}') == ([{}, None, {"b": 2}], [1])


def test_escapes_are_undone():
    text = r'{"a\n": "\"\\\/\b\f\n\r\té\u00e9\ud834\udd1e\u0000"}'
    assert parsed(text) == ([json.loads(text)], [])


def test_names_choose_keys_of_the_object_and_not_of_those_in_it():
    line = '{"b": {"c": 1, "a": [{"c": 2}]}, "c": 3, "a": "x", "a": "y"}'
    assert parsed(line, line, names=["a"]) == ([{"a": "y"}] * 2, [])
    assert parsed(line, names=["b", "z"]) == ([{"b": {"c": 1, "a": [{"c": 2}]}}], [])


def test_more_keys_than_the_cache_holds_are_parsed():
    objects = [{f"key {i % 100}": i, "x" * 100: i} for i in range(300)]
    assert parsed(*map(json.dumps, objects)) == (objects, [])


@pytest.mark.parametrize("splits", [[], [3, 1], [0, 99], [-1, 2]])
def test_splits_lie_within_the_data(splits):
    with pytest.raises(ValueError, match="splits"):
        parse_objects(b"{}{}", np.array(splits, np.int64))
