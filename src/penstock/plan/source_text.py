"""The source text of functions and classes, if it can be found: of a lambda its own, not the line that it is in."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
from types import CodeType, FunctionType
from typing import Any

CodeSpan = tuple[int, int, int, int]
"""The first line and column, and the last line and column, of code; columns count bytes."""


def source_text(thing: Any) -> str | None:
    """Return the source of a Python function or class, without its indentation; `None` if it cannot be found.

    >>> print(source_text(source_text).splitlines()[0])
    def source_text(thing: Any) -> str | None:
    """
    try:
        if isinstance(thing, FunctionType) and thing.__name__ == "<lambda>":
            return _lambda_text(thing.__code__)
        return textwrap.dedent(inspect.getsource(thing)).rstrip()
    except (OSError, TypeError, SyntaxError, ValueError, IndentationError):
        return None


def _lambda_text(code: CodeType) -> str | None:
    """Return the text of the lambda whose body has the positions of the code."""
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename)
    if not lines:
        return None
    text = "".join(lines)
    span = _span_of(code)
    found = [
        (_size(each), each)
        for each in ast.walk(ast.parse(text))
        if isinstance(each, ast.Lambda) and each.lineno == code.co_firstlineno and _contains(each.body, span)
    ]
    return ast.get_source_segment(text, min(found, key=lambda pair: pair[0])[1]) if found else None


def _span_of(code: CodeType) -> CodeSpan | None:
    """Return the place of the code, as its instructions tell it."""
    known = [place for place in code.co_positions() if None not in place]
    begins = [(line, column) for line, _, column, _ in known if line is not None and column is not None]
    ends = [(line, column) for _, line, _, column in known if line is not None and column is not None]
    inside = [begin for begin, end in zip(begins, ends, strict=True) if begin != end]  # of the body, not of its start
    return (*min(inside), *max(ends)) if inside else None


def _contains(body: ast.expr, span: CodeSpan | None) -> bool:
    if span is None:  # an interpreter without positions
        return True
    return (body.lineno, body.col_offset) <= span[:2] and span[2:] <= (body.end_lineno, body.end_col_offset)  # pyright: ignore[reportOperatorIssue]


def _size(node: ast.Lambda) -> tuple[int, int]:
    return (node.end_lineno or 0) - node.lineno, (node.end_col_offset or 0) - node.col_offset
