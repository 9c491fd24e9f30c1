"""Display of some elements of files, with their images on a contact sheet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import penstock as ps
from penstock.cli.files.formats import group_files
from penstock.cli.files.sheet import contact_sheet, save_png
from penstock.cli.files.stored import unwrap_example
from penstock.cli.files.words import kind_of_bytes, lines_of
from penstock.cli.terminal import Terminal
from penstock.core.checks import without_file_scheme
from penstock.core.errors import DataError
from penstock.elements.nested.structure import flatten

_PICTURES = ("JPEG", "PNG", "GIF", "BMP", "TIFF", "WebP")


def peek(
    patterns: Sequence[str],
    terminal: Terminal,
    *,
    name: str | None = None,
    count: int = 5,
    seed: int | None = None,
    sheet: str | None = None,
) -> bool:
    """Print `count` elements of each format, random ones with a `seed`, and draw their images on a `sheet`."""
    images: list[NDArray[np.uint8]] = []
    parts = (part for known, paths in group_files(patterns, name) for part in known.parts(paths))
    for _, whole in parts:
        dataset = whole
        if seed is not None:
            dataset = dataset.shuffle(seed=seed) if dataset.cardinality() >= 0 else dataset.shuffle(1000, seed=seed)
        try:
            for i, element in enumerate(dataset.take(count)):
                terminal.show(_place_of(dataset, i), 0)
                terminal.show("\n".join(lines_of(unwrap_example(element))))
                images.extend(images_in(unwrap_example(element)))
        except (DataError, OSError) as error:
            terminal.say(f"cannot be read: {error}", 0)
            return False
    if images:
        place = without_file_scheme(sheet or "peek.png")
        save_png(contact_sheet(images), place)
        terminal.show(f"{len(images)} image{'s' * (len(images) > 1)} on {place}", 0)
    elif sheet is not None:
        terminal.say(f"there is no image in these elements, so {sheet} was not written", 0)
    return True


def _place_of(dataset: ps.Dataset[Any], row: int) -> str:
    """Return the record and file of an element, if known."""
    return ", ".join(map(str, dataset.locate(row))) if dataset.cardinality() >= 0 else f"element {row}"


def images_in(element: Any) -> Iterator[NDArray[np.uint8]]:
    """Yield the images among an element's leaves: encoded ones that can be decoded, and arrays that look like one."""
    for leaf in flatten(element)[0]:
        if isinstance(leaf, bytes) and kind_of_bytes(leaf) in _PICTURES:
            try:
                yield ps.image.decode()(leaf)
            except DataError:
                continue  # only its first bytes look like one
        elif isinstance(leaf, np.ndarray) and leaf.dtype == np.uint8 and leaf.ndim in (2, 3) and min(leaf.shape) > 0:
            image = leaf if leaf.ndim == 3 else leaf[..., None]
            if image.shape[2] in (1, 3) and max(image.shape[:2]) > 4:
                yield image
