"""Whole files as samples that keep their names, and the labels of class folders."""

from __future__ import annotations

import os
from collections.abc import Sequence
from glob import has_magic

import penstock as ps
from penstock.cli.files.stored import StoredSample
from penstock.core.frozen import frozen
from penstock.sources.folder import IMAGE_EXTENSIONS
from penstock.sources.tar.samples import KEY
from penstock.storage.remote.file import path_of_url

PATH = "path"
"""The name of the part that holds a file's path below the folder."""
_FILE = "file"


@frozen()
class NamedFiles:
    """The files at `paths` below the folder `root`, one sample per file.

    As columns, a sample has the key (the path below the folder, without extension), the path, and the content. As
    `members` of a tar file, a sample has the key and the content, whose name is the extension; and the path, unless key
    and extension form the path of every file. Images in class folders also have a label, numbered as by
    `read_image_folder`, and as columns the name of the class.
    """

    paths: Sequence[str]
    root: str
    members: bool

    def dataset(self) -> ps.Dataset[StoredSample]:
        """Return the dataset of the samples."""
        below = [os.path.relpath(path, self.root) for path in self.paths]
        classes = classes_of(below)
        parts = [_extension(path) if self.members else ("image" if classes else _FILE) for path in below]
        keys = [os.path.splitext(path)[0] for path in below]
        known: list[StoredSample] = [{KEY: key} for key in keys]
        if not self.members or any(f"{key}.{part}" != path for key, part, path in zip(keys, parts, below, strict=True)):
            known = [{**sample, PATH: path} for sample, path in zip(known, below, strict=True)]
        if classes:
            known = [{**sample, **self._labelled(path, classes)} for sample, path in zip(known, below, strict=True)]
        named = (ps.Dataset.from_source(known), ps.Dataset.from_source(parts), ps.read_files(list(self.paths)))
        return ps.Dataset.zip(named).map(lambda sample, part, content: {**sample, part: content})

    def _labelled(self, path: str, classes: dict[str, int]) -> StoredSample:
        label = classes[_first(path)]
        return {"cls": str(label)} if self.members else {"label": label, "class": _first(path)}


def root_of(patterns: Sequence[str]) -> str:
    """Return the deepest folder that contains all possible matches of the patterns.

    >>> root_of(["photos/cat/*.jpg", "photos/dog/*.jpg"])
    'photos'
    """
    folders: list[str] = []
    for pattern in patterns:
        folder = os.path.expanduser(pattern)
        if not has_magic(folder) and not os.path.isdir(folder):
            folder = os.path.dirname(folder)
        while has_magic(folder):
            folder = os.path.dirname(folder)
        folders.append(folder or os.curdir)
    return os.path.commonpath(folders) if len({os.path.isabs(folder) for folder in folders}) == 1 else os.curdir


def classes_of(paths: Sequence[str]) -> dict[str, int]:
    """Return the label of each class folder, if all paths are images in such folders; else nothing.

    >>> classes_of(["dog/2.jpg", "cat/1.png"]), classes_of(["cat/1.png", "readme.txt"])
    ({'cat': 0, 'dog': 1}, {})
    """
    if not all(os.sep in path and path.lower().endswith(IMAGE_EXTENSIONS) for path in paths):
        return {}
    return {name: label for label, name in enumerate(sorted(set(map(_first, paths))))}


def image_kinds(paths: Sequence[str]) -> list[str]:
    """Return the extensions that the images among these files have in a tar file, sorted.

    >>> image_kinds(["a.png", "b.jpeg", "c.jpg", "readme.txt"])
    ['jpg', 'png']
    """
    return sorted({_extension(path) for path in paths if path.lower().endswith(IMAGE_EXTENSIONS)})


def _first(path: str) -> str:
    """Return the folder of a path that is nearest to the root."""
    return path.split(os.sep, 1)[0]


def _extension(path: str) -> str:
    extension = os.path.splitext(path_of_url(path))[1][1:].lower()
    return {"": _FILE, "jpeg": "jpg"}.get(extension, extension)
