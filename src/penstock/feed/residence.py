"""Data that stays on a device: moved once, and gathered there in the order of each epoch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock import feed
from penstock.core.checks import check_count
from penstock.core.errors import BudgetError, PlanError
from penstock.elements.nested.structure import flatten, paths, unflatten
from penstock.feed.arrangement import noting
from penstock.feed.feed import Allocating, FrameworkFeed
from penstock.feed.parcel import each_converted, is_numeric
from penstock.feed.protocol import Finish, Placement

_AT_A_TIME = 1 << 24  # bytes that are read before they are moved


class Home(Protocol):
    """A device that keeps data, of one framework."""

    def free_bytes(self) -> int | None:
        """Return how many bytes are free, if the framework knows."""
        ...

    def begin(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Return memory for a column."""
        ...

    def write(self, memory: Any, low: int, rows: NDArray[Any]) -> None:
        """Write rows of a column, from row `low` on."""
        ...

    def end(self, memory: Any) -> Any:
        """Return the column on the device."""
        ...

    def gathering(self, columns: Any) -> Callable[[Any], Any]:
        """Return the function that gathers a batch from the numbers of its rows, on the device."""
        ...

    def scanning(self, step: Any, finish: Finish | None) -> Callable[[Any, Any, NDArray[Any]], Any]:
        """Return the compiled function of a carry, the columns, and the rows of all batches, of shape (steps, size)."""
        ...

    def placement(self, finish: Finish) -> Placement:
        """Return the placement on the device."""
        ...


def resident(ds: Any, device: Any = None, *, depth: int = 2, finish: Finish | None = None) -> ResidentFeed:
    """Move the elements of a dataset to a device, and return the feed of its batches, which are gathered there.

    For data that fits on the device, and a pipeline that ends in `batch`: in an epoch, only the numbers of the rows
    travel. Order, epochs and states are those of `ds`. Maps before the batch are applied once, when the data is moved;
    random functions, casts and functions of a batch belong in `finish`, which is called on each batch on the device.

    `device` is PyTorch's, such as `"cuda"`, or a device or a replicated sharding of JAX, such as `jax.devices()[0]`.
    Every leaf has to be numbers of one shape. A dataset that cannot be moved raises a `PlanError`, and one that is
    larger than the free memory of the device a `BudgetError`.

    >>> ds = ps.Dataset.range(6).shuffle(seed=0).batch(4)
    >>> data = ps.feed.resident(ds, "cpu")  # doctest: +SKIP
    >>> [batch.tolist() for batch in data] == [batch.tolist() for batch in ds.iterator(epoch=0)]  # doctest: +SKIP
    True
    """
    if not hasattr(ds, "_residence"):
        raise TypeError(f"resident({type(ds).__name__}): expected a dataset; a feed or a loader cannot be moved")
    check_count("resident", "depth", depth, least=1)
    of_jax = type(device).__module__.partition(".")[0] in ("jax", "jaxlib")
    home: Home = feed.jax.JaxHome(device) if of_jax else feed.torch.TorchHome(device)
    residence = ds._residence()  # noqa: SLF001 - ours: the room above knows what its plan is made of
    finishing = None if finish is None else noting("resident", finish)
    return ResidentFeed(residence.order, home, _moved(residence.elements, home), depth, finishing)


class ResidentFeed(FrameworkFeed):
    """The batches of a dataset whose elements are on a device; see `resident`. `columns` are the elements."""

    def __init__(self, order: Allocating, home: Home, columns: Any, depth: int, finish: Finish | None) -> None:
        self.columns = columns
        self._home = home
        self._finish = finish
        self._scanned: tuple[Any, Callable[..., Any]] | None = None
        gather = home.gathering(columns)
        super().__init__(order, home.placement(gather if finish is None else lambda rows: finish(gather(rows))), depth)

    @property
    def nbytes(self) -> int:
        """Return the bytes of the data on the device."""
        return sum(int(column.nbytes) for column in flatten(self.columns)[0])

    def scan(self, step: Callable[[Any, Any], tuple[Any, Any]], carry: Any) -> tuple[Any, Any]:
        """Run the next epoch as one compiled call: `jax.lax.scan` of `step(carry, batch)`, which returns both again.

        Return the last carry, and the outputs of all steps, stacked. `step` is compiled once, and again for another
        number of steps. All batches need the same size: a shorter last one raises a `PlanError`. After
        `load_state_dict`, the epoch is the rest of it.
        """
        with closing(self._dataset.iterator()) as it:
            rows = list(it)
        if not rows or len(rows[0]) != len(rows[-1]):
            sizes = "there is no batch" if not rows else f"the last batch has {len(rows[-1])} rows, not {len(rows[0])}"
            raise PlanError(
                f"scan() of an epoch: {sizes}; all batches need the same size: batch(..., drop_remainder=True)"
            )
        if self._scanned is None or self._scanned[0] is not step:
            self._scanned = step, self._home.scanning(step, self._finish)
        return self._scanned[1](carry, self.columns, np.stack(rows).astype(np.int32))


def _moved(elements: Any, home: Home) -> Any:
    """Return the columns of all elements on the device."""
    count = len(elements)
    if not count:
        raise PlanError("resident(): the dataset has no elements")
    leaves, structure = flatten(elements[0])
    for leaf, path in zip(leaves, paths(structure), strict=True):
        if not is_numeric(leaf):
            raise PlanError(
                f"resident(): {path or 'the element'} is {type(leaf).__name__}, which does not go to a device; leave "
                "it out with map()"
            )
    arrays = [np.asarray(leaf) for leaf in leaves]
    each, free = sum(array.nbytes for array in arrays), home.free_bytes()
    if free is not None and each * count > free:
        raise BudgetError(
            f"resident(): the data takes {each * count:,} bytes, but the device has only {free:,} bytes free"
        )
    columns = each_converted(
        lambda array: home.begin((count, *array.shape), array.dtype), arrays, lambda: paths(structure)
    )
    low = 0
    for batch in elements.batch(max(_AT_A_TIME // max(each, 1), 1)).iterator(epoch=0):
        made = flatten(batch)[0]
        for column, rows in zip(columns, made, strict=True):
            home.write(column, low, rows)
        low += len(made[0])
    return unflatten(structure, each_converted(home.end, columns, lambda: paths(structure)))
