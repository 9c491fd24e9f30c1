"""Transformations that put elements together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.core.checks import check_count, check_flag
from penstock.core.options import AUTOTUNE, Options
from penstock.dataset.handle import Handle, T_co
from penstock.ops.buffer.options import WithOptions
from penstock.ops.group.batch import Batch

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


class Group(Handle[T_co]):
    """`batch`."""

    def batch(
        self,
        batch_size: int,
        drop_remainder: bool = False,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
    ) -> Dataset[Any]:
        """Stack consecutive elements along a new first axis: a leaf of shape (...) becomes one of (batch_size, ...).

        The last batch of an epoch is shorter, or left out with `drop_remainder`. Python numbers become `int64`,
        `float64` and `bool`; text, bytes and other objects an array of objects. Elements that do not fit together are
        an `ElementError` that names the leaf, both shapes or dtypes, and both rows. A batch is the consumer's own: it
        may be kept, and written to.

        >>> [batch.tolist() for batch in Dataset.range(5).batch(2)]
        [[0, 1], [2, 3], [4]]
        """
        size = check_count("batch", "batch_size", batch_size, least=1)
        if deterministic is not None:
            deterministic = check_flag("batch", "deterministic", deterministic)
        if num_parallel_calls is not None:
            calls = check_count("batch", "num_parallel_calls", num_parallel_calls, least=1, also=(AUTOTUNE,))
        else:
            calls = AUTOTUNE
        plan = Batch(self._plan, size, check_flag("batch", "drop_remainder", drop_remainder))
        if calls == AUTOTUNE and deterministic is None:
            return self._over(plan)
        options = Options(workers=None if calls == AUTOTUNE else calls, deterministic=deterministic)
        return self._over(WithOptions(plan, options))
