"""Images that a feed decodes on its GPU: nvImageCodec decodes a batch, and one kernel does the rest."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import ElementError, PlanError
from penstock.core.frozen import frozen
from penstock.core.lazy import require
from penstock.elements.encoded import EncodedImage, encoded_images

if TYPE_CHECKING:
    from penstock.image.chain import Chain
    from penstock.image.operation import ImageOperation

_THREADS = 4  # of a decoder: more only get in each other's way
_BLOCK = (32, 8, 1)  # threads, one for each pixel
_TYPES = {"uint8": "PIXEL=uint8", "float32": "PIXEL=float", "float16": "HALF"}


@frozen()
class ImageBatch:
    """The images of a batch, the geometry of each, and the shape and dtype of all pixels together."""

    images: list[EncodedImage]
    chain: Chain
    geometry: NDArray[np.int64]  # shape (k, 15)
    composed: dict[int, NDArray[Any]]  # made on the CPU: files that are not JPEG, or that EXIF rotates
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def pixels(self, number: int) -> NDArray[Any]:
        """Return the pixels of one image, made on the CPU."""
        made = self.composed.get(number)
        return self.images[number].decoded() if made is None else made


@frozen()
class BorrowedStream:
    """A CUDA stream by its address, as CuPy takes it."""

    address: int

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.address


class ImageDecoder:
    """Runs encoded images on one CUDA device, in a stream of the caller's; threads may call it at the same time."""

    def __init__(self, index: int, call: str) -> None:
        purpose = f"{call} of images from decode(device='cuda')"
        self._codec = require("nvidia.nvimgcodec", extra="cuda", purpose=purpose)
        self._cupy = require("cupy", extra="cuda", purpose=purpose)
        self._index = index
        self._idle = [_decoder(self._codec, index)]  # each is used by one thread at a time
        self._kernels: dict[tuple[Any, ...], Any] = {}

    def write(self, batch: ImageBatch, address: int, stream: int) -> None:
        """Write the pixels of a batch at `address` of the device, in the given stream, and wait for them."""
        cupy = self._cupy
        with cupy.cuda.Device(self._index), cupy.cuda.Stream.from_external(BorrowedStream(stream)) as submitted:
            table, decoded = self._decoded(batch, stream)
            self._launch(batch, cupy.asarray(table), address)
            memory = cupy.cuda.UnownedMemory(address, int(np.prod(batch.shape)) * batch.dtype.itemsize, self)
            out = cupy.ndarray(batch.shape, batch.dtype, cupy.cuda.MemoryPointer(memory, 0))
            for i in np.flatnonzero(table[:, 0] == 0).tolist():
                out[i].set(np.ascontiguousarray(batch.pixels(i)))
            submitted.synchronize()
        del decoded  # the kernel read it

    def array(self, batch: ImageBatch, exchange: Any) -> Any:
        """Return the pixels of a batch as the array that `exchange.from_dlpack` makes."""
        with self._cupy.cuda.Device(self._index), self._cupy.cuda.Stream(non_blocking=True) as stream:
            made = self._cupy.empty(batch.shape, batch.dtype)
            self.write(batch, made.data.ptr, stream.ptr)
            return exchange.from_dlpack(made)

    def _decoded(self, batch: ImageBatch, stream: int) -> tuple[NDArray[np.int64], list[Any]]:
        """Return the table for the kernel, shape (k, 17), and what it points to; rows of images left out are zero."""
        codec, channels = self._codec, batch.chain.program.channels
        color = codec.ColorSpec.SRGB if channels == 3 else codec.ColorSpec.GRAY
        params = codec.DecodeParams(apply_exif_orientation=False, color_spec=color)
        usual = [i for i in range(len(batch.images)) if i not in batch.composed]
        given = [codec.CodeStream(batch.images[i].data) for i in usual]
        try:
            decoder = self._idle.pop()
        except IndexError:  # all are in use
            decoder = _decoder(codec, self._index)
        decoded: list[Any] = decoder.decode(given, params=params, cuda_stream=stream) if given else []
        self._idle.append(decoder)
        table = np.zeros((len(batch.images), 17), np.int64)
        for i, pixels in zip(usual, decoded, strict=True):
            found = None if pixels is None else pixels.__cuda_array_interface__
            if found is None:
                continue
            top, left, height, width = batch.geometry[i, :4].tolist()
            rows, columns, depth = found["shape"]
            if depth == channels and top + height <= rows and left + width <= columns:
                table[i, :2] = found["data"][0], (found["strides"] or (columns * channels,))[0]
                table[i, 2:] = batch.geometry[i]
        return table, decoded

    def _launch(self, batch: ImageBatch, table: Any, address: int) -> None:
        program = batch.chain.program
        height, width = batch.shape[2:] if program.channels_first else batch.shape[1:3]
        kernel, affine = self._kernel(batch.chain)
        grid = (-(-width // _BLOCK[0]), -(-height // _BLOCK[1]), len(batch.images))
        kernel(grid, _BLOCK, (table, np.uint64(address), np.int32(height), np.int32(width), affine))

    def _kernel(self, chain: Chain) -> tuple[Any, Any]:
        """Return the kernel for the pixels of a chain, and its gains and offsets on the device."""
        program = chain.program
        key = (program.channels, program.channels_first, chain.normalizes, program.dtype, program.affine.tobytes())
        if key not in self._kernels:
            channels, planar, affine = map(int, key[:3])
            defined = (f"CHANNELS={channels}", f"PLANAR={planar}", f"AFFINE={affine}", _TYPES[program.dtype])
            options = tuple(f"-D{each}" for each in defined)
            code = Path(__file__).with_name("write_images.cu").read_text(encoding="utf-8")
            kernel = self._cupy.RawKernel(code, "write_images", options)
            affine_there = self._cupy.asarray(program.affine)
            self._cupy.cuda.get_current_stream().synchronize()  # other streams read it
            self._kernels[key] = kernel, affine_there
        return self._kernels[key]


def _decoder(codec: Any, index: int) -> Any:
    """Return a decoder that leaves what it can to the JPEG engine, where the GPU has one, and nothing to the CPU."""
    kinds = codec.BackendKind
    backends = [
        codec.Backend(kinds.HW_GPU_ONLY, load_hint=1.0),
        codec.Backend(kinds.GPU_ONLY),
        codec.Backend(kinds.HYBRID_CPU_GPU),
    ]
    return codec.Decoder(
        device_id=index, backends=backends, max_num_cpu_threads=_THREADS, options=":fancy_upsampling=1"
    )


def batch_of(leaf: Any) -> ImageBatch:
    """Return the images of a leaf as a batch, or raise an error if they give no array: other sizes, or damage."""
    from penstock.image.deferred import chain_of, geometry_of

    images = encoded_images(leaf) or []
    ops = images[0].ops
    if any(image.ops is not ops and image.ops != ops for image in images):
        raise ElementError("the images of a batch went through different operations after decode(device=)")
    chain = chain_of(cast("tuple[ImageOperation, ...]", ops))
    draws = np.array([image.draws for image in images], np.uint64)
    geometry, elsewhere = geometry_of(chain, [image.data for image in images], draws)
    composed = {i: images[i].decoded() for i in elsewhere}
    shapes = {chain.shape(*size) for i, size in enumerate(geometry[:, 12:14].tolist()) if i not in composed}
    shapes |= {pixels.shape for pixels in composed.values()}
    if len(shapes) > 1:
        raise ElementError(
            f"the images of a batch have different shapes, such as {' and '.join(map(str, sorted(shapes)[:2]))}: add "
            "ps.image.resize or a crop after decode(device=), with a size of two numbers"
        )
    return ImageBatch(images, chain, geometry, composed, (len(images), *shapes.pop()), chain.dtype)


def beside(make: Callable[[], Any]) -> Future[Any]:
    """Call `make` in a thread of its own, which ends with it, while the consumer goes on."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(make())
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            future.set_exception(error)

    Thread(target=run, name="penstock-images").start()
    return future


def not_on(device: str) -> PlanError:
    """Return the error for encoded images that go to a device that does not decode them."""
    return PlanError(
        f"decode(device='cuda') leaves decoding to a feed on one CUDA device, to_torch('cuda') or to_jax('gpu'), but "
        f"this feed is for {device}: leave out device= to decode on the CPU"
    )
