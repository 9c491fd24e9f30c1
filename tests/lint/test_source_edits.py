"""Edits of source text: the calls of a chain in another order, and nothing else."""

from __future__ import annotations

import ast

import pytest

from penstock.lint.source_edits import EditError, with_call_moved


def end_of(text, call):
    """Return the position of the end of the call that the text has once."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and (ast.get_source_segment(text, node) or "").endswith(call):
            return node.end_lineno, node.end_col_offset
    raise AssertionError(call)


def moved(text, call, target, *, before=True):
    return with_call_moved(text, end_of(text, call), end_of(text, target), before=before)


ONE_LINE = "ds = a.map(f).repeat(3).cache().batch(2)  # all of it\n"
CHAIN = """\
ds = (
    a.map(f)
    .repeat(3)  # three epochs
    .cache(
        path,  # a folder
    )
    .batch(2)  # at the end
)
"""
CHAIN_CACHED_FIRST = """\
ds = (
    a.map(f)
    .cache(
        path,  # a folder
    )
    .repeat(3)  # three epochs
    .batch(2)  # at the end
)
"""
STATEMENTS = """\
def made():
    ds = a.repeat(3)  # three epochs
    ds = ds.cache()  # kept
    return ds
"""


@pytest.mark.parametrize(
    ("text", "call", "target", "before", "wanted"),
    [
        (ONE_LINE, "cache()", "repeat(3)", True, "ds = a.map(f).cache().repeat(3).batch(2)  # all of it\n"),
        (ONE_LINE, "repeat(3)", "cache()", False, "ds = a.map(f).cache().repeat(3).batch(2)  # all of it\n"),
        (ONE_LINE, "map(f)", "cache()", False, "ds = a.repeat(3).cache().map(f).batch(2)  # all of it\n"),
        (ONE_LINE, "cache()", "map(f)", True, "ds = a.cache().map(f).repeat(3).batch(2)  # all of it\n"),
        (
            CHAIN,
            "path,  # a folder\n    )",
            "repeat(3)",
            True,
            CHAIN_CACHED_FIRST,
        ),
        (
            STATEMENTS,
            "cache()",
            "repeat(3)",
            True,
            "def made():\n    ds = a.cache()  # kept\n    ds = ds.repeat(3)  # three epochs\n    return ds\n",
        ),
        ("x = ds.repeat(3). cache ()", "cache ()", "repeat(3)", True, "x = ds. cache ().repeat(3)"),
        ("é = ds.repeat('é').cache('ü')", "cache('ü')", "repeat('é')", True, "é = ds.cache('ü').repeat('é')"),
    ],
)
def test_calls_and_their_comments_move_and_the_rest_stays(text, call, target, before, wanted):
    assert moved(text, call, target, before=before) == wanted


@pytest.mark.parametrize("newline", ["\r\n", "\r", "\n"])
def test_line_ends_are_kept(newline):
    for text in (CHAIN, STATEMENTS):
        call = "cache()" if text is STATEMENTS else "path,  # a folder\n    )"
        plain = moved(text, call, "repeat(3)")
        ends = end_of(text, call), end_of(text, "repeat(3)")
        made = with_call_moved(text.replace("\n", newline), *ends, before=True)
        assert made == plain.replace("\n", newline)


@pytest.mark.parametrize(
    ("text", "call", "target", "reason"),
    [
        ("ds = a.repeat(3)\nds = ds.cache(", None, None, "cannot be parsed"),
        ("ds = a.repeat(3)\nother = ds.cache()\n", "cache()", "repeat(3)", "not in one chain"),
        ("ds = a.repeat(3)\nprint(ds)\nds = ds.cache()\n", "cache()", "repeat(3)", "not in one chain"),
        ("ds = a.repeat(3)\nif x:\n    ds = ds.cache()\n", "cache()", "repeat(3)", "not in one chain"),
        ("ds = f(a.repeat(3)).cache()\n", "cache()", "repeat(3)", "not in one chain"),
        ("ds = a.repeat(3).apply(g).cache()\n", "cache()", "repeat(3)", r"apply\(\) stands between"),
        ("ds = a.repeat(g()).cache(h())\n", "cache(h())", "repeat(g())", "whose order may matter"),
        ("ds = a.repeat((x := 3)).cache(y := 4)\n", "cache(y := 4)", "repeat((x := 3))", "assigns a variable"),
        ("ds = a.repeat(3)\nds = ds.cache(ds.path)\n", "cache(ds.path)", "repeat(3)", "reads the name"),
        ("ds = (a.repeat(3)\n  # keep\n  .cache())\n", "cache()", "repeat(3)", "a comment stands between"),
        ("ds = (a.repeat(3)  # all\n  .cache())\n", "cache()", "repeat(3)", "a comment stands between"),
    ],
)
def test_edits_that_are_not_certain_are_refused(text, call, target, reason):
    ends = ((1, 1), (1, 1)) if call is None else (end_of(text, call), end_of(text, target))
    with pytest.raises(EditError, match=reason):
        with_call_moved(text, *ends, before=True)


def test_lambdas_do_nothing_when_they_are_passed():
    text = "ds = a.map(lambda x: f(x)).cache(g())\n"
    assert moved(text, "cache(g())", "map(lambda x: f(x))") == "ds = a.cache(g()).map(lambda x: f(x))\n"


def test_a_call_that_is_not_there_is_an_error():
    with pytest.raises(EditError, match="no call that ends in line 3"):
        with_call_moved("ds = a.cache()\n", (3, 1), (1, 14), before=True)


def test_calls_of_other_methods_are_refused():
    text = "ds = a.repeat(3).cache()\n"
    ends = end_of(text, "cache()"), end_of(text, "repeat(3)")
    with pytest.raises(EditError, match="other calls"):
        with_call_moved(text, *ends, before=True, methods=("shuffle", "repeat"))
    assert with_call_moved(text, *ends, before=True, methods=("cache", "repeat"))
