"""The limit of a run as a sentence with parts."""

from __future__ import annotations

from typing import Literal, Self, TypeAlias

VerdictKind: TypeAlias = Literal["early", "step", "transfer", "input", "storage", "gil", "memory"]


class Verdict(str):  # noqa: SLOT000 - its parts are in a dict, so that it can be pickled and reworded
    """The limit of a run in words, with its parts as attributes.

    - `kind`: `"step"` (the pipeline waits for the consumer), `"transfer"` (to a device), `"input"` (the work of the
      pipeline), `"storage"` (it mostly waits for a source), `"gil"` (its functions hold the GIL), `"memory"` (the
      memory budget keeps workers idle), or `"early"` (too early to say).
    - `operation`: the limiting operation. `operation_ceiling`: the items per second that it allows if the workers do
      nothing else. `next_operation`: the next limit.
    - `ceiling`: the items per second that the pipeline could make for a consumer that never stops.
    - `change`: the one thing to change, in words. `gain`: the factor by which the change is expected to raise the rate,
      or raises it at most, until the consumer's own step is the limit; 1 if no change helps.

    >>> verdict = Dataset.range(3).iterator().verdict()
    >>> verdict, verdict.kind, verdict.gain
    ('Too early to say: 0 elements in 0.00 s.', 'early', 1.0)
    """

    kind: VerdictKind
    operation: str
    operation_ceiling: float
    next_operation: str
    ceiling: float
    change: str
    gain: float

    def __new__(
        cls,
        text: str,
        kind: VerdictKind = "early",
        *,
        operation: str = "",
        operation_ceiling: float = 0.0,
        next_operation: str = "",
        ceiling: float = 0.0,
        change: str = "",
        gain: float = 1.0,
    ) -> Self:
        """Return the verdict with its parts."""
        made = super().__new__(cls, text)
        made.kind = kind
        made.operation = operation
        made.operation_ceiling = operation_ceiling
        made.next_operation = next_operation
        made.ceiling = ceiling
        made.change = change
        made.gain = gain
        return made

    def reworded(self, text: str, kind: VerdictKind | None = None) -> Self:
        """Return another text with the same parts, perhaps of another kind."""
        made = type(self)(text)
        vars(made).update(vars(self))
        made.kind = kind or self.kind
        return made
