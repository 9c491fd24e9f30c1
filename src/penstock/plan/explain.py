"""A plan in words, for a person to read."""

from __future__ import annotations

from penstock.elements.spec import describe
from penstock.plan.graph import fold
from penstock.plan.node import INFINITE, Node

Line = tuple[str, str, str]  # operation, rows, element


def explained(plan: Node, run: Node | None, applied: tuple[str, ...]) -> str:
    """The plan as written; what is run in its place, and by which rewrites, where they changed something."""
    written = _lines(plan)
    made = _lines(run) if run is not None else []
    width = max(len(line[0]) for line in written + made) + 2
    width = max(width, 24)
    parts = [*_table("as written", written, width)]
    if applied and run is not None:
        parts += [*_table("as run", made, width), f"rewrites: {', '.join(dict.fromkeys(applied))}"]
    else:
        parts.append("rewrites: none")
    parts.append("order: indexed; any row can be made alone, and skipping costs nothing")
    return "\n".join(parts)


def _lines(plan: Node) -> list[Line]:
    def combine(node: Node, inputs: tuple[list[Line], ...]) -> list[Line]:
        above = [line for one in inputs for line in one]
        if len(inputs) > 1:  # each input on its own, one step in
            above = [(f"  {name}", rows, element) for name, rows, element in above]
        spec = node.spec()
        rows = "endless" if node.length == INFINITE else f"{node.length:,}"
        return [*above, (node.label(), rows, "?" if spec is None else describe(spec))]

    return fold(plan, combine)


def _table(title: str, lines: list[Line], width: int) -> list[str]:
    table = [(title, "rows", "element"), *lines]
    return [f"{name:<{width}}{rows:>8}  {element}" for name, rows, element in table]
