"""The settings that a tuner has found for a pipeline, to be printed, saved, and used again as they are."""

from __future__ import annotations

import os
from dataclasses import asdict, fields
from typing import Any, Literal, Self, TypeAlias, get_args

from penstock.core.checks import check_local_path
from penstock.core.errors import PlanError
from penstock.core.frozen import frozen
from penstock.core.replacing import replacing

TUNING_FORMAT = "penstock tuning 1"
TunedExecutor: TypeAlias = Literal["inline", "threads", "processes"]


@frozen()
class TaskTuning:
    """The size and number of tasks of one stretch of a pipeline, which ends in `operation`.

    A task makes `items` items, or `beside` of them in a native thread; an item that is expensive is made in `parts`
    tasks. There are `ahead` tasks under way, and up to `spare` more while they are small.

    >>> print(TaskTuning("map(f)", items=8, beside=1, parts=1, ahead=5, spare=8))
    map(f): 8 items a task, 5 to 13 tasks ahead
    """

    operation: str
    items: int
    beside: int
    parts: int
    ahead: int
    spare: int

    def __str__(self) -> str:
        size = f"{self.items} item{'' if self.items == 1 else 's'} a task"
        if self.parts > 1:
            size = f"{self.parts} tasks an item"
        ahead = f"{self.ahead} to {self.ahead + self.spare}" if self.spare else f"{self.ahead}"
        return f"{self.operation}: {size}, {ahead} tasks ahead"


@frozen()
class Tuning:
    """The settings of a run, as the tuner has found them: `it.tuning()` returns them.

    - `executor`: `"inline"`, `"threads"` or `"processes"`. `workers`: their number.
    - `tasks`: the size and number of tasks of each stretch of the pipeline, from the sources up.
    - `cores`: the number of cores of the process that was measured. `operations`: the operations of the pipeline.
      `why`: the tuner's reasons.

    `Options(tuning=...)` uses the settings exactly, without measuring. The memory budget, and options that you set
    explicitly, such as `workers=`, take precedence. A tuning of a pipeline with other operations raises a `PlanError`.
    A tuning of a process with another number of cores is used, and `stats().events` reports it.

    >>> it = Dataset.range(100).batch(10).iterator()
    >>> batches = list(it)
    >>> tuned = it.tuning()
    >>> tuned.executor, tuned.workers, [each.operation for each in tuned.tasks]
    ('inline', 1, ['batch(10)'])
    >>> again = Dataset.range(100).batch(10).with_options(Options(tuning=tuned))
    >>> len(list(again))
    10
    """

    executor: TunedExecutor
    workers: int
    cores: float
    operations: tuple[str, ...]
    tasks: tuple[TaskTuning, ...]
    why: tuple[str, ...] = ()

    def __str__(self) -> str:
        unit = {"inline": "inline", "threads": "thread", "processes": "process"}[self.executor]
        many = {"thread": "threads", "process": "processes"}.get(unit, unit)
        where = unit if unit == many else f"{self.workers} {unit if self.workers == 1 else many}"
        cores = f"{self.cores:g} core{'' if self.cores == 1 else 's'}"
        lines = [f"{where}, of {cores}", *(f"  {each}" for each in self.tasks)]
        return "\n".join([*lines, *(f"because: {each}" for each in self.why)])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the settings to a file of JSON.

        >>> import os, tempfile
        >>> tuned = Tuning("threads", 4, 2.0, ("map(f)",), (TaskTuning("map(f)", 8, 1, 1, 9, 0),))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "tuned.json")
        ...     tuned.save(path)
        ...     Tuning.load(path) == tuned
        True
        """
        import json  # expensive to load, and rarely needed

        name = check_local_path("save", "path", path)
        with replacing(name) as beside, open(beside, "w", encoding="utf-8") as file:
            json.dump({"format": TUNING_FORMAT, **asdict(self)}, file, indent=1)
            file.write("\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read settings that `save` has written; a file with anything else is a `PlanError`."""
        import json  # the same

        with open(check_local_path("load", "path", path), encoding="utf-8") as file:
            text = file.read()
        try:
            return cls._of(json.loads(text))
        except (ValueError, TypeError, KeyError) as error:
            raise PlanError(
                f"{os.fspath(path)} is not a tuning that this version of Penstock can read ({error}): save it again "
                "with it.tuning().save(path)"
            ) from error

    @classmethod
    def _of(cls, found: dict[str, Any]) -> Self:
        if not isinstance(found, dict) or found.pop("format", None) != TUNING_FORMAT:
            raise ValueError(f"its format is not {TUNING_FORMAT!r}")
        tasks = tuple(TaskTuning(**task) for task in found.pop("tasks"))
        operations, why = tuple(found.pop("operations")), tuple(found.pop("why"))
        made = cls(tasks=tasks, operations=operations, why=why, **found)
        counts = [made.workers, *(getattr(task, field.name) for task in tasks for field in fields(task)[1:5])]
        if made.executor not in get_args(TunedExecutor):
            raise ValueError(f"its executor is {made.executor!r}")
        if not all(type(count) is int and count >= 1 for count in counts):
            raise ValueError("a count is not a whole number above 0")
        if not all(type(task.spare) is int and task.spare >= 0 for task in tasks):
            raise ValueError("a count is not a whole number")
        if type(made.cores) not in (int, float) or not 0 < made.cores < float("inf"):
            raise ValueError(f"its number of cores is {made.cores!r}")
        texts = [*operations, *why, *(task.operation for task in tasks)]
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("an operation name is not a string")
        return made

    def check(self, operations: tuple[str, ...]) -> None:
        """Raise a `PlanError` if the tuning is that of a pipeline with other operations."""
        if self.operations != operations:
            raise PlanError(
                f"Options(tuning=): it was found for {' → '.join(self.operations) or 'a source alone'}, and this "
                f"pipeline is {' → '.join(operations) or 'a source alone'}: leave it out, and save it.tuning() of this "
                "pipeline"
            )
