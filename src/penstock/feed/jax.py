"""Elements as JAX arrays: over the memory of the batch if JAX allows it, or placed by a device or sharding."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from operator import mod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import ElementError, PlanError
from penstock.core.lazy import require
from penstock.elements.nested.structure import flatten, unflatten
from penstock.elements.ragged import Ragged, make_ragged
from penstock.elements.sparse import Sparse
from penstock.feed import images
from penstock.feed.arrangement import Arrangement
from penstock.feed.byte_splits import ByteSplits
from penstock.feed.clock import ArrivalClock
from penstock.feed.feed import Allocating, Convert, FrameworkFeed, Here
from penstock.feed.parcel import Parcel, each_converted, parcel_of
from penstock.feed.pinned import pinned_ring
from penstock.feed.protocol import Finish, Placement

_CUDA = {"cuda", "gpu"}
NARROWED = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}


class JaxFeed(FrameworkFeed):
    """A dataset whose iterators yield JAX arrays, on the CPU or placed by a sharding; see `Dataset.to_jax`.

    Without a sharding, memory is shared by DLPack if the array is contiguous and writable, as batches are, and JAX has
    its type enabled; other arrays are copied. A batch that JAX shares must not be written to. 64-bit types are narrowed
    unless `jax_enable_x64` is set; an integer that does not fit raises an `ElementError`. `ps.Sparse` becomes a `BCOO`;
    `ps.Ragged` remains one, of JAX arrays: it is a pytree with the values and the splits.
    """

    def __init__(self, dataset: Allocating, sharding: Any = None, arrangement: Arrangement | None = None) -> None:
        jax = require("jax", extra="jax", purpose="to_jax()")
        arranged = arrangement or Arrangement("to_jax")
        _register_ragged(jax)
        given = sharding if isinstance(sharding, list | tuple) else [sharding]
        shardings = [_sharding(jax, each) for each in given]
        placements = [_placement(jax, each, arranged) for each in shardings]
        here = all(isinstance(each, Here) for each in placements)
        super().__init__(dataset, arranged.placement(placements), arranged.depth_for(is_here=here))
        for each in shardings:
            _check_rows(jax, each, arranged, len(shardings))
        self.processes = max(_processes(jax, each) for each in shardings)
        """The number of processes whose batches are the parts of a global one."""


def _placement(jax: Any, sharding: Any, arranged: Arrangement) -> Placement:
    if sharding is None:
        return Here(jax_array_of(jax), arranged.finishing)
    if arranged.steps is not None:
        sharding = _of_stacks(jax, sharding)
    return Sharded(jax, sharding, arranged.finishing)


def jax_array_of(jax: Any) -> Convert:
    """Return the function that makes a JAX array on the CPU of a batch's array, over the same memory if it can be."""
    dlpack = require("jax.dlpack", extra="jax", purpose="to_jax()")
    cpu = jax.devices("cpu")[0]

    def convert(array: NDArray[Any] | Ragged | Sparse) -> Any:
        if isinstance(array, Sparse):
            return _bcoo(array, [convert(array.values), convert(array.indices)])
        if isinstance(array, Ragged):
            return _ragged_again(None, list(map(convert, array.arrays())))
        narrow = narrowed(jax, array)
        shared = array.ndim > 0 and array.flags.writeable and array.dtype.isnative and narrow is array
        if not shared or not array.flags.c_contiguous or array.dtype.kind in "bV":
            with jax.default_device(cpu):
                return jax.numpy.asarray(narrow)
        return dlpack.from_dlpack(array)

    return convert


class Sharded:
    """The placement by a sharding: arrays are divided over its devices, those of all processes together.

    For CUDA devices, tasks write batches into pinned memory, and JAX copies out of it. A batch of many arrays for one
    device that is not the CPU travels as one array of bytes, which a compiled function splits there, once its layout is
    known to recur. Memory of the host is free again when JAX is done with it.
    """

    gathers = 1

    def __init__(self, jax: Any, sharding: Any, finish: Finish | None) -> None:
        self._jax = jax
        self._sharding = sharding
        self._finish = finish
        self._whole = _whole(jax, sharding)  # for arrays that have no rows
        self._across = not sharding.is_fully_addressable
        device = next(iter(sharding.addressable_devices))
        ring = pinned_ring(device.local_hardware_id) if device.platform in _CUDA else None
        self.allocate = None if ring is None else ring.allocate
        splits = len(sharding.device_set) == 1 and device.platform != "cpu"
        self._splits = ByteSplits(jax, sharding, self.allocate) if splits else None
        self._decoder: Any = None  # of images, once there are any
        self.clock = ArrivalClock(f"{device.platform}:{device.id}" if len(sharding.device_set) == 1 else "the devices")

    def place(self, batches: list[Any]) -> Any:
        parcel = parcel_of(batches[0])
        if not parcel.encoded:
            return self.clock.timed(self._begun, parcel)
        if self._decoder is None:
            self._decoder = self._opened()
        return images.beside(partial(self.clock.timed, self._begun, parcel))

    def _begun(self, parcel: Parcel) -> Any:
        arrays = each_converted(partial(narrowed, self._jax), parcel.arrays, parcel.paths)
        owners = [leaf for leaf, count in zip(parcel.leaves, parcel.counts, strict=True) for _ in range(count)]
        placed = None if self._splits is None or parcel.encoded else self._splits.placed(arrays)
        if placed is None:
            given = zip(arrays, parcel.paths(), owners, strict=True)
            placed = [self._put(array, path, owner) for array, path, owner in given]
        batch = parcel.opened(placed, self._joined, self._decoded)
        return batch if self._finish is None else self._finish(batch)

    def wait(self, placed: Any) -> Any:
        return placed.result() if isinstance(placed, Future) else placed

    def release(self, placed: Any) -> None:
        """Wait for the thread of a batch with images; JAX holds the memory of the host until it is done with it."""
        if isinstance(placed, Future):
            placed.exception()

    def _put(self, array: NDArray[Any], path: str, owner: Any) -> Any:
        jax, sharding = self._jax, self._sharding
        uneven = isinstance(owner, Ragged | Sparse)
        if uneven and len(sharding.device_set) > 1:
            if self._whole is None or self._across:
                raise ElementError(
                    f"to_jax({sharding}): {path} is {type(owner).__name__.lower()}, and its values cannot be divided "
                    "by rows: pad it with padded_batch(), or pass a device"
                )
            return jax.device_put(array, self._whole)
        try:
            if self._across:
                return jax.make_array_from_process_local_data(sharding, array)
            return jax.device_put(array, sharding)
        except ValueError as error:
            raise ElementError(_undivided(jax, sharding, path, array)) from error

    def _opened(self) -> images.ImageDecoder:
        device = next(iter(self._sharding.device_set))
        if device.platform not in _CUDA or len(self._sharding.device_set) > 1:
            raise images.not_on(str(self._sharding))
        return images.ImageDecoder(device.local_hardware_id, "to_jax()")

    def _decoded(self, leaf: Any) -> Any:
        """Return the pixels of encoded images, made on the only device of the sharding."""
        made = self._decoder.array(images.batch_of(leaf), require("jax.dlpack", extra="jax", purpose="to_jax()"))
        return made if isinstance(leaf, np.ndarray) else made[0]

    def _joined(self, leaf: Any, arrays: list[Any]) -> Any:
        if isinstance(leaf, Ragged):
            return _ragged_again(None, arrays)
        return _bcoo(leaf, arrays) if isinstance(leaf, Sparse) else arrays[0]


class JaxHome:
    """A device, or a sharding, of JAX that keeps data."""

    def __init__(self, device: Any) -> None:
        self._jax = jax = require("jax", extra="jax", purpose="resident()")
        self._sharding = _sharding(jax, device)
        if not self._sharding.is_fully_replicated:
            raise PlanError(f"resident({device}): rows are gathered on each device: pass one, or a replicated sharding")

    def free_bytes(self) -> int | None:
        told = [device.memory_stats() or {} for device in self._sharding.addressable_devices]
        free = [each["bytes_limit"] - each["bytes_in_use"] for each in told if "bytes_limit" in each]
        return min(free, default=None)

    def begin(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        return np.empty(shape, dtype)

    def write(self, memory: NDArray[Any], low: int, rows: NDArray[Any]) -> None:
        memory[low : low + len(rows)] = rows

    def end(self, memory: NDArray[Any]) -> Any:
        return self._jax.device_put(narrowed(self._jax, memory, "resident"), self._sharding)

    def gathering(self, columns: Any) -> Callable[[Any], Any]:
        gathered = self._jax.jit(self._gathered)
        return lambda rows: gathered(columns, rows)

    def scanning(self, step: Any, finish: Finish | None) -> Callable[[Any, Any, NDArray[Any]], Any]:
        def epoch(carry: Any, columns: Any, rows: Any) -> Any:
            def one(carry: Any, its_rows: Any) -> Any:
                batch = self._gathered(columns, its_rows)
                return step(carry, batch if finish is None else finish(batch))

            return self._jax.lax.scan(one, carry, rows)

        return self._jax.jit(epoch)

    def placement(self, finish: Finish) -> Placement:
        return Sharded(self._jax, self._sharding, finish)

    def _gathered(self, columns: Any, rows: Any) -> Any:
        leaves, structure = flatten(columns)
        return unflatten(structure, [self._jax.numpy.take(leaf, rows, axis=0) for leaf in leaves])


def narrowed(jax: Any, array: NDArray[Any], call: str = "to_jax") -> NDArray[Any]:
    """Return the array with the dtype that JAX gives it; numbers that do not fit raise an `ElementError`."""
    name = NARROWED.get(array.dtype.name)
    if name is None or jax.config.jax_enable_x64:
        return array
    try:
        with np.errstate(over="raise"):  # integers wrap around without an error
            narrow = array.astype(name)
    except FloatingPointError:
        with np.errstate(over="ignore"):
            narrow = array.astype(name)
        pairs = [(part(narrow), part(array)) for part in (np.real, np.imag)]
        lost = np.logical_or(*(np.isinf(after) & np.isfinite(before) for after, before in pairs))
        becomes = "turn into infinity as"
    else:
        if array.dtype.kind not in "iu" or np.array_equal(narrow, array):
            return narrow
        lost, becomes = narrow != array, "wrap around to fit"
    at = [int(i) for i in np.argwhere(lost)[0]]
    where = f" at {at}" if at else ""
    raise ElementError(
        f"{call}(): an array has {array[lost].flat[0]}{where}, which JAX would {becomes} {name}: set jax_enable_x64, "
        "or map it to a smaller number"
    )


def _sharding(jax: Any, given: Any) -> Any:
    """Return the sharding that is meant, or raise a `PlanError` if there is none."""
    if given is None or isinstance(given, jax.sharding.Sharding):
        return given
    if isinstance(given, str):
        try:
            given = jax.local_devices(backend=given)[0]
        except RuntimeError as error:
            known = ", ".join(map(str, jax.local_devices()))
            raise PlanError(f"to_jax({given!r}): JAX has no such device here ({error}); it has {known}") from None
    if not isinstance(given, jax.Device):
        raise PlanError(f"to_jax({given!r:.80}): expected a sharding or a device of JAX, or a platform such as 'gpu'")
    return jax.sharding.SingleDeviceSharding(given)


def _of_stacks(jax: Any, sharding: Any) -> Any:
    """Return the sharding of stacks of batches: their first axis is not divided."""
    kinds = jax.sharding
    if isinstance(sharding, kinds.SingleDeviceSharding) or sharding.is_fully_replicated:
        return sharding
    if not isinstance(sharding, kinds.NamedSharding):
        raise PlanError(f"to_jax(steps=) stacks batches for a NamedSharding or a device, not for {sharding}")
    return kinds.NamedSharding(
        sharding.mesh, kinds.PartitionSpec(None, *sharding.spec), memory_kind=sharding.memory_kind
    )


def _check_rows(jax: Any, sharding: Any, arranged: Arrangement, devices: int) -> None:
    """Raise a `PlanError` now if batches, which come later, have parts that cannot be divided."""
    rows = arranged.rows
    if rows is None or not isinstance(sharding, jax.sharding.NamedSharding):
        return
    if not sharding.is_fully_addressable or not sharding.spec:
        return
    shares = _shares(sharding)[0]
    for whose, count in rows.told():
        for part in sorted(arranged.parts_of(count, devices)):
            if part % shares:
                cut = "" if part == count else f", and parts of them {part:,}"
                raise PlanError(
                    f"to_jax({sharding}): {whose} {count:,} rows{cut}, which {shares} devices cannot share equally: "
                    "choose a multiple, and leave out a shorter last batch with batch(..., drop_remainder=True)"
                )


def _processes(jax: Any, sharding: Any) -> int:
    """Return the number of processes with rows of their own in an array; 1 if each has all rows."""
    if not isinstance(sharding, jax.sharding.NamedSharding) or sharding.is_fully_addressable:
        return 1
    shape = (len(sharding.device_set),) * max(len(sharding.spec), 1)  # divisible by the product of any axes
    rows: dict[int, set[tuple[int, int]]] = {}
    for device, places in sharding.devices_indices_map(shape).items():
        low, high, _ = places[0].indices(shape[0])
        rows.setdefault(device.process_index, set()).add((low, high))
    return len(set(map(frozenset, rows.values())))


def _whole(jax: Any, sharding: Any) -> Any:
    """Return the sharding of the same devices with all of an array on each; `None` if the kind has none."""
    if isinstance(sharding, jax.sharding.NamedSharding):
        return jax.sharding.NamedSharding(sharding.mesh, jax.sharding.PartitionSpec())
    return sharding if sharding.is_fully_replicated else None


def _shares(sharding: Any) -> list[int]:
    """Return the number of devices that share each dimension of an array, by a `NamedSharding`."""
    axes = [each if isinstance(each, tuple) else (each,) for each in sharding.spec]
    return [math.prod(sharding.mesh.shape[axis] for axis in each if axis in sharding.mesh.shape) for each in axes]


def _undivided(jax: Any, sharding: Any, path: str, array: NDArray[Any]) -> str:
    shares = _shares(sharding) if isinstance(sharding, jax.sharding.NamedSharding) else []
    rows_at = next((at for at, count in enumerate(shares) if count > 1), 0)  # 1 in a stack of batches
    rest = shares[rows_at + 1 :]
    fits = array.ndim >= len(shares) and not any(map(mod, array.shape[rows_at + 1 :], rest))
    if not array.ndim:
        told = "it has no rows; make batches first, with batch()"
    elif not fits:
        told = (
            "the sharding divides dimensions besides the rows, which does not fit here; pass one that divides rows only"
        )
    else:
        told = "let the batch be a multiple of the devices, without a shorter last one: batch(..., drop_remainder=True)"
    return f"to_jax({sharding}) cannot divide {path}, which is {array.dtype}{list(array.shape)}: {told}"


def _bcoo(leaf: Sparse, arrays: Sequence[Any]) -> Any:
    """Return the sparse array of JAX whose values and indices are `arrays`."""
    sparse = require("jax.experimental.sparse", extra="jax", purpose="to_jax()")
    return sparse.BCOO(tuple(arrays), shape=leaf.dense_shape, indices_sorted=True, unique_indices=True)


def _register_ragged(jax: Any) -> None:
    """Make `Ragged` a pytree of its values and splits, unless it is one."""
    if jax.tree_util.all_leaves([Ragged([], [0])]):
        jax.tree_util.register_pytree_with_keys(Ragged, partial(_with_keys, jax), _ragged_again, _parts)


def _parts(ragged: Ragged) -> tuple[tuple[Any, ...], None]:
    return (ragged.flat_values, *ragged.nested_row_splits), None


def _with_keys(jax: Any, ragged: Ragged) -> tuple[tuple[tuple[Any, Any], ...], None]:
    parts, _ = _parts(ragged)
    names = ("flat_values", *(f"row_splits[{level}]" for level in range(len(parts) - 1)))
    return tuple((jax.tree_util.GetAttrKey(name), part) for name, part in zip(names, parts, strict=True)), None


def _ragged_again(_: None, parts: Sequence[Any]) -> Any:
    made: Any = parts[0]
    for splits in reversed(parts[1:]):
        made = make_ragged(made, splits)
    return made
