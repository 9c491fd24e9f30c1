"""The result of a rule, with its full description."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from penstock.core.frames import Place
from penstock.core.frozen import frozen
from penstock.lint.fix import Fix
from penstock.plan.node import Node


@frozen()
class Finding:
    """One place of a plan that is probably a mistake.

    `message` names the operation as it was written, with the `reason` why it matters and the `change` to make; `warns`
    is true if the first iterator warns of the finding, false if only `ds.check()` shows it. `at` is the line that wrote
    the operation, if it is known, and `fix` the change of that source which `penstock check --fix` makes, if there is
    one; `unfixed` says why there is none. A finding `of` one of the user's objects is reported once for all datasets.

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
    reason: str = field(default="", repr=False, compare=False)
    change: str = field(default="", repr=False, compare=False)
    at: Place | None = field(default=None, repr=False, compare=False)
    fix: Fix | None = field(default=None, repr=False, compare=False)
    unfixed: str = field(default="", repr=False, compare=False)

    @property
    def line(self) -> str:
        """Return the file and the line that wrote the operation, such as `train.py:12`; empty if there is no file."""
        return "" if self.at is None or self.at.code.co_filename.startswith("<") else str(self.at)

    @property
    def lines(self) -> list[str]:
        """Return the text of the finding, and the line of the source with the effect of a fix."""
        fix = ""
        if self.fix is not None and self.fix.is_possible:
            fix = f"; `penstock check --fix` writes it: {self.fix.effect}"
        return [str(self), *([f"  at {self.line}{fix}"] if self.line else [])]

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"
