"""Checks of image sizes: of arguments, and of boxes in images."""

from __future__ import annotations

from penstock.core.checks import check_count
from penstock.core.errors import ElementError
from penstock.elements.encoded import EncodedImage
from penstock.elements.spec import ArraySpec, ObjectSpec, Spec

ENCODED = ObjectSpec(EncodedImage)
"""The spec of images that a feed decodes, with whatever operations."""

MAX_PIXELS = 178_956_970
"""The default limit of pixels of an image: 512 MiB with three channels."""


def check_size(call: str, size: object) -> tuple[int, int]:
    """Return `size`, a whole number or a pair (height, width), as a pair."""
    if isinstance(size, (tuple, list)):
        if len(size) != 2:
            raise ValueError(f"{call}(size={size!r}): expected a whole number or (height, width)")
        height, width = (check_count(call, "size", side, least=1) for side in size)
    else:
        height = width = check_count(call, "size", size, least=1)
    if height * width > MAX_PIXELS:
        raise ValueError(f"{call}(size={size!r}): expected at most {MAX_PIXELS} pixels")
    return height, width


def check_fits(name: str, box: tuple[int, int], image: tuple[int, int], at: tuple[int, int] | None = None) -> None:
    """Raise unless a box of (height, width) at (top, left) lies inside an image of (height, width)."""
    top, left = at or (0, 0)
    if top + box[0] <= image[0] and left + box[1] <= image[1]:
        return
    where = f" at {at}" if at is not None else ""
    raise ElementError(
        f"{name}: a box of {box[0]}x{box[1]}{where} does not fit into an image of {image[0]}x{image[1]} "
        f"(height x width)"
    )


def sized(spec: Spec, height: int | None, width: int | None) -> Spec | None:
    """Return the spec of an image like `spec` of another size; `None` if `spec` is not the spec of an image."""
    if spec == ENCODED:
        return spec
    if not isinstance(spec, ArraySpec) or len(spec.shape) != 3:
        return None
    return ArraySpec((height, width, spec.shape[2]), spec.dtype)
