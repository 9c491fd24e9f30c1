"""Datasets of the contents of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.core.checks import check_flag, check_names
from penstock.dataset.arguments.wrong_names import helpful
from penstock.dataset.dataset import Dataset
from penstock.dataset.methods.read import reading
from penstock.sources.files import FileBytes
from penstock.sources.folder import IMAGE_EXTENSIONS, image_folder, remote_image_folder
from penstock.storage.paths import Pattern, find_files, list_folders, urls_of


@helpful
def read_files(
    paths: Pattern | Sequence[Pattern], *, storage_options: Mapping[str, Any] | None = None
) -> Dataset[bytes]:
    """Read the content of each file as `bytes`.

    `paths` is a path or a pattern, whose matches are sorted, or a list of them, which keeps its order and duplicates:
    `zip` pairs files with the labels of the same list.

    URLs, with `storage_options` for their stores, are in docs/remote.md.

    A pattern without a match raises a `FileNotFoundError` now; an unreadable file raises an `OSError` when its element
    is made.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.bin"
    >>> file.write_bytes(b"abc")
    3
    >>> list(read_files(file))
    [b'abc']
    """
    return reading(FileBytes(find_files(paths, "read_files", storage_options=storage_options)))


@helpful
def read_image_folder(
    paths: Pattern | Sequence[Pattern],
    *,
    extensions: Sequence[str] = IMAGE_EXTENSIONS,
    allow_empty: bool = False,
    storage_options: Mapping[str, Any] | None = None,
) -> Dataset[dict[str, Any]]:
    """Read `{"image": bytes, "label": int64}` for each image of a folder with one subfolder per class, in sorted order.

    `class_names` of the dataset, and of datasets made from it, are the names of the class folders: label k is the k-th
    name. Images are found at any depth below a class, and extensions match in any case. Files next to the class folders
    are not read. A class without an image raises a `DataError`, unless `allow_empty`. In several folders, or those that
    match a pattern, class folders of the same name are one class. A folder may be the URL of a prefix, without
    wildcards; `storage_options` are for its store (docs/remote.md).

    >>> import pathlib, tempfile
    >>> photos = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("dog", "cat"):
    ...     (photos / name).mkdir()
    ...     _ = (photos / name / "1.jpg").write_bytes(b"...")
    >>> ds = read_image_folder(photos)
    >>> ds.class_names, int(ds[1]["label"])
    (('cat', 'dog'), 1)
    """
    call = "read_image_folder"
    endings, allow_empty = check_names(call, "extensions", extensions), check_flag(call, "allow_empty", allow_empty)
    if (urls := urls_of(call, paths, storage_options)) is not None:
        return reading(remote_image_folder(urls, storage_options, extensions=endings, allow_empty=allow_empty))
    return reading(image_folder(list_folders(paths, call), extensions=endings, allow_empty=allow_empty))
