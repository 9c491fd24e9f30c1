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

    - `executor`: `"auto"` (start inline, move to threads when that pays off, and to worker processes if the functions
      hold the GIL and their code shows that they make the same there), `"inline"`, `"threads"`, `"processes"` (worker
      processes that write into memory shared with this one; functions are pickled with cloudpickle), `"ray"` (a Ray
      cluster, as `ps.executors.ray()` uses it), or any `concurrent.futures.Executor`; one that is not a
      `ThreadPoolExecutor` is assumed to run in other processes, so the pipeline's functions are pickled with
      cloudpickle. The caller must shut the executor down. A function without arguments that returns an executor of
      processes is called once a run, and again if that executor breaks; Penstock shuts down the executors it makes.
    - `isolate`: `True` runs the whole pipeline in one process of its own, with these options, so that it never
      holds the GIL of the training loop. The elements and states are the same. Functions are pickled with cloudpickle,
      and what they change is changed in that process. A process that dies is replaced, and the run continues.
    - `workers`: how many tasks run at a time. Setting it skips the inline start of `"auto"`.
    - `cores`: the most cores that all threads and processes of the run may use together, with the threads that native
      libraries start in them; the system keeps them there. The tuner, too, has no more. The thread that asks for
      elements is not bound: it makes cheap ones itself. Default: those of this process.
    - `deterministic`: `False` yields batches as they are finished. Each batch still comes exactly once, also after a
      restore.
    - `native_threads`: threads that native libraries (OpenMP, BLAS, OpenCV, PyTorch) may start in each worker process.
      Default: one. A variable such as `OMP_NUM_THREADS` that is set already stays as it is.
    - `memory_budget`: bytes, or a text such as `"2GB"`, that everything a run holds may take together, in all its
      processes, above what they have when idle; and one item more, which the consumer has or is about to get. Work
      ahead shrinks, down to one item. Caches in memory keep up to half of it, and make further elements anew. A shuffle
      buffer of a stream, `pack`, groups and keys that do not fit raise a `BudgetError`, because they cannot shrink; a
      single element that does not fit comes alone. Each worker of an executor that you pass may have one item more in
      hand. `BudgetWarning` and `stats().notes` say so. Default: a quarter of the memory available at the start, apart
      from caches, which may keep half of that memory; then buffers above the limit only warn.
    - `stuck_after`: seconds. If the consumer waits for so long, and nothing moves meanwhile, a warning in the log of
      `"penstock"` and an event in `stats()` name the operation, with the Python stack of the thread that is stuck, and
      again after twice the time. Default: 60; `math.inf` for never.
    - `seed`: the seed from which every unseeded random operation derives its own. Default: drawn once for each dataset,
      and kept in its states.
    - `tuning`: the settings that `it.tuning()` or `ps.Tuning.load(path)` has returned, used as they are instead of
      being found again. Options that are set themselves, such as `workers`, and the memory budget, come before them.
    - `rewrite`: `False` runs the plan as written, without the rewrites that `explain()` shows; a chain of image
      operations is one kernel even so, as its pixels depend on that.
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
            raise TypeError(f"Options({args[0]!r:.60}): each setting is named, such as Options(workers=4)")
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
                f"Options(cores={self.cores}): the workers of an executor that was passed, or of Ray, run where that "
                "has started them; give it fewer workers or cores instead"
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
    """Return the text of a setting; an executor is shown by its type, since its address is no help."""
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
