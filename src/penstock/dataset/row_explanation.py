"""The way of one element through the operations of a dataset, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from penstock.core.blame import note_blames
from penstock.core.errors import PlanError
from penstock.core.frozen import frozen
from penstock.core.seeds import Derived
from penstock.core.shown import ShownAsText, displayable
from penstock.dataset.check import one_line
from penstock.dryrun.row_stages import RowStage
from penstock.dryrun.row_trace import RowTrace
from penstock.dryrun.summary import summary
from penstock.elements.spec import Spec, describe, spec_of
from penstock.ops.buffer.options import WithOptions
from penstock.ops.buffer.prefetch import Prefetch
from penstock.plan.explain import DEEPEST_INDENT
from penstock.plan.locate import place_of, records
from penstock.plan.node import Node

_MOST_ELEMENTS = 3  # of one operation that are shown
_MOST_ROWS = 8  # that are named
_MOST_RECORDS = 3
NAMELESS = ("range", "counter", "random")  # sources whose records are numbers
_WIDEST = 48  # characters of an operation on one line with its elements
_LONGEST = 100  # characters of the specs and values of an element


@frozen()
class OperationOnRow:
    """The result of one operation for an element: the first of its elements, and their number.

    `rows` names the rows of these elements, if they are known. `draws` are the random generators that the operation
    received, with their calls; `left_out` are the rows that it dropped. If it is not `reached`, an operation below
    failed or made no element. If it is not `followed`, `why_not` gives the reason: it needs more rows than one, or an
    operation above it keeps elements for later.

    >>> source, kept = Dataset.range(8).filter(lambda x: x > 3).explain(input_row=2).operations
    >>> source.rows, source.elements, kept.elements, kept.left_out
    ('row 2', (2,), (), ('left out: row 2',))
    """

    operation: str
    rows: str = ""
    made: int = 0
    elements: tuple[Any, ...] = ()
    draws: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    error: Exception | None = None
    reached: bool = True
    why_not: str = ""
    depth: int = 0

    @property
    def followed(self) -> bool:
        """Return whether the elements shown are those of this row."""
        return not self.why_not

    @property
    def element(self) -> Spec | None:
        """Return the spec of the first element; `None` without one."""
        return spec_of(self.elements[0]) if self.elements else None


@frozen(repr=False)
class RowExplanation(ShownAsText):
    """The result of `ds.explain(row=)`: what each operation made of a row, from the sources up.

    `records` are the source records that the row is made from, if they have names. As text it is a table.

    >>> explained = Dataset.range(8).skip(2).map(lambda x: x * x).explain(row=1)
    >>> explained.element, [operation.elements for operation in explained.operations]
    (9, [(3,), (3,), (9,)])
    """

    place: str
    operations: tuple[OperationOnRow, ...]
    elements: tuple[Any, ...]
    records: tuple[str, ...] = ()

    @property
    def error(self) -> Exception | None:
        """Return the error that an operation raised, if any."""
        return next((each.error for each in self.operations if each.error is not None), None)

    @property
    def element(self) -> Any:
        """Return the element that the dataset yields; the error of the operation that failed is raised."""
        if self.error is not None:
            raise self.error
        if len(self.elements) != 1:
            raise PlanError(f"{self.place} became {len(self.elements)} elements: see `elements`")
        return self.elements[0]

    def __str__(self) -> str:
        made_from = f", made from {', '.join(self.records)}" if self.records else ""
        lines = [_line(operation) for operation in self.operations]
        width = min(max((len(line[0]) for line in lines), default=0), _WIDEST)
        rows = max((len(line[1]) for line in lines), default=0)
        text = [f"{self.place}{made_from}:"]
        indent = " " * (width + rows + 4)
        for (name, place, told), operation in zip(lines, self.operations, strict=True):
            first, *others = told
            beside = name if len(name) <= width else ""
            text += [] if beside else [name]
            text.append(f"{beside:<{width}}  {place:<{rows}}  {first}".rstrip())
            text += [f"{indent}{other}" for other in others]
            text += [f"{indent}{other}" for other in _notes(operation)]
        return displayable("\n".join(text))


def row_explanation(trace: RowTrace, place: str, found: Sequence[str]) -> RowExplanation:
    """Return the explanation that a trace gives."""
    for stage in trace.stages:
        if stage.error is not None:
            note_blames(stage.error)
    return RowExplanation(place, tuple(_operations(trace)), tuple(trace.elements), tuple(found))


def named_records(plan: Node, row: int) -> list[str]:
    """Return the names of the first records that a row of an indexed plan is made from, if they have names."""
    found = list(islice(records(plan, np.array([row], np.int64)), _MOST_RECORDS + 1))
    names = [record.name for record in found if record.source.partition("(")[0] not in NAMELESS]
    return names[:_MOST_RECORDS] + ["…"] * (len(names) > _MOST_RECORDS)


def _operations(trace: RowTrace) -> Iterator[OperationOnRow]:
    """Yield one entry for each operation as written; the internal operations below it count as a part of it."""
    wanted = _ids(trace)
    parts: list[RowStage] = []
    for stage, of in zip(trace.stages, wanted, strict=True):
        parts.append(stage)
        if stage.node.internal:
            continue
        if not isinstance(stage.node, WithOptions | Prefetch):
            yield _operation(parts, of)
        parts = []


def _ids(trace: RowTrace) -> list[int | None]:
    """Return for each stage the id of the element that becomes the followed one, where ids are kept."""
    found: list[int | None] = []
    wanted, reader = trace.wanted, None
    for stage in reversed(trace.stages):
        if reader is not None and (reader.node.traits.ids != "kept" or len(reader.node.inputs) != 1):
            wanted = None
        found.append(wanted if not stage.node.indexed else None)
        reader = stage
    return found[::-1]


def _operation(parts: list[RowStage], wanted: int | None) -> OperationOnRow:
    stage = parts[-1]
    if stage.why_not:
        return OperationOnRow(stage.operation, why_not=stage.why_not, depth=stage.depth)
    made = list(zip(stage.ids, stage.elements, strict=True))
    if wanted is not None and any(number == wanted for number, _ in made):
        made = [(number, element) for number, element in made if number == wanted]
    count = stage.made if len(made) == len(stage.ids) else len(made)
    draws = [str(each) for part in parts for each in part.draws if wanted is None or each.row == wanted]
    errors = dict.fromkeys(one_line(error) for part in parts for error in part.caught if stage.error is None)
    failed = [
        f"failed and left out: {text}" for text in (*errors, *(str(each) for part in parts for each in part.failures))
    ]
    dropped = [] if failed else [(part.node, row) for part in parts for row in part.left_out]
    left_out = [f"left out: {_rows(dropped[0][0], [row for _, row in dropped])}"] if dropped else []
    seed = getattr(stage.node, "seed", None)
    if isinstance(seed, Derived) and seed.written is None and not draws:
        draws = [f"seed {int(seed)}, drawn for this dataset"]
    return OperationOnRow(
        stage.operation,
        _rows(stage.node, [number for number, _ in made], count),
        count,
        tuple(element for _, element in made),
        tuple(draws[:_MOST_ELEMENTS]),
        (*failed[:_MOST_ELEMENTS], *left_out),
        next((part.error for part in parts if part.error is not None), None),
        stage.reached or bool(errors),
        stage.why_not,
        stage.depth,
    )


def _rows(node: Node, ids: list[int], count: int | None = None) -> str:
    """Return the rows or elements with these ids, the first of `count`; nothing if they are not counted."""
    places = [place_of(node, number) for number in ids[:_MOST_ROWS]]
    known = [place for place in places if place is not None]
    if not known or len(known) < len(places):
        return ""
    if len(known) == 1:
        return f"{known[0].unit} {known[0].number}" + (f" of epoch {known[0].epoch}" if known[0].epoch else "")
    numbers, total = [place.number for place in known], count or len(ids)
    if numbers == list(range(numbers[0], numbers[0] + len(numbers))) and total == len(ids) == len(numbers):
        return f"{known[0].unit}s {numbers[0]} to {numbers[-1]}"
    more = f" and {total - 3} more" if total > 3 else ""
    return f"{known[0].unit}s {', '.join(map(str, numbers[:3]))}{more}"


def _line(operation: OperationOnRow) -> tuple[str, str, list[str]]:
    """Return the name, the rows, and the lines about the first elements."""
    name = "  " * (min(operation.depth, DEEPEST_INDENT) + 1) + operation.operation
    if operation.error is not None:
        return name, "", [one_line(operation.error)]
    if not operation.followed:
        return name, "", [f"not followed: {operation.why_not}"]
    if not operation.reached:
        return name, "", ["not reached"]
    if not operation.elements:
        return name, "", ["no element"]
    told = [_cut(f"{describe(spec_of(each))}  {summary(each)}") for each in operation.elements[:_MOST_ELEMENTS]]
    more = operation.made - len(told)
    return name, operation.rows, told + ([f"… and {more:,} more"] if more > 0 else [])


def _notes(operation: OperationOnRow) -> list[str]:
    return [f"  {note}" for note in (*operation.draws, *operation.left_out)]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
