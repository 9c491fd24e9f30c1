"""Settings of a run, which never change what a pipeline yields, apart from the seed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Self

from penstock.core.attributes import meant
from penstock.core.checks import check_count, check_seed
from penstock.core.frozen import frozen
from penstock.core.renamed import hint_of
from penstock.core.shown import displayable
from penstock.core.sizes import check_bytes

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from penstock.core.tunings import Tuning

EXECUTORS = ("auto", "inline", "threads", "processes", "ray")  # by name
AUTOTUNE = -1
"""Let Penstock measure and choose, for any argument that is a count of calls or buffered elements."""


@frozen(kw_only=True)
class Options:
    """Settings of a run; `None` leaves the choice to Penstock, or to an option set nearer to the source.

    - `executor`: `"auto"` starts inline, and switches to threads when they are faster. It switches to worker processes
      if the functions hold the GIL and Penstock can verify from their code that they return the same results in
      another process. The other names are `"inline"`, `"threads"`, `"processes"` (worker processes, which write into
      memory shared with this one; functions are pickled with cloudpickle) and `"ray"` (a Ray cluster, as
      `ps.executors.ray()` uses it). You can also pass a `concurrent.futures.Executor`, which you must shut down
      yourself. Unless it is a `ThreadPoolExecutor`, Penstock assumes that it runs in other processes, and pickles the
      functions with cloudpickle. A function without arguments that returns an executor of processes is called once a
      run, and again if that executor breaks; Penstock shuts down the executors it returns.
    - `isolate`: `True` runs the whole pipeline in one process of its own, with these options, so that it never
      holds the GIL of the training loop. The elements and states are the same. Functions are pickled with cloudpickle,
      and what they change is changed in that process. A process that dies is replaced, and the run continues.
    - `workers`: the number of tasks that run at a time. Setting it skips the inline start of `"auto"`.
    - `cores`: the maximum number of cores for all threads and processes of the run, including the threads that native
      libraries start in them. The operating system enforces the limit. It does not apply to the consumer's thread,
      which makes cheap elements itself. Default: the cores available to this process.
    - `deterministic`: `False` yields batches as they are finished. Each batch still comes exactly once, also after a
      restore.
    - `native_threads`: threads that native libraries (OpenMP, BLAS, OpenCV, PyTorch) may start in each worker process.
      Default: one. A variable such as `OMP_NUM_THREADS` that is set already stays as it is.
    - `memory_budget`: the number of bytes, or a string such as `"2GB"`, that the run may hold in all its processes.
      Memory that idle processes use does not count, nor does the one item that the consumer holds or receives next.
      Near the limit, Penstock makes fewer items ahead, down to one. Caches in memory use at most half of the budget,
      and elements that do not fit are made again in each epoch. The shuffle buffer of a stream, `pack`, groups and
      keys cannot shrink: they raise a `BudgetError` if they do not fit. A single element that does not fit is made
      with no other task under way. Each worker of an executor that you pass may hold one more item. `BudgetWarning`
      and `stats().notes` report these cases. Default: a quarter of the memory available at the start, and up to half of
      that memory for caches; buffers above this default only cause a warning.
    - `stuck_after`: the number of seconds that the consumer may wait without progress. Penstock then logs a warning to
      `"penstock"` and adds an event to `stats()`. Both name the operation and show the Python stack of the blocked
      thread. The warning repeats after twice the time. If you set this option and `executor="processes"`, a worker that
      exceeds it for one element is ended, and its elements are made again. Default: 60; `math.inf` disables it.
    - `seed`: the seed from which every unseeded random operation derives its own. Default: drawn once for each dataset,
      and stored in its states.
    - `tuning`: the settings that `it.tuning()` or `ps.Tuning.load(path)` has returned. The run uses them instead of
      measuring again. Options that you set explicitly, such as `workers`, and the memory budget take precedence.
    - `rewrite`: `False` runs the plan as written, without the rewrites that `explain()` shows. A chain of image
      operations still runs as one kernel, because its pixels depend on that.
    - `ignore_lint`: codes of findings to silence in warnings and in `ds.check()`, such as `"PS101"` or `("PS101",
      "PS301")`; `"all"` for all of them. The setting applies to the whole pipeline, and codes add up.

    >>> Options(workers=2).merged(Options(seed=7))
    Options(workers=2, seed=7)

    >>> import os
    >>> ds = Dataset.range(9).map(lambda x: os.getpid()).batch(3).with_options(Options(isolate=True))
    >>> any(os.getpid() in batch for batch in ds)
    False
    """

    executor: str | Executor | Callable[[], Executor] | None = None
    isolate: bool | None = None
    workers: int | None = None
    cores: int | None = None
    deterministic: bool | None = None
    memory_budget: int | str | None = None
    native_threads: int | None = None
    stuck_after: float | None = None
    seed: int | None = None
    tuning: Tuning | None = None
    rewrite: bool | None = None
    ignore_lint: str | tuple[str, ...] = ()

    def __new__(cls, *args: object, **settings: object) -> Self:
        """Suggest a setting for an unknown name."""
        known = [field.name for field in fields(cls)]
        if args:
            raise TypeError(f"Options({args[0]!r:.60}): settings are keyword arguments, such as Options(workers=4)")
        for name in settings:
            if name not in known:
                told = hint_of("Options", name) or f"; {_meant(name, known)}"
                raise TypeError(f"Options({displayable(name):.80}=): there is no such setting{told}")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        if isinstance(self.executor, str) and self.executor not in EXECUTORS:
            raise ValueError(
                f"Options(executor={self.executor!r:.80}): expected 'auto', 'inline', 'threads', 'processes', "
                "'ray' or a concurrent.futures.Executor"
            )
        if isinstance(self.executor, type):
            name = self.executor.__name__
            raise TypeError(
                f"Options(executor={name}): this is a class, not an executor; make one, such as {name}(4), and shut it "
                f"down after the last iterator, or pass a function that makes one, such as lambda: {name}(4)"
            )
        runs = callable(getattr(self.executor, "submit", None)) or callable(self.executor)
        if not isinstance(self.executor, str | None) and not runs:
            raise TypeError(
                "Options(executor=): expected a name, a concurrent.futures.Executor, or a function that makes one, "
                f"not {type(self.executor).__name__}"
            )
        if self.workers is not None:
            check_count("Options", "workers", self.workers, least=1)
        for name in ("cores", "native_threads"):
            if getattr(self, name) is not None:
                check_count("Options", name, getattr(self, name), least=1)
        if self.memory_budget is not None:
            object.__setattr__(self, "memory_budget", check_bytes("Options", "memory_budget", self.memory_budget))
        if self.stuck_after is not None and not (isinstance(self.stuck_after, int | float) and self.stuck_after > 0):
            raise ValueError(f"Options(stuck_after=): expected seconds above 0, not {self.stuck_after!r}")
        for name in ("deterministic", "isolate", "rewrite"):
            if not isinstance(getattr(self, name), bool | None):
                raise TypeError(f"Options({name}=): expected True, False or None, not {getattr(self, name)!r}")
        self._check_elsewhere()
        if self.tuning is not None and not _is_tuning(self.tuning):
            raise TypeError(f"Options(tuning=): expected it.tuning() or Tuning.load(path), not {self.tuning!r:.60}")
        check_seed("Options", self.seed)
        object.__setattr__(self, "ignore_lint", _codes(self.ignore_lint))

    def _check_elsewhere(self) -> None:
        """Refuse settings that an executor of somebody else cannot obey."""
        passed = not isinstance(self.executor, str | None)
        if self.isolate and passed:
            raise ValueError(
                f"Options(executor=<{type(self.executor).__name__}>, isolate=True): the process of the pipeline cannot "
                "use an executor of this one; name one of 'auto', 'inline', 'threads' and 'processes'"
            )
        if self.cores is not None and (passed or self.executor == "ray"):
            raise ValueError(
                f"Options(cores={self.cores}): Penstock cannot limit the cores of Ray or of an executor that you pass; "
                "give it fewer workers or cores instead"
            )

    def ignores(self, code: str) -> bool:
        """Return whether findings with this code are silenced."""
        return code in self.ignore_lint or "all" in self.ignore_lint

    def merged(self, later: Options) -> Options:
        """Return these options, with every setting of `later` replacing the present one; ignored codes add up."""
        settings = {field.name: getattr(later, field.name) for field in fields(later)}
        settings["ignore_lint"] = (*self.ignore_lint, *later.ignore_lint)
        return replace(self, **{name: value for name, value in settings.items() if value is not None})

    def __repr__(self) -> str:
        settings = ((field.name, getattr(self, field.name)) for field in fields(self))
        made = ((name, value) for name, value in settings if value not in (None, ()))
        return f"Options({', '.join(f'{name}={_shown(value)}' for name, value in made)})"


_ELSEWHERE = {
    **dict.fromkeys(("num_workers", "n_workers", "num_threads", "threads", "num_parallel_calls"), "workers= sets it"),
    **dict.fromkeys(("prefetch", "prefetch_factor", "buffer_size"), "ds.prefetch(n) sets it"),
    **dict.fromkeys(("batch_size", "drop_last"), "ds.batch(size, drop_remainder=...) sets it"),
    **dict.fromkeys(("shuffle", "sampler"), "ds.shuffle() sets it"),
    "pin_memory": "feeds such as ds.to_torch() place batches",
}


def _meant(name: str, known: list[str]) -> str:
    """Return advice for an unknown setting: the one that was probably meant, or all of them."""
    if name in _ELSEWHERE:
        return _ELSEWHERE[name]
    alike = meant(name, known)
    return f"did you mean {alike}=?" if alike else f"expected {', '.join(known)}"


def _shown(value: object) -> str:
    """Return the text of a setting; an executor is shown by its type, since its address does not help."""
    return repr(value) if isinstance(value, bool | int | float | str | tuple) else f"<{type(value).__name__}>"


def _codes(ignored: Any) -> tuple[str, ...]:
    """Return the codes to ignore, each once."""
    given = (ignored,) if isinstance(ignored, str) or not isinstance(ignored, Iterable) else tuple(ignored)
    for code in given:
        if not isinstance(code, str):
            kind = type(code).__name__
            raise TypeError(f"Options(ignore_lint={ignored!r}): expected codes such as 'PS101', not {kind}")
        if code != "all" and re.fullmatch(r"PS\d{3}", code) is None:
            raise ValueError(
                f"Options(ignore_lint={ignored!r}): {code!r} is not a code; expected 'all' or codes such as 'PS101'"
            )
    return tuple(dict.fromkeys(given))


def _is_tuning(value: object) -> bool:
    from penstock.core.tunings import Tuning  # rarely given, and takes a millisecond or two to load

    return isinstance(value, Tuning)
