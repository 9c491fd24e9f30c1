"""Decode the bytes of an image file: JPEG natively, other formats through Pillow."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from penstock.core.checks import check_content, check_count, is_one_of
from penstock.core.errors import DecodeError
from penstock.core.frozen import frozen
from penstock.core.lazy import require
from penstock.elements.encoded import EncodedImage
from penstock.elements.spec import ArraySpec, Spec
from penstock.image.operation import ImageOperation
from penstock.image.sizes import ENCODED, MAX_PIXELS
from penstock.kernels import image as kernel

_NO_DRAWS = np.empty((1, 0), np.uint64)
_FORMATS = ("BMP", "GIF", "JPEG", "JPEG2000", "PNG", "PPM", "TGA", "TIFF", "WEBP")  # none that runs external programs


@frozen(repr=False)
class Decode(ImageOperation):
    """Decode the bytes of an image file to `uint8` pixels, or leave that to a feed on the `device`."""

    name: ClassVar[str] = "decode"
    arguments: ClassVar[int] = 0

    channels: int = 3
    exact: bool = False
    exif: bool = False
    max_pixels: int = MAX_PIXELS
    device: Literal["cuda"] | None = None

    @property
    def here(self) -> Decode:
        """The same operation on the CPU."""
        return replace(self, device=None)

    def apply(self, image: Any, draw: int) -> Any:
        data = check_content("image", image)
        if self.device is None:
            return self._pixels(data)
        program = kernel.ImageProgram(self.max_pixels, self.channels)
        raise_failure(kernel.measure_images(program, [data], _NO_DRAWS)[1])
        return EncodedImage(data, (self.here,), (0,))

    def _pixels(self, data: bytes) -> NDArray[np.uint8]:
        program = kernel.ImageProgram(self.max_pixels, self.channels)
        sizes, outcome = kernel.measure_images(program, [data], _NO_DRAWS)
        if outcome.elsewhere:
            return _decode_with_pillow(self, data)
        raise_failure(outcome)
        pixels = np.empty((*sizes[0], self.channels), np.uint8)
        raise_failure(kernel.run_images(program, [data], _NO_DRAWS, [pixels]))
        return _turned(pixels, kernel.exif_orientation(data)) if self.exif else pixels

    def spec(self, spec: Spec) -> Spec | None:
        if self.device is not None:
            return ENCODED
        return ArraySpec((None, None, self.channels), np.dtype(np.uint8))


def decode(
    *,
    channels: int = 3,
    exact: bool = False,
    exif: bool = False,
    max_pixels: int = MAX_PIXELS,
    device: Literal["cuda"] | None = None,
) -> Decode:
    """Decode the bytes of an image file to an array of `uint8`, shape (height, width, `channels`).

    JPEG is decoded with the pixels of libjpeg-turbo (baseline and progressive, gray, color, CMYK); PNG, WebP, GIF (its
    first frame), BMP, TIFF and others need Pillow. `channels` is 3 (RGB) or 1 (luma); transparency is dropped. A
    pipeline that crops and shrinks decodes only the necessary pixels, and a box at least twice as large as its result
    at 1/2, 1/4 or 1/8 scale: `exact=True` decodes at full scale. `exif=True` rotates the image by its EXIF orientation.
    More than `max_pixels` pixels, truncated or damaged data, and other data raise a `DecodeError`; damage after the
    last row that a crop needs is not detected.

    With `device="cuda"`, elements stay files, and the feed (`to_torch("cuda")`, `to_jax("gpu")`) decodes whole batches
    on its GPU, with nvImageCodec, and runs the image operations after this one there: crops, flips and at most one
    resampling, then `normalize` and `to_chw`. The boxes are the same; pixels differ slightly from libjpeg-turbo's.

    >>> decode()(b"GIF89a")
    Traceback (most recent call last):
    penstock.core.errors.DecodeError: the image cannot be decoded: ...
    >>> decode(channels=1)
    decode(channels=1)
    """
    if check_count("decode", "channels", channels, least=1) not in (1, 3):
        raise ValueError(f"decode(channels={channels}): expected 3 (RGB) or 1 (luma)")
    for name, flag in (("exact", exact), ("exif", exif)):
        if not isinstance(flag, (bool, np.bool_)):
            raise TypeError(f"decode({name}={flag!r}): expected True or False")
    if device is not None and not is_one_of(device, "cuda"):
        raise ValueError(f"decode(device={device!r}): expected 'cuda', or None to decode on the CPU")
    return Decode(channels, bool(exact), bool(exif), check_count("decode", "max_pixels", max_pixels, least=1), device)


def raise_failure(outcome: kernel.Outcome) -> None:
    """Raise the `DecodeError` for an image that the kernel failed to decode."""
    if outcome.failed >= 0:
        raise DecodeError(f"the JPEG image cannot be decoded: {outcome.message}")


def _decode_with_pillow(decode: Decode, data: bytes) -> NDArray[np.uint8]:
    purpose = f"decoding an image that is not a JPEG (its first bytes are {data[:8]!r})"
    pillow = require("PIL.Image", extra="image", purpose=purpose)
    try:
        with pillow.open(io.BytesIO(data), formats=_FORMATS) as picture:
            width, height = picture.size
            if width * height > decode.max_pixels:
                raise DecodeError(
                    f"the image cannot be decoded: it has {width} x {height} pixels, "
                    f"more than the limit of max_pixels={decode.max_pixels}"
                )
            turn = require("PIL.ImageOps", extra="image", purpose=purpose).exif_transpose
            pixels = _pixels_of(turn(picture) if decode.exif else picture, decode.channels)
    except DecodeError:
        raise
    except pillow.UnidentifiedImageError:
        raise DecodeError(
            f"the image cannot be decoded: its {len(data)} bytes begin with {data[:8]!r}, which is not a known format"
        ) from None
    except Exception as error:  # Pillow's plugins raise any kind of error
        raise DecodeError(f"the image cannot be decoded: {error} ({len(data)} bytes, from {data[:8]!r})") from error
    return pixels.reshape(*pixels.shape[:2], decode.channels)


def _pixels_of(picture: Any, channels: int) -> NDArray[np.uint8]:
    if picture.mode.startswith("I"):  # 16 bits per pixel, which Pillow would clip
        values = np.asarray(picture).astype(np.int64)
        gray = np.clip(values >> 8, 0, 255).astype(np.uint8)[..., None]
        return np.repeat(gray, channels, axis=2)
    mode = "RGB" if channels == 3 else "L"
    if picture.mode == "P" and channels == 1:
        picture = picture.convert("RGB")
    return np.array(picture if picture.mode == mode else picture.convert(mode))


def _turned(pixels: NDArray[np.uint8], orientation: int) -> NDArray[np.uint8]:
    """Return the image with an EXIF orientation undone: 2 mirrored, 3 upside down, 4 both, 5 to 8 also transposed."""
    if orientation >= 5:
        pixels = pixels.transpose(1, 0, 2)
        orientation = {5: 1, 6: 2, 7: 3, 8: 4}[orientation]
    if orientation in (2, 3):
        pixels = pixels[:, ::-1]
    if orientation in (3, 4):
        pixels = pixels[::-1]
    return np.ascontiguousarray(pixels)
