"""The manifest of a saved dataset: the nesting and leaves of its elements, and the size of every file."""

from __future__ import annotations

import ast
import json
import operator
import os
from dataclasses import asdict
from typing import Any

import numpy as np

from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.elements.nested.plain import element_of
from penstock.elements.nested.structure import Structure, flatten, unflatten
from penstock.elements.spec import ArraySpec, ObjectSpec, Spec
from penstock.kernels.records import crc32c

NAME = "penstock.json"
FORMAT = "penstock dataset"
_VERSION = 3
VERSIONS = (1, 2, 3)
"""The supported versions: the first has no checksums, the second those of blocks of 256 KiB."""
SUMS = "penstock.crc32c"
"""The usual name of the file of checksums."""
CHECKSUM_BLOCK = 1 << 13
"""Bytes of a file that share one checksum: few, because rows of a remote file are read by whole blocks."""
_BLOCK_OF_VERSION_2 = 1 << 18
_MOST = 1 << 62
TEXTS: dict[str, type] = {"bytes": bytes, "str": str}


@frozen()
class SavedLeaf:
    """One leaf of the elements: `array`, `uneven` (arrays whose shapes differ), `bytes` or `str`.

    File names begin with `file`. An array has `.npy`, of shape (n, *shape); the others have `.values.npy`, all values
    end to end, and `.offsets.npy`, of shape (n + 1,); `uneven` also has `.shapes.npy`, of shape (n, rank).
    """

    file: str
    kind: str
    dtype: str
    shape: tuple[int | None, ...]

    def spec(self) -> ArraySpec | ObjectSpec:
        """Return the spec of the leaf."""
        if self.kind in TEXTS:
            return ObjectSpec(TEXTS[self.kind])
        return ArraySpec(self.shape, _dtype_of(self.dtype))

    @property
    def files(self) -> tuple[str, ...]:
        """The names of its files."""
        if self.kind == "array":
            return (f"{self.file}.npy",)
        parts = ("values", "offsets", "shapes") if self.kind == "uneven" else ("values", "offsets")
        return tuple(f"{self.file}.{part}.npy" for part in parts)


@frozen()
class Manifest:
    """A saved dataset: the number of its elements, their nesting (`None` if unknown) and leaves, and its origin.

    `digest` identifies the content, `fingerprint` the pipeline that made it. The file `sums` has the CRC-32C of each
    `block` bytes of each file, in the order of the leaves, and `crc32c` is the checksum of these; `None` without
    checksums.
    """

    length: int
    nesting: Any
    leaves: tuple[SavedLeaf, ...]
    sizes: dict[str, int]
    digest: str
    fingerprint: str
    crc32c: int | None = None
    sums: str = SUMS
    block: int = CHECKSUM_BLOCK

    @property
    def files(self) -> list[str]:
        """The names of the files of all leaves."""
        return [name for leaf in self.leaves for name in leaf.files]

    @property
    def structure(self) -> Structure:
        """The structure of one element."""
        return flatten(None if self.nesting is None else element_of(self.nesting))[1]

    def spec(self) -> Spec | None:
        """Return the spec of one element; `None` if there is no element and the plan had no spec."""
        return None if self.nesting is None else unflatten(self.structure, [leaf.spec() for leaf in self.leaves])

    def write(self, folder: str) -> None:
        """Write the manifest into the folder, once all other files are complete."""
        told = {"format": FORMAT, "version": _VERSION, **asdict(self)}
        told["checksum"] = _checksum(told)
        with open(os.path.join(folder, NAME), "w", encoding="utf-8") as file:
            json.dump(told, file, indent=1)
            file.flush()
            os.fsync(file.fileno())


def read_manifest(folder: str) -> Manifest:
    """Return the manifest of a folder; raise a `DataError` if its files are missing or incomplete."""
    if not os.path.isdir(folder):
        kind = NotADirectoryError if os.path.exists(folder) else FileNotFoundError
        raise kind(f"load({folder!r}): the folder does not exist; save a dataset with ds.save(path)")
    try:
        with open(os.path.join(folder, NAME), "rb") as file:
            content = file.read()
    except FileNotFoundError:
        raise DataError(f"load({folder!r}): it has no {NAME}, so it is not a dataset saved by ds.save(path)") from None
    manifest = parsed_manifest(folder, content)
    for name in manifest.files:
        path = os.path.join(folder, name)
        check_saved_size(folder, manifest, name, os.path.getsize(path) if os.path.isfile(path) else None)
    return manifest


def parsed_manifest(folder: str, content: bytes) -> Manifest:
    """Return the manifest of a folder with this content; raise a `DataError` if it is not valid."""
    try:
        told = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DataError(f"load({folder!r}): its {NAME} cannot be read: {error}") from None
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise DataError(f"load({folder!r}): its {NAME} does not describe a dataset saved by ds.save(path)")
    if told.get("version") not in VERSIONS:
        raise DataError(
            f"load({folder!r}): it has version {told.get('version')!r} of the format, and this Penstock reads "
            f"{', '.join(map(str, VERSIONS))}; load it with the release that saved it"
        )
    if told["version"] > 1 and told.get("checksum") != _checksum(told):
        raise DataError(f"load({folder!r}): its {NAME} is damaged: its checksum does not match")
    try:
        return _from_json(told)
    except Exception as error:  # noqa: BLE001 - NumPy parses some dtypes as Python
        raise DataError(f"load({folder!r}): its {NAME} is incomplete or has another form: {error}") from None


def check_saved_size(folder: str, manifest: Manifest, name: str, size: int | None) -> None:
    """Raise a `DataError` if a file is missing (`None`), or has another size than when it was saved."""
    if size is None or size != manifest.sizes.get(name):
        has = "is missing" if size is None else f"has {size:,} bytes, not {manifest.sizes.get(name, 0):,}"
        raise DataError(f"load({folder!r}): {name} {has}; copy the whole folder again, or save it again")


def _from_json(told: dict[str, Any]) -> Manifest:
    leaves = tuple(
        SavedLeaf(leaf["file"], leaf["kind"], leaf["dtype"], _shape(leaf["shape"])) for leaf in told["leaves"]
    )
    sizes = {str(name): operator.index(size) for name, size in told["sizes"].items()}
    length = operator.index(told["length"])
    crc = operator.index(told["crc32c"]) if told["version"] > 1 else None
    sums = str(told.get("sums", SUMS))
    block = operator.index(told["block"]) if told["version"] > 2 else _BLOCK_OF_VERSION_2
    digest, fingerprint = str(told["digest"]), str(told["fingerprint"])
    made = Manifest(length, told["nesting"], leaves, sizes, digest, fingerprint, crc, sums, block)
    if not 0 <= length < _MOST:
        raise ValueError("length")
    if made.structure.num_leaves != len(leaves):
        raise ValueError(f"{len(leaves)} leaves")
    if not 0 < block < _MOST:
        raise ValueError("block")
    if os.path.basename(sums) != sums:
        raise ValueError(f"checksums in {sums!r}")
    for leaf in leaves:
        if leaf.kind not in ("array", "uneven", *TEXTS) or os.path.basename(leaf.file) != leaf.file:
            raise ValueError(f"leaf {leaf.file!r} of kind {leaf.kind!r}")
        leaf.spec()
    return made


def _checksum(told: dict[str, Any]) -> int:
    """Return the checksum of everything else in the manifest."""
    said = {name: value for name, value in told.items() if name != "checksum"}
    return crc32c(json.dumps(said, sort_keys=True).encode())


def _shape(told: Any) -> tuple[int | None, ...]:
    shape = tuple(None if size is None else operator.index(size) for size in told)
    if not all(size is None or 0 <= size < _MOST for size in shape):
        raise ValueError(f"shape {shape}")
    return shape


def _dtype_of(text: str) -> np.dtype[Any]:
    """Return the dtype with this `str`; the text of a structured dtype is Python code, and is rejected."""
    return np.dtype(ast.literal_eval(text) if text[:1] in ("[", "{") else text)
