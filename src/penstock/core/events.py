"""Events of a run: what happened to it that the data does not show."""

from __future__ import annotations

from penstock.core.frozen import frozen
from penstock.core.shown import without_credentials


@frozen()
class RunEvent:
    """An event of a run, such as a worker that died or a wait without end; the data is the same as without it.

    - `time`: when, in seconds as `time.time()` counts them.
    - `kind`: `"died"` (a process died and was replaced), `"broken"` (an executor broke and was replaced),
      `"stuck"` (the consumer waits, and nothing moves), `"degraded"` (the run continues without worker processes,
      or without shared memory), `"moved"` (worker processes make the elements instead of threads), or `"stayed"`
      (functions that hold the GIL are called by threads, although processes would help, for the reason given).
    - `operation`: the operation concerned, as `explain()` names it; empty if it is not known.
    - `rows`: the first item concerned and the one after the last, or `None`.
    - `words`: the event in words, with the Python stack of a thread that is stuck.

    >>> print(RunEvent(0.0, "broken", "map(decode)", (8, 12), "a worker died"))
    a worker died
    """

    time: float
    kind: str
    operation: str
    rows: tuple[int, int] | None
    words: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", without_credentials(self.words))  # of an error of the user's

    def __str__(self) -> str:
        return self.words
