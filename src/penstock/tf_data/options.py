"""`tf.data.Options`: the fields that mean something here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from penstock.core.options import Options as PenstockOptions
from penstock.tf_data.absent import told

_MEASURED = "the engine measures and decides by itself; it.stats().decisions says what"
_REWRITES = "there is one switch for all rewrites: apply_default_optimizations; ds.explain() shows them"
_ALONE = "nothing shards by itself: say ds.shard(num_shards, index)"


class _Fields:
    """Fields that are there to be set; of others, what to use in their place."""

    _elsewhere: ClassVar[Mapping[str, str]] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in {each.name for each in fields(self)}:  # pyright: ignore[reportArgumentType] - all are dataclasses
            raise self._told(name)
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        raise self._told(name)

    def _told(self, name: str) -> AttributeError:
        return told(f"tf_data.{type(self).__name__}", name, self._elsewhere)


@dataclass
class ThreadingOptions(_Fields):
    """How many threads: `private_threadpool_size` is the `workers` of `ps.Options`; `None` or 0 leaves it open."""

    _elsewhere: ClassVar[Mapping[str, str]] = {
        "max_intra_op_parallelism": "how many threads a library uses inside one task is the library's to set"
    }

    private_threadpool_size: int | None = None


@dataclass
class AutotuneOptions(_Fields):
    """How far autotuning may go: `ram_budget` is the `memory_budget` of `ps.Options`, in bytes."""

    _elsewhere: ClassVar[Mapping[str, str]] = {
        "enabled": f"{_MEASURED}; to set it, give num_parallel_calls and prefetch(buffer_size)",
        "cpu_budget": "threading.private_threadpool_size says how many tasks run at a time",
        "autotune_algorithm": _MEASURED,
        "initial_parallelism": _MEASURED,
        "min_parallelism": _MEASURED,
    }

    ram_budget: int | None = None


@dataclass
class OptimizationOptions(_Fields):
    """Whether the plan is rewritten: `apply_default_optimizations` is the `rewrite` of `ps.Options`."""

    _elsewhere: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (
            *("filter_fusion", "filter_parallelization", "inject_prefetch", "map_and_batch_fusion"),
            *("map_and_filter_fusion", "map_fusion", "map_parallelization", "noop_elimination", "parallel_batch"),
            *("seq_interleave_prefetch", "shuffle_and_repeat_fusion"),
        ),
        _REWRITES,
    )

    apply_default_optimizations: bool | None = None


@dataclass
class Options(_Fields):
    """The options of `tf.data`, to be set field by field and given to `with_options`.

    A field that means nothing here is an `AttributeError` that says what to use. Whatever `tf.data` has no field for
    (`seed`, `executor`) is set by `penstock.Options`, which `with_options` takes as well.

    >>> from penstock import tf_data
    >>> options = tf_data.Options()
    >>> options.deterministic = False
    >>> options.threading.private_threadpool_size = 4
    >>> tf_data.Dataset.range(3).with_options(options).options()
    Options(workers=4, deterministic=False)
    """

    _elsewhere: ClassVar[Mapping[str, str]] = {
        "experimental_deterministic": "its name is deterministic",
        "experimental_threading": "its name is threading",
        "experimental_distribute": _ALONE,
        "experimental_external_state_policy": "a function's state is its own",
        "experimental_service": "there is no data service",
        "experimental_slack": "batches are made ahead, under autotune.ram_budget",
        "experimental_symbolic_checkpoint": "it.state_dict() holds a position always, never what is buffered",
        "experimental_warm_start": "the first next() begins the work",
        "framework_type": "nothing is reported to anybody",
        "merge": "give each to with_options(): what a later one sets counts",
    }

    deterministic: bool | None = None
    dataset_name: str | None = None  # only a label
    threading: ThreadingOptions = field(default_factory=ThreadingOptions)
    autotune: AutotuneOptions = field(default_factory=AutotuneOptions)
    experimental_optimization: OptimizationOptions = field(default_factory=OptimizationOptions)

    def to_penstock(self) -> PenstockOptions:
        """The same settings as `penstock.Options`.

        >>> from penstock import tf_data
        >>> tf_data.Options(deterministic=True).to_penstock()
        Options(deterministic=True)
        """
        return PenstockOptions(
            deterministic=self.deterministic,
            workers=self.threading.private_threadpool_size or None,
            memory_budget=self.autotune.ram_budget,
            rewrite=self.experimental_optimization.apply_default_optimizations,
        )
