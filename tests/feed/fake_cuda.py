"""The part of CuPy and nvImageCodec that a feed calls, over the memory of the host: kernels run on the CPU."""

from __future__ import annotations

import contextlib
import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np

from penstock import image


class Stream(contextlib.nullcontext):
    ptr = 0

    def __init__(self, *_, **__) -> None:
        super().__init__(self)

    @classmethod
    def from_external(cls, stream: Any) -> Stream:
        assert stream.__cuda_stream__() == (0, 0)
        return cls()

    def synchronize(self) -> None:
        pass


class Array(np.ndarray):
    def set(self, values: np.ndarray) -> None:
        self[...] = values


def array_at(shape, dtype, pointer) -> Array:
    memory = (ctypes.c_uint8 * (int(np.prod(shape)) * np.dtype(dtype).itemsize)).from_address(pointer)
    return np.frombuffer(memory, dtype).reshape(shape).view(Array)


def cupy(compiled) -> Any:
    """Return a module whose kernels are functions of `compiled(options)`, a library with `write_all`."""

    def kernel(code, name, options):
        library = compiled(options)

        def call(grid, block, arguments) -> None:
            table, address, height, width, affine = arguments
            images, out, gains = (ctypes.c_void_p(int(at)) for at in (table.ctypes.data, address, affine.ctypes.data))
            library.write_all(images, out, grid[2], int(height), int(width), gains)

        return call

    cuda = SimpleNamespace(
        Device=contextlib.nullcontext,
        Stream=Stream,
        get_current_stream=Stream,
        UnownedMemory=lambda address, nbytes, owner: address,
        MemoryPointer=lambda memory, offset: memory + offset,
    )
    return SimpleNamespace(cuda=cuda, asarray=np.ascontiguousarray, ndarray=array_at, RawKernel=kernel)


class Decoder:
    """Decodes as `ps.image.decode` does; files that begin with a byte of `refuses` are left out."""

    def __init__(self, device_id: int, backends: list[str], max_num_cpu_threads: int, options: str) -> None:
        self.refuses: set[bytes] = set()

    def decode(self, streams, params, cuda_stream):
        channels = 3 if params.color_spec == "rgb" else 1
        return [None if data in self.refuses else decoded(image.decode(channels=channels)(data)) for data in streams]


def decoded(pixels: np.ndarray) -> Any:
    found = {"data": (pixels.ctypes.data, False), "shape": pixels.shape, "strides": None}
    return SimpleNamespace(pixels=pixels, __cuda_array_interface__=found)


codec = SimpleNamespace(
    Backend=lambda kind, load_hint=0.5: kind,
    BackendKind=SimpleNamespace(HW_GPU_ONLY="engine", GPU_ONLY="gpu", HYBRID_CPU_GPU="both"),
    Decoder=Decoder,
    CodeStream=lambda data: data,
    ColorSpec=SimpleNamespace(SRGB="rgb", GRAY="gray"),
    DecodeParams=lambda apply_exif_orientation, color_spec: SimpleNamespace(color_spec=color_spec),
)
