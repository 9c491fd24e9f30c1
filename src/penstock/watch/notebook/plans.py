"""A plan as a notebook shows it: its operations from the sources down, each with its elements."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from penstock.elements.spec import describe
from penstock.plan.graph import with_depth
from penstock.plan.node import Node
from penstock.plan.types import INFINITE, UNKNOWN
from penstock.watch.stats import cut

LONGEST_OPERATION = 90  # characters
LONGEST_SPEC = 160  # characters
OPERATIONS_DRAWN = 60
DEEPEST_INDENTED = 8  # steps of indentation


def plan_html(plan: Node) -> str:
    """Return a table of the operations as written; those at the end of a long plan are counted only."""
    shown = list(_rows(plan))
    rows = "".join(shown[:OPERATIONS_DRAWN])
    left = len(shown) - OPERATIONS_DRAWN
    more = f"<p class=soft>… and {left:,} more operations</p>" if left > 0 else ""
    return f"<div class=scroll><table class=pipe>{rows}</table></div>{more}"


def length_text(length: int) -> str:
    """Return the number of elements of a dataset in words.

    >>> length_text(1000), length_text(INFINITE), length_text(UNKNOWN)
    ('1,000', 'endless', 'unknown length')
    """
    return {INFINITE: "endless", UNKNOWN: "unknown length"}.get(length, f"{length:,}")


def _rows(plan: Node) -> Iterator[str]:
    for node, depth in with_depth(plan):
        if node.internal:
            continue
        spec = node.spec()
        element = "?" if spec is None else cut(describe(spec), LONGEST_SPEC)
        arrow = "" if not node.inputs else "↳ "
        yield (
            f'<tr><td style="padding-left:{8 + 16 * min(depth, DEEPEST_INDENTED)}px"><code>'
            f"{arrow}{escape(cut(node.label(), LONGEST_OPERATION))}</code></td>"
            f"<td class=soft>{length_text(node.length)} ×</td><td><code>{escape(element)}</code></td></tr>"
        )
