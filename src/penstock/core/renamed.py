"""Names that something had before, so that an error about one tells the name that it has now."""

from __future__ import annotations

from collections.abc import Mapping

RENAMED: Mapping[str, Mapping[str, str]] = {
    "penstock": {
        "skip": "ps.on_error.skip",
        "replace": "ps.on_error.replace",
        "write_tar": "ds.write_tar(path), a method,",
        "write_tfrecord": "ds.write_tfrecord(path), a method,",
    },
    "Dataset": {"drawn": "draw_counts"},
    "Options": {"ignore": "ignore_lint="},
    "Dataset.batch_by_tokens": {"length_func": "element_length_func="},
    "Dataset.check": {"rows": "count="},
    "Dataset.pack": {"key": "on="},
    "Dataset.split": {"key": "key_func="},
    "Dataset.unique": {"key": "key_func="},
    "read_hdf5": {"keys": "columns="},
    "read_image_folder": {"path": "paths="},
    "read_json": {"fields": "columns=, with types= for what each is,", "defaults": "nulls="},
    "read_litdata": {"folder": "paths="},
    "read_mds": {"folder": "paths="},
    "read_tar": {"extensions": "columns="},
    "read_zarr": {"keys": "columns="},
}
"""By the module, class or function that had the name: the name now, as one writes it."""


def hint_of(place: str, name: str) -> str:
    """Return what to add to an error about a name that `place` does not have; nothing where it never had it.

    >>> hint_of("Options", "ignore"), hint_of("Options", "workers")
    ('; it is ignore_lint= now', '')
    """
    now = RENAMED.get(place, {}).get(name)
    return f"; it is {now} now" if now else ""
