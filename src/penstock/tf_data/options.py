"""`tf.data.Options`: the fields with a meaning here, and those that are accepted and ignored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import IntEnum
from typing import Any, ClassVar, TypeVar

from penstock.core.options import Options as PenstockOptions
from penstock.tf_data.absent import unknown_name

_MEASURED = "the engine measures and decides by itself; it.stats().decisions lists its decisions"
_ALONE = "sharding is never automatic: write ds.shard(num_shards, index)"

_COUNTS = ("private_threadpool_size", "ram_budget", "cpu_budget")

_Set = TypeVar("_Set", bound="_Fields")


def _of(*kinds: type) -> Any:
    """Return a field of these types, or `None`."""
    return field(default=None, metadata={"kinds": kinds})


def _let_go(*kinds: type) -> Any:
    """Return a field of `tf.data` that is ignored since it never changes the elements; a wrong type is refused."""
    return _of(*kinds)


class _Fields:
    """Settable fields; the error for an unknown field names the replacement."""

    _elsewhere: ClassVar[Mapping[str, str]] = {}
    _aliases: ClassVar[Mapping[str, str]] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        name = self._aliases.get(name, name)
        known = {each.name: each.metadata.get("kinds") for each in fields(self)}  # pyright: ignore[reportArgumentType] - all are dataclasses
        if name not in known:
            raise self._unknown(name)
        kinds = known[name]
        is_group = any(issubclass(kind, _Fields) for kind in kinds or ())
        if kinds and type(value) not in kinds and (value is not None or is_group):
            wanted = " or ".join([kind.__name__ for kind in kinds] + ["None"] * (not is_group))
            raise TypeError(f"tf_data.{type(self).__name__}.{name} = {value!r:.60}: expected {wanted}")
        if name in _COUNTS and value is not None and value < 0:
            raise ValueError(f"tf_data.{type(self).__name__}.{name} = {value}: expected at least 0")
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        if name in self._aliases:
            return getattr(self, self._aliases[name])
        raise self._unknown(name)

    def _unknown(self, name: str) -> AttributeError:
        known = [each.name for each in fields(self)]  # pyright: ignore[reportArgumentType] - all are dataclasses
        return unknown_name(f"tf_data.{type(self).__name__}", name, self._elsewhere, known)


def _merged(one: _Set, other: _Set) -> _Set:
    """Return both settings; if both set a field, the second counts."""
    made: dict[str, Any] = {}
    for each in fields(one):  # pyright: ignore[reportArgumentType] - all are dataclasses
        first, second = getattr(one, each.name), getattr(other, each.name)
        made[each.name] = _merged(first, second) if is_dataclass(first) else first if second is None else second
    return replace(one, **made)  # pyright: ignore[reportArgumentType] - the same


@dataclass
class ThreadingOptions(_Fields):
    """The number of threads: `private_threadpool_size` is the `workers` of `ps.Options`; `None` or 0 means automatic.

    `max_intra_op_parallelism` is ignored: each library sets its number of threads inside one task.
    """

    private_threadpool_size: int | None = _of(int)
    max_intra_op_parallelism: int | None = _let_go(int)


@dataclass
class AutotuneOptions(_Fields):
    """The limits of autotuning: `ram_budget` is the `memory_budget` of `ps.Options`, `cpu_budget` its `cores`.

    `enabled`, `initial_parallelism` and `min_parallelism` are ignored: the engine measures, and the elements stay the
    same.
    """

    _elsewhere: ClassVar[Mapping[str, str]] = {
        "autotune_algorithm": _MEASURED,
    }

    ram_budget: int | None = _of(int)
    cpu_budget: int | None = _of(int)
    enabled: bool | None = _let_go(bool)
    initial_parallelism: int | None = _let_go(int)
    min_parallelism: int | None = _let_go(int)


@dataclass
class OptimizationOptions(_Fields):
    """The switch of rewrites: `apply_default_optimizations` is the `rewrite` of `ps.Options`.

    The switches of single rewrites are ignored: rewrites never change the elements, and `ds.explain()` shows them.
    """

    apply_default_optimizations: bool | None = _of(bool)
    filter_fusion: bool | None = _let_go(bool)
    filter_parallelization: bool | None = _let_go(bool)
    inject_prefetch: bool | None = _let_go(bool)
    map_and_batch_fusion: bool | None = _let_go(bool)
    map_and_filter_fusion: bool | None = _let_go(bool)
    map_fusion: bool | None = _let_go(bool)
    map_parallelization: bool | None = _let_go(bool)
    noop_elimination: bool | None = _let_go(bool)
    parallel_batch: bool | None = _let_go(bool)
    seq_interleave_prefetch: bool | None = _let_go(bool)
    shuffle_and_repeat_fusion: bool | None = _let_go(bool)


class AutoShardPolicy(IntEnum):
    """The way to divide a dataset among workers. Here only the dataset itself does it, which is `OFF`."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


@dataclass
class DistributeOptions(_Fields):
    """The sharding over workers: `auto_shard_policy` may be `AutoShardPolicy.OFF`, which is how it is here.

    >>> from penstock import tf_data
    >>> options = tf_data.Options()
    >>> options.experimental_distribute.auto_shard_policy = tf_data.experimental.AutoShardPolicy.OFF
    """

    _elsewhere: ClassVar[Mapping[str, str]] = {"num_devices": _ALONE}

    auto_shard_policy: int | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "auto_shard_policy" and value is not None and value != AutoShardPolicy.OFF:
            raise ValueError(f"tf_data.DistributeOptions.auto_shard_policy = {value!r:.60}: {_ALONE}")
        super().__setattr__(name, value)


@dataclass
class Options(_Fields):
    """The options of `tf.data`, to be set field by field and passed to `with_options`.

    Fields that never change the elements, and have no equivalent here, are ignored. A field that would change them
    raises an `AttributeError` that names the replacement. Settings without a field in `tf.data` (`seed`, `executor`)
    belong to `penstock.Options`, which `with_options` also accepts.

    >>> from penstock import tf_data
    >>> options = tf_data.Options()
    >>> options.deterministic = False
    >>> options.threading.private_threadpool_size = 4
    >>> options.experimental_optimization.map_and_batch_fusion = True
    >>> tf_data.Dataset.range(3).with_options(options).options()
    Options(workers=4, deterministic=False)
    """

    _elsewhere: ClassVar[Mapping[str, str]] = {
        "experimental_external_state_policy": "a function's state is its own",
        "experimental_service": "there is no data service",
    }
    _aliases: ClassVar[Mapping[str, str]] = {
        "experimental_deterministic": "deterministic",
        "experimental_threading": "threading",
    }

    deterministic: bool | None = _of(bool)
    dataset_name: str | None = _of(str)  # only a label
    threading: ThreadingOptions = field(default_factory=ThreadingOptions, metadata={"kinds": (ThreadingOptions,)})
    autotune: AutotuneOptions = field(default_factory=AutotuneOptions, metadata={"kinds": (AutotuneOptions,)})
    experimental_optimization: OptimizationOptions = field(
        default_factory=OptimizationOptions, metadata={"kinds": (OptimizationOptions,)}
    )
    experimental_distribute: DistributeOptions = field(
        default_factory=DistributeOptions, metadata={"kinds": (DistributeOptions,)}
    )
    experimental_slack: bool | None = _let_go(bool)  # batches are made ahead, under autotune.ram_budget
    experimental_symbolic_checkpoint: bool | None = _let_go(bool)  # positions never hold buffered elements
    experimental_warm_start: bool | None = _let_go(bool)  # the first next() begins the work
    framework_type: list[str] | None = field(default=None, metadata={"kinds": (list,)})  # nothing is reported

    def merge(self, options: Options) -> Options:
        """Return both settings, as new options; if both set a field, that of `options` counts.

        >>> from penstock import tf_data
        >>> tf_data.Options(deterministic=True).merge(tf_data.Options(deterministic=False)).deterministic
        False
        """
        if not isinstance(options, Options):
            raise TypeError(f"merge(options=): expected tf_data.Options, not {type(options).__name__}")
        return _merged(self, options)

    def to_penstock(self) -> PenstockOptions:
        """Return the same settings as `penstock.Options`.

        >>> from penstock import tf_data
        >>> tf_data.Options(deterministic=True).to_penstock()
        Options(deterministic=True)
        """
        return PenstockOptions(
            deterministic=self.deterministic,
            workers=self.threading.private_threadpool_size or None,
            memory_budget=self.autotune.ram_budget,
            cores=self.autotune.cpu_budget or None,
            rewrite=self.experimental_optimization.apply_default_optimizations,
        )
