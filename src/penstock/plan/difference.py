"""The difference between two plans: operations that were added, removed, moved or changed, and options."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, Literal, NamedTuple, TypeAlias

from penstock.core.digest import digest
from penstock.core.frozen import frozen
from penstock.core.options import Options
from penstock.core.shown import ShownAsText, displayable
from penstock.plan.changes import changes_of_field, shown_value
from penstock.plan.content.key import ValueContent, content_of_field, only_says_how, own_fields
from penstock.plan.fingerprint import fingerprint, node_digest
from penstock.plan.graph import post_order
from penstock.plan.node import Node

DiffKind: TypeAlias = Literal["equal", "removed", "added", "changed"]
_NO_ELEMENT = " (changes no element)"
_SHOWN_AROUND = 2  # equal operations that are shown beside others


@frozen()
class OperationDiff:
    """One operation of two datasets: as it is in the first (`before`) and in the second (`after`); `""` if it is not.

    `details` are lines about what changed: arguments, the code of functions, values that these read, data. One that is
    `moved` is in both, at another place. If it is not `counted`, the operation changes no element.

    >>> first, second = Dataset.range(9).batch(2).diff(Dataset.range(9).batch(3)).operations
    >>> first.kind, second.kind, second.details
    ('equal', 'changed', ('size: 2 → 3',))
    """

    before: str
    after: str
    details: tuple[str, ...] = ()
    moved: bool = False
    counted: bool = True

    @property
    def kind(self) -> DiffKind:
        """Return whether the operation was added, removed or changed, or is equal in both."""
        if not self.before or not self.after:
            return "removed" if self.before else "added"
        return "changed" if self.details else "equal"


@frozen(repr=False)
class PlanDiff(ShownAsText):
    """The result of `ds.diff(other)`, which is true if there is any difference.

    `operations` are those of both datasets, from the sources up; `options` are lines about the settings of a run, and
    `notes` facts that the operations do not show. As text, lines with `-` are only in the first dataset, those with `+`
    only in the second, and `~` marks an operation that reads the same and differs. `other_draws` are the operations
    without a seed of their own for which the datasets have other seeds, so elements differ even if plans are equal.

    >>> one, other = (Dataset.range(9).skip(count).batch(2) for count in (1, 2))
    >>> [(each.before, each.after) for each in one.diff(other).changed]
    [('skip(1)', 'skip(2)')]
    >>> one.diff(one), bool(one.diff(one))
    (the plans are equal, False)
    """

    operations: tuple[OperationDiff, ...]
    options: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    other_draws: tuple[str, ...] = ()

    @property
    def added(self) -> tuple[str, ...]:
        """Return the operations that only the second dataset has."""
        return tuple(each.after for each in self.operations if each.kind == "added")

    @property
    def removed(self) -> tuple[str, ...]:
        """Return the operations that only the first dataset has."""
        return tuple(each.before for each in self.operations if each.kind == "removed")

    @property
    def changed(self) -> tuple[OperationDiff, ...]:
        """Return the operations that both have, and that differ."""
        return tuple(each for each in self.operations if each.kind == "changed")

    def __bool__(self) -> bool:
        return bool(self.options) or any(each.kind != "equal" for each in self.operations)

    def __str__(self) -> str:
        notes = list(self.notes)
        if self.other_draws:
            notes.append(f"the elements differ: the datasets have other seeds for {', '.join(self.other_draws)}")
        if not self:
            return displayable("\n".join(["the plans are equal", *notes]))
        same = all(each.kind == "equal" or not each.counted for each in self.operations)
        equal = "operations" if self.other_draws else "elements"
        title = f"the {equal} are equal, and settings differ" if same else "- this dataset, + the other one"
        lines = [f"{title}:", *(() if same and not any(self._marked) else self._lines())]
        lines += [f"options: {', '.join(self.options)}"] if self.options else []
        return displayable("\n".join([*lines, *notes]))

    @property
    def _marked(self) -> list[bool]:
        return [each.kind != "equal" for each in self.operations]

    def _lines(self) -> list[str]:
        near = [
            any(self._marked[max(at - _SHOWN_AROUND, 0) : at + _SHOWN_AROUND + 1]) for at in range(len(self.operations))
        ]
        lines: list[str] = []
        hidden = 0
        for each, is_near in zip(self.operations, near, strict=True):
            if not is_near:
                hidden += 1
                continue
            lines += _hidden(hidden)
            hidden = 0
            lines += _told(each)
        return lines + _hidden(hidden)


def _hidden(count: int) -> list[str]:
    return [f"  … {count} equal operation{'s' if count > 1 else ''}"] if count else []


def _told(each: OperationDiff) -> list[str]:
    remarks = [*(["moved"] if each.moved else []), *([] if each.counted else ["changes no element"])]
    after = f"  ({', '.join(remarks)})" if remarks else ""
    if each.kind == "equal":
        other = "" if each.before == each.after else f"  ({each.after} in the other one, with equal code)"
        return [f"  {each.before}{other}"]
    if each.before == each.after:
        lines = [f"~ {each.before}{after}"]
    else:
        lines = [f"- {each.before}{after}"] if each.before else []
        lines += [f"+ {each.after}{after}"] if each.after else []
    return [*lines, *(f"    {detail}" for detail in each.details)]


class _Part(NamedTuple):
    """An operation with its internal parts, the contents of their fields, and a digest of these."""

    nodes: list[Node]
    contents: dict[tuple[int, str], ValueContent]
    token: str

    @property
    def node(self) -> Node:
        """The operation as written, of which the other nodes are parts."""
        return self.nodes[-1]

    @property
    def name(self) -> str:
        """The name of the operation without its arguments."""
        return self.node.name.partition("(")[0]

    @property
    def counted(self) -> bool:
        """True if elements depend on the operation."""
        return not only_says_how(self.node)


class _Plan:
    """The nodes of a plan that are compared one by one."""

    def __init__(self, plan: Node, known: dict[int, tuple[Any, ValueContent]]) -> None:
        self.plan = plan
        self._known = known
        nodes: list[Node] = []
        self.parts: list[_Part] = []
        for node in post_order(plan):
            nodes.append(node)
            if not node.internal:
                self.parts += [] if hasattr(node, "options") else [self._part(nodes)]
                nodes = []

    def _part(self, nodes: list[Node]) -> _Part:
        contents = {
            (at, name): self._content(name, value) for at, node in enumerate(nodes) for name, value in _fields(node)
        }
        told = [(name, each.digest, sorted(each.parts.items())) for name, each in contents.items()]
        kinds = [(node.kind, node_digest(node)) for node in nodes]
        return _Part(nodes, contents, digest(repr((kinds, told)).encode()))

    def _content(self, name: str, value: Any) -> ValueContent:
        key = id(value)
        if key not in self._known or self._known[key][0] is not value:
            self._known[key] = value, content_of_field(name, value, named=False)
        return self._known[key][1]


def plan_difference(one: Node, other: Node, options: tuple[Options, Options]) -> PlanDiff:
    """Return the difference between two plans, and between the options set in them."""
    known: dict[int, tuple[Any, ValueContent]] = {}
    plans = _Plan(one, known), _Plan(other, known)
    first, second = plans
    is_swapped = [part.token for part in second.parts] < [part.token for part in first.parts]  # so that it is symmetric
    pairs = _paired(*(reversed(plans) if is_swapped else plans))
    if is_swapped:
        pairs = [(after, before) for before, after in pairs]
    gone = {before.token for before, after in pairs if before is not None and after is None}
    new = {after.token for before, after in pairs if after is not None and before is None}
    operations = tuple(_operation(before, after, gone & new) for before, after in pairs)
    told = tuple(
        f"{field.name}: {shown_value(before)} → {shown_value(after)}"
        for field in fields(Options)
        if (before := getattr(options[0], field.name)) != (after := getattr(options[1], field.name))
    )
    counted = any(each.counted and each.kind != "equal" for each in operations)
    states_fit = counted and fingerprint(one) == fingerprint(other)
    notes = ("the fingerprints are equal: a state of one loads into the other",) if states_fit else ()
    return PlanDiff(operations, told, notes)


def _paired(first: _Plan, second: _Plan) -> list[tuple[_Part | None, _Part | None]]:
    """Return the nodes of two plans side by side: equal ones, those of one name between these, and the others alone."""
    pairs: list[tuple[_Part | None, _Part | None]] = []
    for kind, low, high, other_low, other_high in _matched(
        [part.token for part in first.parts], [part.token for part in second.parts]
    ):
        before, after = first.parts[low:high], second.parts[other_low:other_high]
        if kind == "equal":
            pairs += zip(before, after, strict=True)
            continue
        names = [part.name for part in before], [part.name for part in after]
        for same, from_, to, other_from, other_to in _matched(*names):
            if same == "equal":
                pairs += zip(before[from_:to], after[other_from:other_to], strict=True)
            else:
                pairs += [(part, None) for part in before[from_:to]]
                pairs += [(None, part) for part in after[other_from:other_to]]
    return pairs


def _matched(one: Sequence[str], other: Sequence[str]) -> Sequence[tuple[str, int, int, int, int]]:
    return difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes()


def _operation(before: _Part | None, after: _Part | None, moved: set[str]) -> OperationDiff:
    if before is None or after is None:
        alone = [
            OperationDiff("", part.node.label(), (), part.token in moved, part.counted)
            for part in (before, after)
            if part is not None
        ]
        return alone[0] if before is None else replace(alone[0], before=alone[0].after, after="")
    labels = before.node.label(), after.node.label()
    if before.token != after.token:
        details = tuple(_details(before, after))
    else:  # functions of other names are equal
        named = labels[0] == labels[1] or any(callable(_value(before, key)) for key in before.contents)
        details = () if named else (f"only its name differs{_NO_ELEMENT}",)
    counted = not details or any(not line.endswith(_NO_ELEMENT) for line in details)
    return OperationDiff(*labels, details, counted=counted)


def _details(before: _Part, after: _Part) -> list[str]:
    details: list[str] = []
    both = sorted(before.contents.keys() & after.contents.keys())
    unequal = [key for key in both if not before.contents[key].is_like(after.contents[key])]
    for key in unequal or [key for key in both if callable(_value(before, key))]:  # that only the fingerprint tells
        at, name = key
        told = _remainders(before.nodes[at], after.nodes[at]) if name == "mask_key" else []
        told = told or changes_of_field(name, (_value(before, key), _value(after, key)))
        counts = name in dict(own_fields(before.nodes[at]))
        details += told if counts else [f"{line}{_NO_ELEMENT}" for line in told]
    return details or ["a value that it uses cannot be compared, or has changed since its first use"]


def _remainders(*nodes: Node) -> list[str]:
    """Return the difference in the words of `remainder=`, if only one of two batches pads, and so has a mask."""
    padded = [getattr(node, "mask_key", None) is not None for node in nodes]
    if padded[0] == padded[1]:
        return []
    others = ["drop" if getattr(node, "drop_remainder", False) else "keep" for node in nodes]
    one, other = ("pad" if pads else kept for pads, kept in zip(padded, others, strict=True))
    return [f"remainder: {one!r} → {other!r}"]


def _value(part: _Part, key: tuple[int, str]) -> Any:
    at, name = key
    return getattr(part.nodes[at], name)


def _fields(node: Node) -> list[tuple[str, Any]]:
    """Return the fields of a node that are compared: those of its elements, and plain settings of the run."""
    own = own_fields(node)
    names = {name for name, _ in own}
    runs = [(field.name, getattr(node, field.name)) for field in fields(node) if field.metadata.get("runs")]
    return own + [(name, value) for name, value in runs if name not in names and _is_plain(value)]


def _is_plain(value: Any) -> bool:
    return isinstance(value, bool | int | float | str | None)
