"""The source of functions, in part."""

from __future__ import annotations

from penstock.plan.source_text import source_text

PAIR = (lambda x: x + 1), (lambda x: [y * 2 for y in x])
NESTED = lambda: lambda q: q  # noqa: E731
LONG = lambda x: (  # noqa: E731
    x + 1
)


def indented():
    def inner(x):
        return x

    return inner


def test_a_lambda_has_its_own_text_among_others_in_its_line():
    assert [source_text(each) for each in PAIR] == ["lambda x: x + 1", "lambda x: [y * 2 for y in x]"]
    assert [source_text(NESTED), source_text(NESTED())] == ["lambda: lambda q: q", "lambda q: q"]
    assert source_text(LONG).startswith("lambda x: (")
    assert source_text(LONG).endswith(")")
    assert source_text(lambda: None) == "lambda: None"


def test_a_function_has_no_indentation():
    assert source_text(indented()) == "def inner(x):\n    return x"


def test_there_is_none_without_a_file():
    made = {}
    exec("f = lambda x: x\ndef g(x):\n    return x\n", made)
    assert [source_text(each) for each in (made["f"], made["g"], len, 3)] == [None] * 4
