"""The result of a dry run of a dataset, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.core.blame import blames_of, note_blames, noting_blames
from penstock.core.frozen import frozen
from penstock.dryrun.dry_run import DryRun, DryRunStage
from penstock.elements.spec import Spec, describe
from penstock.lint.finding import Finding
from penstock.lint.rules import findings
from penstock.lint.written import Written
from penstock.ops.elementwise.map import Map
from penstock.plan.explain import DEEPEST_INDENT
from penstock.plan.graph import post_order
from penstock.plan.node import Node

_WIDEST = 48  # the most characters of an operation on one line with its result
_LONGEST = 100  # characters of an error's message


@frozen()
class OperationCheck:
    """The result of one operation in a dry run: its element's spec and the time for one element, or the error raised.

    If all of these are `None`, the dry run did not reach the operation.

    >>> first, second = Dataset.range(8).map(lambda x: 6 // x).check().operations
    >>> first.operation, first.element, second.error
    ('range(8)', int64, ZeroDivisionError('integer division or modulo by zero'))
    """

    operation: str
    element: Spec | None = None
    seconds: float | None = None
    error: Exception | None = None
    depth: int = 0


@frozen(repr=False)
class Check:
    """The result of `ds.check()`: every operation as written, with its element or error, and the findings of the lint.

    >>> print(Dataset.range(8).batch(4).shuffle().check())  # doctest: +ELLIPSIS
    operation one element  yields
    range(8)  ...          int64
    batch(4)  ...          int64[4]
    shuffle() ...          int64[4]
    PS101: shuffle() comes after batch(4) and moves whole batches: ...
    not ok: 1 warning; to silence it: ds.with_options(ps.Options(ignore_lint="PS101"))
    """

    operations: tuple[OperationCheck, ...]
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Return whether no operation failed, and iterating would warn of no finding."""
        return self._error is None and not any(finding.warns for finding in self.findings)

    @property
    def _error(self) -> OperationCheck | None:
        return next((each for each in self.operations if each.error is not None), None)

    def __str__(self) -> str:
        lines = [("operation", "one element", "yields"), *map(self._line, self.operations)]
        width = min(max(len(operation) for operation, _, _ in lines), _WIDEST)
        table: list[str] = []
        for operation, time, yields in lines:
            rest = f"  {time:>11}  {yields}"
            table += [f"{operation:<{width}}{rest}"] if len(operation) <= width else [operation, " " * width + rest]
        findings = [line for finding in self.findings for line in finding.lines]
        return "\n".join([*table, *findings, self._summary()])

    __repr__ = __str__

    def _line(self, made: OperationCheck) -> tuple[str, str, str]:
        if made.error is not None:
            yields = one_line(made.error)
        elif made.seconds is not None:
            yields = describe(made.element)
        else:
            yields = "not reached" if self._error is not None else "nothing"
        return "  " * min(made.depth, DEEPEST_INDENT) + made.operation, _time(made.seconds), yields

    def _summary(self) -> str:
        warnings = sum(finding.warns for finding in self.findings)
        remarks = len(self.findings) - warnings
        counts = [
            f"{count} {what}{'' if count == 1 else 's'}"
            for count, what in ((int(self._error is not None), "error"), (warnings, "warning"), (remarks, "remark"))
            if count
        ]
        summary = ": ".join([("ok" if self.ok else "not ok"), *([", ".join(counts)] if counts else [])])
        if not self.findings:
            return summary
        one = "it" if len(self.findings) == 1 else "one"
        return f'{summary}; to silence {one}: ds.with_options(ps.Options(ignore_lint="{self.findings[0].code}"))'


def checked(written: Written, bound: Node, rows: int) -> Check:
    """Return the results of a dry run of a plan, given as it was written and with its seeds bound."""
    with noting_blames():
        tried = list(zip(post_order(written.plan), DryRun(bound, rows).stages, strict=True))
    for _, stage in tried:
        if stage.error is not None:
            note_blames(stage.error)
    operations = tuple(_operations(tried))
    firsts = {id(node): stage.first for node, stage in tried if stage.element is not None}
    made = {id(node): stage.made for node, stage in tried}
    failed = any(_all_failed(node, made) for node, stage in tried if stage.error is None)
    return Check(operations, tuple(findings(written._replace(firsts=firsts, failed=failed))))


def _all_failed(node: Node, made: Mapping[int, int]) -> bool:
    """Return whether all elements of a node that makes one element from each failed and were left out."""
    is_called = isinstance(node, Map) and made.get(id(node)) == 0
    return is_called and any(made.get(id(below), 0) > 0 for below in node.inputs)


def _operations(tried: list[tuple[Node, DryRunStage]]) -> Iterator[OperationCheck]:
    """Yield one check for each operation as written; the internal operations below it count as a part of it."""
    seconds, error = [], None
    for node, stage in tried:
        seconds += [] if stage.seconds is None else [stage.seconds]
        error = stage.error if error is None else error
        if node.internal:
            continue
        took = sum(seconds) if stage.seconds is not None else None
        yield OperationCheck(node.label(), stage.element, took, error, stage.depth)
        seconds, error = [], None


def one_line(error: Exception) -> str:
    """Return the error's type, the first line of its message, and the place of the element at fault, if known."""
    message = (str(error).splitlines() or [""])[0]
    shown = message if len(message) <= _LONGEST else f"{message[: _LONGEST - 1]}…"
    place = next((blame.place for blame in blames_of(error) if blame.place is not None), None)
    return ": ".join(filter(None, [type(error).__name__, shown])) + ("" if place is None else f" (at {place})")


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"
