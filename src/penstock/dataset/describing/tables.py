"""A description as text and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from penstock.core.shown import displayable
from penstock.dataset.describing.description import CLASSES_SHOWN, TOO_MANY, Description, LeafDescription
from penstock.watch.notebook.counts import share_bar
from penstock.watch.notebook.frame import in_frame
from penstock.watch.sheet.roles import ROLE_NAMES, name_in
from penstock.watch.stats import cut, percent

LONGEST_CELL = 48  # characters
LONGEST_CLASS_NAME = 40
HEAD = ("leaf", "spec", "missing", "NaN", "infinite", "masked", "min", "mean", "max", "std", "lengths", "classes")
ALWAYS = 3  # columns that are shown even if empty
OF_TEXT = ("leaf", "spec", "lengths")  # others are of numbers


def description_text(described: Description) -> str:
    """Return a table with a line for each leaf, and the most frequent classes."""
    table = _table(described)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    aligned = [str.ljust if name in OF_TEXT else str.rjust for name in table[0]]
    lines = [
        "  ".join(align(cell, wide) for align, cell, wide in zip(aligned, row, widths, strict=True)).rstrip()
        for row in table
    ]
    names = described.class_names
    balances = [f"{leaf.name}: {_balance(leaf, names)}" for leaf in described.values() if _has_balance(leaf)]
    return displayable("\n".join([_title(described), *(lines if len(table) > 1 else []), *balances, *described.notes]))


def description_html(described: Description) -> str:
    """Return the table and a bar for each of the most frequent classes."""
    head, *rows = _table(described)
    lines = [f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>"]
    lines += [f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows]
    table = f"<div class=scroll><table class=facts>{''.join(lines)}</table></div>" if rows else ""
    bars = "".join(_bars(leaf, described.class_names) for leaf in described.values())
    notes = "".join(f"<p class=soft>{escape(note)}</p>" for note in described.notes)
    return in_frame(f"<p><b>{escape(_title(described))}</b></p>", table, bars, notes)


def _title(described: Description) -> str:
    return f"{described.elements:,} element{'' if described.elements == 1 else 's'}"


def _table(described: Description) -> list[list[str]]:
    """Return the head and a row for each leaf, without columns that are empty."""
    rows = [_row(leaf) for leaf in described.values()]
    kept = [at for at in range(len(HEAD)) if at < ALWAYS or any(row[at] for row in rows)]
    return [[row[at] for at in kept] for row in [list(HEAD), *rows]]


def _row(leaf: LeafDescription) -> list[str]:
    lengths = leaf.lengths
    has_floats = isinstance(leaf.min, float) or leaf.nan > 0
    return [
        cut(leaf.name, LONGEST_CELL),
        cut(", ".join(_specs(leaf)), LONGEST_CELL),
        f"{leaf.missing:,}",
        f"{leaf.nan:,}" if has_floats else "",
        f"{leaf.infinite:,}" if leaf.infinite else "",
        f"{leaf.masked:,}" if leaf.masked else "",
        number_text(leaf.min),
        number_text(leaf.mean),
        number_text(leaf.max),
        number_text(leaf.std),
        "" if lengths is None or _tells_length(leaf) else _lengths(lengths),
        TOO_MANY if leaf.too_many else f"{len(leaf.classes):,}" if leaf.classes else "",
    ]


def _tells_length(leaf: LeafDescription) -> bool:
    """Return whether the specs show the only length."""
    lengths = leaf.lengths
    return lengths is not None and lengths.min == lengths.max and all(f"[{lengths.min}" in each for each in leaf.specs)


def _specs(leaf: LeafDescription) -> list[str]:
    several = len(leaf.specs) > 1
    return [f"{spec} ({count:,})" if several else spec for spec, count in leaf.specs.items()] or ["None"]


def _lengths(lengths: Any) -> str:
    if lengths.min == lengths.max:
        return f"{lengths.min:,}"
    return f"{lengths.min:,}…{lengths.max:,}, mean {number_text(lengths.mean)}"


def number_text(value: Any) -> str:
    """Return a number in few characters, and integers as they are.

    >>> number_text(0.123456), number_text(3), number_text(None), number_text(2.0)
    ('0.1235', '3', '', '2')
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.4f}".rstrip("0").rstrip(".") if 0.001 <= abs(value) < 1e6 or value == 0 else f"{value:.4g}"
    if isinstance(value, complex):
        return f"{value:.4g}"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) < 10**12 else f"{float(value):.6g}"
    return str(value)


def _balance(leaf: LeafDescription, names: Sequence[str]) -> str:
    classes = _named(leaf, names)
    whole = sum(classes.values())
    shown = [
        f"{_class(value)} ({count:,}, {percent(count / whole)})"
        for value, count in list(classes.items())[:CLASSES_SHOWN]
    ]
    more = [f"and {len(classes) - CLASSES_SHOWN:,} more"] if len(classes) > CLASSES_SHOWN else []
    return ", ".join(shown + more)


def _has_balance(leaf: LeafDescription) -> bool:
    """Return whether classes are worth showing: not if all are different, such as ids."""
    classes = leaf.classes or {}
    return max(classes.values(), default=0) > 1


def _bars(leaf: LeafDescription, names: Sequence[str]) -> str:
    if not _has_balance(leaf):
        return ""
    classes = _named(leaf, names)
    whole, most = sum(classes.values()), max(classes.values())
    rows = "".join(
        f"<tr><td>{escape(_class(value))}</td><td>{count:,}</td><td>{100 * count / whole:.1f} %</td>"
        f'<td style="text-align:left">{share_bar(count / most)}</td></tr>'
        for value, count in list(classes.items())[:CLASSES_SHOWN]
    )
    left = len(classes) - CLASSES_SHOWN
    more = f"<p class=soft>and {left:,} more</p>" if left > 0 else ""
    return f"<h4>{escape(cut(leaf.name, LONGEST_CELL))}</h4><table>{rows}</table>{more}"


def _named(leaf: LeafDescription, names: Sequence[str]) -> dict[Any, int]:
    """Return the classes of a leaf by their names, if it is a label and all its numbers have one."""
    classes = leaf.classes or {}
    is_label = name_in(leaf.path) in ROLE_NAMES["label"]
    if not is_label or not all(type(each) is int and 0 <= each < len(names) for each in classes):
        return dict(classes)
    return {f"{names[int(each)]} [{each}]": count for each, count in classes.items()}


def _class(value: Any) -> str:
    text = value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
    text = text if text.isprintable() and text else repr(text)
    return cut(text, LONGEST_CLASS_NAME)
