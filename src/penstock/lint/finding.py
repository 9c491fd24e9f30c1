"""What a rule has found, with all there is to say of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.plan.node import Node


@dataclass(frozen=True)
class Finding:
    """One place of a plan that is likely not what was meant.

    `message` names the operation as it was written, says why it matters and what to write instead; `warns` tells
    whether the first iterator warns of it, or only `ds.check()` shows it. What is said `of` an object of the user's is
    said once for all datasets.

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
