"""Former names of functions and arguments, so that an error about a former name shows the new one."""

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
    "read_json": {"fields": "columns=, with types= for their types,", "defaults": "nulls="},
    "read_litdata": {"folder": "paths="},
    "read_mds": {"folder": "paths="},
    "read_tar": {"extensions": "columns="},
    "read_zarr": {"keys": "columns="},
}
"""New names as they are written, by the module, class or function that had the former name."""


def hint_of(place: str, name: str) -> str:
    """Return the addition to an error about an unknown name of `place`; empty text if `place` never had the name.

    >>> hint_of("Options", "ignore"), hint_of("Options", "workers")
    ('; it is ignore_lint= now', '')
    """
    now = RENAMED.get(place, {}).get(name)
    return f"; it is {now} now" if now else ""
