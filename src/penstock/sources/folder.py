"""A folder of images with one folder for each class."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.sources.files import FileBytes
from penstock.storage.paths import nearest_folder
from penstock.storage.remote.file import shown_url

IMAGE_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp", ".gif")


@frozen(eq=False)
class ImageFolder(FileBytes):
    """The images of a folder: `{"image": bytes, "label": int64}`; `class_names[label]` is the name of its folder."""

    class_names: tuple[str, ...] = ()


def image_folder(
    paths: Sequence[str], *, extensions: Sequence[str] = IMAGE_EXTENSIONS, allow_empty: bool = False
) -> ImageFolder:
    """Return the source of `ps.read_image_folder`: the folders in those of `paths`, sorted, are the classes 0, 1, ...

    Images are found at any depth below a class, in sorted order; extensions match in any case. Files next to the class
    folders and names that begin with a dot are ignored. A class without an image raises a `DataError` unless
    `allow_empty`; a missing folder raises a `FileNotFoundError`.
    """
    roots = list(map(os.path.expanduser, paths))
    wanted = tuple("." + extension.lower().lstrip(".") for extension in extensions)
    inside = {root: _class_names(root) for root in roots}
    names = sorted({name for each in inside.values() for name in each})
    images: list[str] = []
    labels: list[int] = []
    for label, name in enumerate(names):
        folders = [os.path.join(root, name) for root in roots if name in inside[root]]
        found = [image for folder in folders for image in _images(folder, wanted, set())]
        if not found and not allow_empty:
            raise DataError(
                f"read_image_folder: class folder {' and '.join(folders)} has no image ({' '.join(wanted)}); "
                "remove it, or pass allow_empty=True"
            )
        images += found
        labels += [label] * len(found)
    if not images:
        raise DataError(
            f"read_image_folder: no image ({' '.join(wanted)}) in the {len(names)} class folders of {', '.join(roots)}"
        )
    shown = f"read_image_folder({(paths[0] if len(paths) == 1 else list(paths))!r})"
    return ImageFolder(images, np.array(labels, np.int64), "image", shown, class_names=tuple(names))


def remote_image_folder(
    urls: Sequence[str],
    options: Mapping[str, Any] | None,
    *,
    extensions: Sequence[str] = IMAGE_EXTENSIONS,
    allow_empty: bool = False,
) -> ImageFolder:
    """Return the source of `ps.read_image_folder` for prefixes of object stores, each listed once."""
    from penstock.storage.remote.listing import find_below

    wanted = tuple("." + extension.lower().lstrip(".") for extension in extensions)
    of_class: dict[str, list[str]] = {}
    for url in urls:
        start = len(shown_url(url).rstrip("/")) + 1
        of_root: dict[str, list[str]] = {}
        for file in find_below(url, options):
            name, _, inner = file[start:].partition("/")
            if inner:
                images = of_root.setdefault(name, [])
                if inner.lower().endswith(wanted):
                    images.append(file)
        if not of_root:
            expected = "expected one folder for each class, like photos/cat/1.jpg"
            raise DataError(f"read_image_folder: no class folder in {shown_url(url)}; {expected}")
        for name, images in of_root.items():
            of_class.setdefault(name, []).extend(sorted(images, key=_as_walked))
    names = sorted(of_class)
    empty = next((name for name in names if not of_class[name]), None)
    if empty is not None and not allow_empty:
        raise DataError(
            f"read_image_folder: class folder {empty!r} of {shown_url(urls[0])} has no image ({' '.join(wanted)}); "
            "remove it, or pass allow_empty=True"
        )
    images = [image for name in names for image in of_class[name]]
    if not images:
        raise DataError(f"read_image_folder: no image ({' '.join(wanted)}) in {', '.join(map(shown_url, urls))}")
    labels = np.repeat(np.arange(len(names)), [len(of_class[name]) for name in names])
    shown = f"read_image_folder({(shown_url(urls[0]) if len(urls) == 1 else list(map(shown_url, urls)))!r})"
    return ImageFolder(images, labels, "image", shown, class_names=tuple(names))


def _as_walked(path: str) -> tuple[object, ...]:
    """Return a key that sorts paths as a walk finds them: the files of a folder, then those of its subfolders."""
    *folders, name = path.split("/")
    key: list[object] = []
    for folder in folders:
        key += [1, folder]
    return (*key, 0, name)


def _class_names(root: str) -> list[str]:
    """Return the sorted names of the folders in `root`; raise if there are none."""
    expected = "expected one folder for each class, like photos/cat/1.jpg"
    if not os.path.exists(root):
        raise FileNotFoundError(
            f"read_image_folder: there is no folder {os.path.abspath(root)}; {expected}; "
            f"the nearest folder that exists is {nearest_folder(root)}"
        )
    if not os.path.isdir(root):
        raise NotADirectoryError(f"read_image_folder: {root} is a file; {expected}")
    with os.scandir(root) as entries:
        names = sorted(entry.name for entry in entries if entry.is_dir() and not entry.name.startswith("."))
    if not names:
        raise DataError(f"read_image_folder: no class folder in {root}; {expected}")
    return names


def _images(folder: str, extensions: tuple[str, ...], seen: set[tuple[int, int]]) -> Iterator[str]:
    """Yield the images in `folder`, then those of its subfolders; follow links, but visit each folder once."""
    status = os.stat(folder)
    if (status.st_dev, status.st_ino) in seen:
        return
    seen.add((status.st_dev, status.st_ino))
    folders: list[str] = []
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                folders.append(entry.path)
            elif entry.name.lower().endswith(extensions):
                yield entry.path
    for inner in folders:
        yield from _images(inner, extensions, seen)
