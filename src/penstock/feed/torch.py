"""Elements as PyTorch tensors: over the memory of the batch, or on a device, one copy a batch."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.contexts import contextmanager
from penstock.core.errors import PlanError
from penstock.core.lazy import require
from penstock.elements.nested.structure import flatten, unflatten
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.feed import images
from penstock.feed.arrangement import Arrangement
from penstock.feed.clock import EventClock
from penstock.feed.feed import Allocating, Convert, FrameworkFeed, Here
from penstock.feed.parcel import Cargo, Parcel, cargo_of, each_converted, parcel_of
from penstock.feed.protocol import Finish, Placement
from penstock.feed.ring import PinnedBlock, Ring, block_under


class TorchFeed(FrameworkFeed):
    """A dataset whose iterators yield PyTorch tensors, on the CPU or on devices; see `Dataset.to_torch`.

    On the CPU, tensors share the memory of the batch, without a copy. A read-only array (an element that is a view of
    the source's own memory) is copied, since tensors are writable; so is an array with a negative stride. Unsigned
    integers wider than a byte keep their type, which PyTorch supports in part. `ps.Ragged` becomes a nested tensor
    (jagged layout), or is unchanged if it has several ragged dimensions, which PyTorch does not support; `ps.Sparse`
    becomes a sparse COO tensor.

    The feed counts as an `IterableDataset`: `DataLoader(feed, batch_size=None)` yields the same elements, for code that
    expects a DataLoader. Use no DataLoader workers: the pipeline has its own.
    """

    def __init__(self, dataset: Allocating, device: Any = None, arrangement: Arrangement | None = None) -> None:
        torch = require("torch", extra="torch", purpose="to_torch()")
        arranged = arrangement or Arrangement("to_torch")
        devices = [
            device_of(torch, each, "to_torch") for each in (device if isinstance(device, list | tuple) else [device])
        ]
        finish = arranged.finishing
        placements = [placement_on(torch, each, finish, timed=not number) for number, each in enumerate(devices)]
        super().__init__(
            dataset, arranged.placement(placements), arranged.depth_for(is_here=all(map(_is_cpu, devices)))
        )
        self._given = (device, arrangement)
        data = getattr(getattr(torch, "utils", None), "data", None)
        if data is not None:
            data.IterableDataset.register(TorchFeed)  # an abstract class; otherwise a DataLoader requests rows

    def __reduce__(self) -> tuple[Any, ...]:
        return TorchFeed, (self._dataset, *self._given)


def placement_on(torch: Any, device: Any, finish: Finish | None, *, timed: bool = True) -> Placement:
    """Return the placement on one device, measured if `timed`: `None` or the CPU is the host's memory."""
    if _is_cpu(device):
        return Here(tensor_of(torch), finish)
    streams = CudaStreams(torch, device) if device.type == "cuda" else None
    return OnDevice(torch, device, finish, streams, timed=timed)


def tensor_of(torch: Any) -> Convert:
    """Return the function that makes a tensor of a batch's array, over the same memory if it can be."""

    def convert(array: NDArray[Any] | Ragged | Sparse) -> Any:
        if isinstance(array, Sparse):
            return array.to_torch()
        if isinstance(array, Ragged):
            return array.to_torch() if array.ragged_rank == 1 else array
        whole = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
        shared = whole.flags.writeable and min(whole.strides, default=0) >= 0
        bits = whole if shared else whole.copy()
        if bits.dtype.kind == "V":  # NumPy has no bfloat16 of its own; PyTorch has
            return torch.from_numpy(bits.view(f"u{bits.itemsize}")).view(getattr(torch, bits.dtype.name))
        return torch.from_numpy(bits)

    return convert


@dataclass(eq=False)
class TorchTransfer:
    """A batch on its way: its `memory` on the device, the tensors in it, and the event after which they are there."""

    batch: Any
    memory: Any
    ready: Any
    host: Cargo | None
    computed: bool = False  # perhaps with tensors besides those in `memory`
    moved: tuple[Any, Any] | None = None  # the events around the copy


class OnDevice:
    """The placement on one device: a batch is one copy, of which tensors are views.

    With `streams`, tasks write batches into pinned memory, and copies run in a stream beside the steps. The consumer's
    stream waits for the copy, its thread does not; memory on the device is in use until that stream is done with it,
    however long a batch is kept. Without, the copy ends before `place` does.
    """

    gathers = 1

    def __init__(
        self, torch: Any, device: Any, finish: Finish | None, streams: CudaStreams | None, *, timed: bool = True
    ) -> None:
        self._torch = torch
        self._device = device
        self._finish = finish
        self._streams = streams
        self._ring = None if streams is None else Ring(streams.pinned)
        self.allocate = None if self._ring is None else self._ring.allocate
        self.clock = EventClock(str(device), streams.noted) if timed and streams is not None else None
        self._decoder: Any = None  # of images, once there are any

    def place(self, batches: list[Any]) -> TorchTransfer | Future[TorchTransfer]:
        parcel = parcel_of(batches[0], deep_ragged=False)
        if parcel.encoded and self._decoder is None:
            self._decoder = self._opened()
        if self._streams is None or self._ring is None:
            return self._moved_at_once(parcel)
        streams, ring = self._streams, self._ring
        if not parcel.encoded:
            return self._noted(self._begun(parcel, streams, ring))
        here = streams.here()

        def decoded() -> TorchTransfer:
            with here:
                return self._begun(parcel, streams, ring)

        return images.beside(decoded)

    def _moved_at_once(self, parcel: Parcel) -> TorchTransfer:
        host = cargo_of(parcel.arrays, lambda nbytes: np.empty(nbytes, np.uint8))
        memory = self._torch.from_numpy(host.memory).to(self._device)
        batch = parcel.opened(self._tensors(memory, host, parcel), self._joined, self._decoded)
        return TorchTransfer(batch if self._finish is None else self._finish(batch), memory, None, None)

    def _begun(self, parcel: Parcel, streams: CudaStreams, ring: Ring) -> TorchTransfer:
        host = cargo_of(parcel.arrays, ring.allocate)
        block = block_under(host.memory)
        if block is None:  # made elsewhere, in one block that is not pinned
            host = Cargo(_copied(host.memory, ring), host.begins)
            block = block_under(host.memory)
        assert block is not None  # noqa: S101 - ours
        low = host.memory.ctypes.data - block.address
        with streams.beside_steps():
            memory, source = streams.empty(host.memory.nbytes), block.buffer[low : low + host.memory.nbytes]
            began, sent = streams.event(), streams.event()
            began.record()
            streams.copy(memory, source)
            sent.record()
            block.transfers.append(sent)
            batch, ready = parcel.opened(self._tensors(memory, host, parcel), self._joined, self._decoded), sent
            computed = self._finish is not None or bool(parcel.encoded)
            if self._finish is not None:
                batch = self._finish(batch)
            if computed:
                ready = streams.event()
                ready.record()
        return TorchTransfer(batch, memory, ready, host, computed, (began, sent))

    def _noted(self, transfer: TorchTransfer) -> TorchTransfer:
        if self.clock is not None and transfer.moved is not None and transfer.host is not None:
            self.clock.moved(*transfer.moved, transfer.host.memory.nbytes)
        return transfer

    def wait(self, placed: TorchTransfer | Future[TorchTransfer]) -> Any:
        transfer = self._noted(placed.result()) if isinstance(placed, Future) else placed
        if self._streams is not None:
            made = _tensors_in(self._torch, transfer.batch) if transfer.computed else []
            self._streams.hand_over([transfer.memory, *made], transfer.ready)
        return transfer.batch

    def release(self, placed: TorchTransfer | Future[TorchTransfer]) -> None:
        if isinstance(placed, Future):
            if placed.exception() is not None:  # once its thread is done
                return
            placed = placed.result()
        placed.host = placed.memory = placed.batch = None

    def _tensors(self, memory: Any, host: Cargo, parcel: Parcel) -> list[Any]:
        torch = self._torch
        dtypes = each_converted(lambda array: _dtype(torch, array.dtype), parcel.arrays, parcel.paths)
        return [
            memory[begin : begin + array.nbytes].view(dtype).view(array.shape)
            if array.size
            else torch.empty(array.shape, dtype=dtype, device=self._device)
            for array, dtype, begin in zip(parcel.arrays, dtypes, host.begins, strict=True)
        ]

    def _opened(self) -> images.ImageDecoder:
        if self._device.type != "cuda":
            raise images.not_on(str(self._device))
        return images.ImageDecoder(self._device.index, "to_torch()")

    def _decoded(self, leaf: Any) -> Any:
        """Return the pixels of encoded images, made in the current stream."""
        torch, device, batch = self._torch, self._device, images.batch_of(leaf)
        made = torch.empty(batch.shape, dtype=_dtype(torch, batch.dtype), device=device)
        self._decoder.write(batch, made.data_ptr(), torch.cuda.current_stream(device).cuda_stream)
        return made if isinstance(leaf, np.ndarray) else made[0]

    def _joined(self, leaf: Any, arrays: list[Any]) -> Any:
        torch = self._torch
        if isinstance(leaf, Ragged):
            values, offsets = arrays
            return torch.nested.nested_tensor_from_jagged(values, offsets)
        if isinstance(leaf, Sparse):
            values, indices = arrays
            shape, indices = leaf.dense_shape, indices.t()
            return torch.sparse_coo_tensor(indices, values, shape, is_coalesced=True, check_invariants=False)
        return arrays[0]


class CudaStreams:
    """The streams, events and pinned memory of a CUDA or ROCm device."""

    def __init__(self, torch: Any, device: Any) -> None:
        self._torch = torch
        self._device = device
        self._idle: list[Any] = []  # streams of copies

    def pinned(self, nbytes: int) -> PinnedBlock:
        """Return a new block of pinned memory; threads of the pipeline ask for it, and must not open another device."""
        with self._torch.cuda.device(self._device):
            buffer = self._torch.empty(nbytes, dtype=self._torch.uint8, pin_memory=True)
        return PinnedBlock(buffer, buffer.data_ptr(), nbytes)

    def empty(self, nbytes: int) -> Any:
        """Return new memory on the device."""
        return self._torch.empty(nbytes, dtype=self._torch.uint8, device=self._device)

    def event(self) -> Any:
        """Return a new event, which measures time."""
        return self._torch.cuda.Event(enable_timing=True)

    def noted(self) -> Any:
        """Return an event in the consumer's stream, after all that was submitted to it."""
        made = self.event()
        made.record(self._torch.cuda.current_stream(self._device))
        return made

    def here(self) -> Any:
        """Return a context for another thread in which this thread's stream is the consumer's."""
        return self._torch.cuda.stream(self._torch.cuda.current_stream(self._device))

    @contextmanager
    def beside_steps(self) -> Generator[None]:
        """Do the work of the context in a stream of copies, which waits for no step and no other thread."""
        cuda = self._torch.cuda
        try:
            copying = self._idle.pop()
        except IndexError:  # all are in use
            copying = cuda.Stream(self._device)
            copying.wait_stream(cuda.current_stream(self._device))  # what finish= uses was made there before
        try:
            with cuda.stream(copying):
                yield
        finally:
            self._idle.append(copying)

    def copy(self, to: Any, source: Any) -> None:
        """Begin to copy pinned memory to the device."""
        to.copy_(source, non_blocking=True)

    def hand_over(self, tensors: list[Any], ready: Any) -> None:
        """Let the consumer's stream wait for an event, and own the tensors from then on."""
        stream = self._torch.cuda.current_stream(self._device)
        stream.wait_event(ready)
        for tensor in tensors:
            tensor.record_stream(stream)


class TorchHome:
    """A device of PyTorch that keeps data."""

    def __init__(self, device: Any) -> None:
        self._torch = torch = require("torch", extra="torch", purpose="resident()")
        self._device = device_of(torch, "cpu" if device is None else device, "resident")
        self._tensor = tensor_of(torch)

    def free_bytes(self) -> int | None:
        return self._torch.cuda.mem_get_info(self._device)[0] if self._device.type == "cuda" else None

    def begin(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        return self._torch.empty(shape, dtype=_dtype(self._torch, dtype), device=self._device)

    def write(self, memory: Any, low: int, rows: NDArray[Any]) -> None:
        memory[low : low + len(rows)].copy_(self._tensor(rows))

    def end(self, memory: Any) -> Any:
        return memory

    def gathering(self, columns: Any) -> Callable[[Any], Any]:
        leaves, structure = flatten(columns)
        return lambda rows: unflatten(structure, [leaf.index_select(0, rows) for leaf in leaves])

    def scanning(self, step: Any, finish: Finish | None) -> Callable[[Any, Any, NDArray[Any]], Any]:
        raise PlanError("scan() compiles an epoch with JAX; with PyTorch, iterate over the feed")

    def placement(self, finish: Finish) -> Placement:
        return placement_on(self._torch, self._device, finish)


def _is_cpu(device: Any) -> bool:
    return device is None or device.type == "cpu"


def device_of(torch: Any, given: Any, call: str) -> Any:
    """Return the device that is meant, or raise a `PlanError` if there is none."""
    if given is None:
        return None
    try:
        device = torch.device(given)
    except (RuntimeError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise PlanError(f"{call}({given!r}): not a device of PyTorch: {reason}") from None
    if device.type == "cuda":
        count = torch.cuda.device_count()
        if not count:
            raise PlanError(f"{call}({given!r}): PyTorch sees no CUDA device here; without it, tensors are on the CPU")
        if device.index is None:
            return torch.device("cuda", torch.cuda.current_device())
        if device.index >= count:
            raise PlanError(f"{call}({given!r}): PyTorch sees {count} CUDA devices here, cuda:0 to cuda:{count - 1}")
        return device
    try:
        torch.empty(0, device=device)
    except Exception as error:
        reason = str(error).partition("\n")[0].partition(". ")[0]  # a list of what other devices can do follows
        raise PlanError(f"{call}({given!r}): this device cannot be used here: {reason}") from error
    return device


@lru_cache(maxsize=64)  # the name of a dtype takes 5 µs
def _dtype(torch: Any, dtype: np.dtype[Any]) -> Any:
    found = getattr(torch, dtype.name, None)
    if found is None:
        raise TypeError(f"PyTorch has no dtype {dtype.name}; map() the array to another one")
    return found


def _copied(memory: NDArray[np.uint8], ring: Ring) -> NDArray[np.uint8]:
    made = ring.allocate(memory.nbytes)
    np.copyto(made, memory)
    return made


def _tensors_in(torch: Any, batch: Any) -> list[Any]:
    """Return the dense tensors that a batch is made of, each memory once."""
    found: dict[int, Any] = {}
    for leaf in flatten(batch)[0]:
        if isinstance(leaf, torch.Tensor):
            for part in _parts_of(torch, leaf):
                found.setdefault(part.untyped_storage().data_ptr(), part)
    return list(found.values())


def _parts_of(torch: Any, tensor: Any) -> list[Any]:
    if tensor.layout == torch.jagged:
        return [tensor.values(), tensor.offsets()]
    if tensor.layout == torch.sparse_coo:
        return [tensor._values(), tensor._indices()]  # noqa: SLF001 - without asking whether it is coalesced
    return [tensor]
