"""The result of a rule, with its full description."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.plan.node import Node


@dataclass(frozen=True)
class Finding:
    """One place of a plan that is probably a mistake.

    `message` names the operation as it was written, and says why it matters and what to write instead; `warns` is true
    if the first iterator warns of the finding, false if only `ds.check()` shows it. A finding `of` one of the user's
    objects is reported once for all datasets.

    >>> finding, *_ = Dataset.range(8).batch(4).shuffle().check().findings
    >>> finding.code, finding.operation, finding.warns
    ('PS101', 'shuffle()', True)
    """

    code: str
    operation: str
    message: str
    warns: bool
    explanation: str = field(repr=False)
    node: Node = field(repr=False, compare=False)
    of: Any = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"
