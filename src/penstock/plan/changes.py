"""The change of one field of a node in words: an argument, the code of a function, values that it reads, data."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from penstock.elements.nested.structure import Structure, flatten, paths, unflatten
from penstock.plan.content.key import ValueContent, changed_parts, content_of_field
from penstock.plan.functions import name_of
from penstock.plan.source_text import source_text
from penstock.sources.powers import content_of_source, paths_of

MOST_LINES = 40  # of one unified diff
_LONGEST = 60  # characters of a value
_MOST_NAMED = 3  # files, and leaves of data
_CONSTANTS = (bool, int, float, complex, str, bytes, type(None))


def changes_of_field(
    name: str, values: tuple[Any, Any], before: ValueContent | None = None, after: ValueContent | None = None
) -> list[str]:
    """Return lines about the change of a field of a node.

    >>> changes_of_field("count", (3, 4))
    ['count: 3 → 4']
    """
    one, other = values
    if name == "source":
        return list(_of_sources(one, other))
    if callable(one) and callable(other):
        contents = before or content_of_field(name, one), after or content_of_field(name, other)
        return list(_of_functions(one, other, *contents))
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return [f"{name}: {_of_arrays(one, other)}"]
    texts = shown_value(one), shown_value(other)
    if texts[0] != texts[1]:
        return [f"{name}: {texts[0]} → {texts[1]}"]
    return [f"{name}: {line}" for line in _of_data(one, other)] or [f"{name} differs"]


def shown_value(value: Any) -> str:
    """Return a value in few characters."""
    text = name_of(value) if isinstance(value, FunctionType) else " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _of_functions(one: Any, other: Any, before: ValueContent, after: ValueContent) -> Iterator[str]:
    """Yield what differs in two functions: values that they read, and a diff of their source, if it can be found."""
    if type(one) is not type(other):
        kinds = _kind(one), _kind(other)
        where = [f" of {type(each).__module__}" if kinds[0] == kinds[1] else "" for each in (one, other)]
        yield f"{kinds[0]}{where[0]} → {kinds[1]}{where[1]}"
    named = _pairs_of_things(one, other, before, after)
    told = {name for pair in named for name, _ in pair}
    parts = changed_parts(before.parts, after.parts)
    yield from (clause for clause in parts if not _is_about(clause, told))
    for (name, first), (other_name, second) in named:
        yield from _of_code(name, first, other_name, second)
    if not isinstance(one, FunctionType | MethodType):
        yield from _of_callables(one, other)


def _kind(function: Any) -> str:
    """Return the name of a function with its kind; of a partial, the name of the function that it calls."""
    called = f" of {_kind(function.func)}" if isinstance(function, functools.partial) else ""
    return f"{name_of(function)} ({type(function).__name__}){called}"


def _is_about(clause: str, names: set[str]) -> bool:
    return any(clause in (f"{name} changed", f"{name} is new", f"{name} is gone") for name in names)


def _pairs_of_things(
    one: Any, other: Any, before: ValueContent, after: ValueContent
) -> list[tuple[tuple[str, Any], tuple[str, Any]]]:
    """Return the functions and classes, with the names of their parts, whose text differs; both functions first."""
    pairs: list[tuple[tuple[str, Any], tuple[str, Any]]] = []
    tops = [
        next(
            ((name, thing) for name, thing in content.things.items() if thing is _plain(value)),
            (f"the function {name_of(value)}", _plain(value)),
        )
        for value, content in ((one, before), (other, after))
    ]
    if all(isinstance(thing, FunctionType) for _, thing in tops):
        pairs.append((tops[0], tops[1]))
    known = {name for pair in pairs for name, _ in pair}
    for name, thing in before.things.items():
        if name not in known and name in after.things and before.parts.get(name) != after.parts.get(name):
            pairs.append(((name, thing), (name, after.things[name])))
    return pairs


def _plain(function: Any) -> Any:
    """Return the Python function of a method, or the function itself."""
    return function.__func__ if isinstance(function, MethodType) else function


def _of_code(name: str, one: Any, other_name: str, other: Any) -> Iterator[str]:
    sources = source_text(one), source_text(other)
    if sources[0] is not None and sources[1] is not None:
        if sources[0] != sources[1]:
            lines = difflib.unified_diff(
                sources[0].splitlines(), sources[1].splitlines(), name, other_name, lineterm="", n=2
            )
            shown = list(lines)
            yield from shown[:MOST_LINES]
            if len(shown) > MOST_LINES:
                yield f"… and {len(shown) - MOST_LINES} more lines"
            return
        return
    codes = getattr(one, "__code__", None), getattr(other, "__code__", None)
    if not isinstance(codes[0], CodeType) or not isinstance(codes[1], CodeType):
        yield f"{name} differs"
        return
    if _facts(codes[0]) == _facts(codes[1]):
        return
    yield f"{name}: its code differs, and its source cannot be found"
    yield from _of_constants(codes[0], codes[1])


def _facts(code: CodeType) -> Any:
    """Return what a code does, without its lines."""
    inner = [_facts(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts]
    return code.co_code, code.co_names, code.co_varnames, inner


def _of_constants(one: CodeType, other: CodeType) -> Iterator[str]:
    """Yield the constants and names that only one of two codes has."""
    for what, before, after in (
        ("constants", _constants_of(one), _constants_of(other)),
        ("names", [*one.co_names, *one.co_varnames], [*other.co_names, *other.co_varnames]),
    ):
        gone, new = [each for each in before if each not in after], [each for each in after if each not in before]
        if gone or new:
            yield f"  {what}: {', '.join(gone) or 'none'} → {', '.join(new) or 'none'}"


def _constants_of(code: CodeType) -> list[str]:
    inner = [text for each in code.co_consts if isinstance(each, CodeType) for text in _constants_of(each)]
    return [shown_value(each) for each in code.co_consts if isinstance(each, _CONSTANTS)] + inner


def _of_callables(one: Any, other: Any) -> Iterator[str]:
    """Yield what differs in two callable objects: partials, declarative operations, objects with attributes."""
    if type(one) is not type(other):
        return
    for name, (before, after) in _attributes(one, other).items():
        if before is after or content_of_field(name, before).is_like(content_of_field(name, after)):
            continue
        yield from changes_of_field(name, (before, after))


def _attributes(one: Any, other: Any) -> Mapping[str, tuple[Any, Any]]:
    """Return the parts of two objects of one type, by name."""
    if isinstance(one, functools.partial):
        told = [
            {"function": each.func, **{f"argument {at}": value for at, value in enumerate(each.args)}, **each.keywords}
            for each in (one, other)
        ]
    elif is_dataclass(one):
        told = [{field.name: getattr(each, field.name) for field in fields(one)} for each in (one, other)]
    else:
        told = [dict(getattr(each, "__dict__", {})) for each in (one, other)]
    first, second = told
    missing = "nothing"
    return {name: (first.get(name, missing), second.get(name, missing)) for name in dict.fromkeys([*first, *second])}


def _of_sources(one: Any, other: Any) -> Iterator[str]:
    """Yield the files that only one of two sources reads, or what differs in their data."""
    files = [list(paths_of(each)) for each in (one, other)]
    gone = [path for path in files[0] if path not in set(files[1])]
    new = [path for path in files[1] if path not in set(files[0])]
    for sign, paths_ in (("-", gone), ("+", new)):
        yield from (f"{sign} {path}" for path in paths_[:_MOST_NAMED])
        if len(paths_) > _MOST_NAMED:
            yield f"{sign} and {len(paths_) - _MOST_NAMED:,} more files"
    if gone or new:
        return
    if files[0] != files[1]:
        yield "the files come in another order"
        return
    contents = content_of_source(one), content_of_source(other)
    if contents[0] is None or contents[1] is None:
        parts = [] if type(one) is not type(other) else list(_public_attributes(one, other))
        yield from parts or ["the source differs"]
        return
    data = [_named(contents[0]()), _named(contents[1]())]
    yield from [f"data{line}" for line in _of_data(*data)] or ["the data differs"]


def _named(content: Any) -> Any:
    """Return the data of a source as it is nested; the content of arrays is a structure and a column for each leaf."""
    if isinstance(content, tuple) and len(content) == 2 and isinstance(content[0], Structure):
        return unflatten(*content)
    return content


def _public_attributes(one: Any, other: Any) -> Iterator[str]:
    for name, (before, after) in _attributes(one, other).items():
        if not name.startswith("_") and name != "name" and isinstance(before, _CONSTANTS) and before != after:
            yield f"{name}: {shown_value(before)} → {shown_value(after)}"


def _of_data(one: Any, other: Any) -> list[str]:
    """Return what differs in two nestings of values, leaf by leaf."""
    leaves, structure = flatten(one)
    others, other_structure = flatten(other)
    if structure != other_structure:
        counts = [len(each) if isinstance(each, list | tuple | dict) else None for each in (one, other)]
        if None not in counts and counts[0] != counts[1]:
            return [f" has {counts[0]:,} → {counts[1]:,} values"]
        return [f" has another structure: {str(structure)[:_LONGEST]} → {str(other_structure)[:_LONGEST]}"]
    told: list[str] = []
    for path, before, after in zip(paths(structure), leaves, others, strict=True):
        if before is after or content_of_field(path, before).is_like(content_of_field(path, after)):
            continue
        if isinstance(before, np.ndarray) and isinstance(after, np.ndarray):
            told.append(f"{path}: {_of_arrays(before, after)}")
        else:
            told.append(f"{path}: {shown_value(before)} → {shown_value(after)}")
    more = len(told) - _MOST_NAMED
    return told[:_MOST_NAMED] + ([f" and {more:,} more values differ"] if more > 0 else [])


def _of_arrays(one: np.ndarray, other: np.ndarray) -> str:
    kinds = [f"{each.dtype}{list(each.shape)}" for each in (one, other)]
    if kinds[0] != kinds[1]:
        return f"{kinds[0]} → {kinds[1]}"
    differ = one != other
    if one.dtype.kind in "fc":
        differ &= ~(np.isnan(one) & np.isnan(other))
    count = int(np.count_nonzero(differ))
    if not count:
        return f"{kinds[0]} differs in the bits of equal values"
    first = tuple(int(at) for at in np.argwhere(differ)[0]) if one.ndim else ()
    return f"{kinds[0]}: {count:,} of {one.size:,} values differ, first at {list(first)}: {one[first]} → {other[first]}"
