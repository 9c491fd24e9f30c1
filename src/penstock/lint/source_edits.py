"""Edits of Python source: the calls of a chain of methods in another order, and every other character as it was."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, cast

SourceEnd = tuple[int, int]
"""A line, from 1 on, and a column in bytes of UTF-8, as `ast` counts them."""

MOVABLE = frozenset(
    ["batch", "cache", "map", "padded_batch", "prefetch", "ragged_batch", "repeat", "shard", "shuffle", "with_options"]
)
"""Methods that a call may move past."""
_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_REST = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?=\r|\n|\Z)")
_EFFECTS = (ast.Call, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)


class EditError(Exception):
    """An edit that cannot be made with certainty; the text says why."""


class _Slot(NamedTuple):
    """The place of one call in a chain of methods: from its dot to its end."""

    call: ast.Call
    begin: int
    end: int


def with_call_moved(
    text: str, moved: SourceEnd, target: SourceEnd, *, before: bool, methods: tuple[str, str] | None = None
) -> str:
    r"""Return the source with one call of a chain of methods moved right before another one, or right after it.

    Calls are given by the position of their end, and perhaps by the names of their `methods`. The chain may go on in
    assignments to one name that follow one another. An `EditError` says why an edit is not certain to give the same
    program with the calls in that order.

    >>> with_call_moved("ds = a.repeat(3).cache()\n", (1, 24), (1, 16), before=True)
    'ds = a.cache().repeat(3)\n'
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise EditError(f"the file cannot be parsed: {error}") from None
    upper, lower = (moved, target) if before else (target, moved)
    chain = _chain(tree, _call_ending_at(tree, upper), _call_ending_at(tree, lower))
    ends = (chain[-1], chain[0]) if before else (chain[0], chain[-1])
    if methods is not None and methods != (_method(ends[0]), _method(ends[1])):
        raise EditError("other calls made these operations")
    order = [len(chain) - 1, *range(len(chain) - 1)] if before else [*range(1, len(chain)), 0]
    _check_order(chain, ends[0])
    slots = [_slot(text, call) for call in chain]
    made = _reordered(text, slots, order)
    told = [(_method(call), call.args, call.keywords) for call in chain]
    for call, at in zip(chain, order, strict=True):
        method, call.args, call.keywords = told[at]
        call.func.attr = method  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue] - of a chain
    try:
        is_same = ast.dump(ast.parse(made)) == ast.dump(tree)
    except SyntaxError:
        is_same = False
    if not is_same:
        raise EditError("the calls cannot be exchanged without changing the program in another way")
    return made


def with_argument_multiplied(text: str, end: SourceEnd, by: SourceEnd) -> tuple[str, SourceEnd]:
    r"""Return the source with the first argument of one call multiplied by that of another, and where that call ends.

    Calls are given by the position of their end; an `EditError` says that an argument is not written as a number.

    >>> with_argument_multiplied("ds = a.batch(10).shuffle(2)\n", (1, 27), (1, 16))
    ('ds = a.batch(10).shuffle(20)\n', (1, 28))
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise EditError(f"the file cannot be parsed: {error}") from None
    written, factor = (_first_number(_call_ending_at(tree, each)) for each in (end, by))
    begin, after = (_offset(text, place) for place in _place(written))
    made = f"{text[:begin]}{cast('int', written.value) * cast('int', factor.value)}{text[after:]}"
    moves_end = written.end_lineno == end[0]
    return made, (end[0], end[1] + (len(made) - len(text) if moves_end else 0))


def _first_number(call: ast.Call) -> ast.Constant:
    named = [each.value for each in call.keywords if each.arg in ("batch_size", "buffer_size")]
    first = next(iter([*call.args, *named]), None)
    if not isinstance(first, ast.Constant) or type(first.value) is not int:
        raise EditError(f"the size of {_method(call)}() is not written as a number, and counts batches where it stands")
    return first


def _place(node: ast.expr) -> tuple[SourceEnd, SourceEnd]:
    return (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)


def _call_ending_at(tree: ast.AST, end: SourceEnd) -> ast.Call:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (node.end_lineno, node.end_col_offset) == end:
            return node
    raise EditError(f"there is no call that ends in line {end[0]}")


def _chain(tree: ast.AST, upper: ast.Call, lower: ast.Call) -> list[ast.Call]:
    """Return the calls from the lower one up, each a method of the result of the one before it."""
    before = _assigned_before(tree)
    chain: list[ast.Call] = []
    names: set[str] = set()  # that several statements assign
    node: ast.expr | None = upper
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr not in MOVABLE:
            raise EditError(f"the call of {node.func.attr}() stands between")
        chain.append(node)
        if node is lower:
            if any(_reads(call, names) for call in chain):
                raise EditError("an argument reads the name that the calls are assigned to")
            return chain[::-1]
        below = node.func.value
        if isinstance(below, ast.Name):
            names.add(below.id)
        node = before.get(id(node)) if isinstance(below, ast.Name) else below
    raise EditError("the calls are not in one chain of methods")


def _assigned_before(tree: ast.AST) -> dict[int, ast.expr]:
    """Return for the first call in `x = x.f()...` the value that the statement right before it assigns to `x`."""
    found: dict[int, ast.expr] = {}
    for node in ast.walk(tree):
        for body in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            if not isinstance(body, list):
                continue
            for first, second in pairwise(body):
                name, value = _assignment(first)
                other, other_value = _assignment(second)
                call = _lowest_call(other_value)
                if name is not None and name == other and call is not None and value is not None:
                    base = call.func.value if isinstance(call.func, ast.Attribute) else None
                    if isinstance(base, ast.Name) and base.id == name:
                        found[id(call)] = value
    return found


def _assignment(statement: ast.stmt) -> tuple[str | None, ast.expr | None]:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id, statement.value
    return None, None


def _lowest_call(value: ast.expr | None) -> ast.Call | None:
    found = None
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        found, value = value, value.func.value
    return found


def _method(call: ast.Call) -> str:
    assert isinstance(call.func, ast.Attribute)  # noqa: S101 - of a chain
    return call.func.attr


def _check_order(chain: Sequence[ast.Call], moved: ast.Call) -> None:
    """Raise an error if the arguments of the moved call, and others, might do something when they are evaluated."""
    others = [call for call in chain if call is not moved]
    if any(isinstance(each, ast.NamedExpr) for call in chain for each in _within_arguments(call)):
        raise EditError("an argument assigns a variable, which a call that moves may read")
    if _has_effects(moved) and any(map(_has_effects, others)):
        raise EditError("the arguments of both calls call functions, whose order may matter")


def _has_effects(call: ast.Call) -> bool:
    return any(_acts(argument) for argument in (*call.args, *(keyword.value for keyword in call.keywords)))


def _reads(call: ast.Call, names: set[str]) -> bool:
    return any(isinstance(each, ast.Name) and each.id in names for each in _within_arguments(call))


def _within_arguments(call: ast.Call) -> Iterator[ast.AST]:
    for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
        yield from ast.walk(argument)


def _acts(argument: ast.expr) -> bool:
    """Return True if evaluating an argument might do something; the body of a lambda is not evaluated."""
    if isinstance(argument, ast.Lambda):
        return any(_acts(each) for each in (*argument.args.defaults, *filter(None, argument.args.kw_defaults)))
    return isinstance(argument, _EFFECTS) or any(
        _acts(child.value if isinstance(child, ast.keyword) else child)
        for child in ast.iter_child_nodes(argument)
        if isinstance(child, ast.expr | ast.keyword)
    )


def _slot(text: str, call: ast.Call) -> _Slot:
    below = call.func.value if isinstance(call.func, ast.Attribute) else call
    after = _offset(text, (below.end_lineno or 0, below.end_col_offset or 0))
    end = _offset(text, (call.end_lineno or 0, call.end_col_offset or 0))
    dot = _first_dot(text, after, end)
    return _Slot(call, dot, end)


def _first_dot(text: str, begin: int, end: int) -> int:
    """Return the place of the first dot, which comments and closing brackets may precede."""
    at = begin
    while at < end and text[at] != ".":
        comment = re.compile(r"#[^\r\n]*").match(text, at)
        at = comment.end() if comment else at + 1
    return at


def _offset(text: str, position: SourceEnd) -> int:
    """Return the place in the text of a position."""
    line, column = position
    begins = [match.start() for match in _LINES.finditer(text)]
    begin = begins[line - 1] if line <= len(begins) else len(text)
    return begin + len(text[begin:].encode()[:column].decode())


def _reordered(text: str, slots: Sequence[_Slot], order: Sequence[int]) -> str:
    """Return the text with the calls in other slots; comments that follow a call in its line move with it."""
    rests = [_REST.match(text, slot.end) for slot in slots]
    begin, last = slots[0].begin, slots[-1]
    comments = [at for at in _comments(text) if at >= begin and at < last.end]
    in_calls = [at for at in comments if any(slot.begin <= at < slot.end for slot in slots)]
    trailing = rests[-1] is not None and "#" in rests[-1][0] and _is_first_in_line(text, last.begin)
    ends = [slot.end for slot in slots]
    if len(comments) > len(in_calls) or trailing:
        followed = [at for rest in rests if rest is not None for at in comments if rest.start() <= at < rest.end()]
        if None in rests or len(followed) + len(in_calls) < len(comments):
            raise EditError("a comment stands between the calls")
        ends = [rest.end() for rest in rests if rest is not None]
    pieces = [text[slot.begin : end] for slot, end in zip(slots, ends, strict=True)]
    made, at = "", 0
    for slot, end, source in zip(slots, ends, order, strict=True):
        made += text[at : slot.begin] + pieces[source]
        at = end
    return made + text[at:]


def _is_first_in_line(text: str, at: int) -> bool:
    begin = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    return not text[begin:at].strip()


def _comments(text: str) -> list[int]:
    """Return the places of all comments."""
    tokens = tokenize.generate_tokens(io.StringIO(text, newline="").readline)
    begins = [match.start() for match in _LINES.finditer(text)]
    return [begins[token.start[0] - 1] + token.start[1] for token in tokens if token.type == tokenize.COMMENT]
