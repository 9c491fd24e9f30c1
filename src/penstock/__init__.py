"""Penstock: the input pipeline for training runs.

>>> import penstock as ps
>>> ds = ps.Dataset.range(10).shuffle(seed=0).map(lambda x: x * x).batch(4)
>>> sum(len(batch) for batch in ds)
10
"""

from typing import TYPE_CHECKING, Any

from penstock.core import errors
from penstock.core.errors import PlanWarning
from penstock.core.on_error import ErrorBudget, replace, skip
from penstock.core.options import AUTOTUNE, Options
from penstock.dataset.arrays import read_hdf5, read_numpy, read_zarr
from penstock.dataset.dataset import Dataset
from penstock.dataset.files import read_files, read_image_folder
from penstock.dataset.lines import read_json, read_text
from penstock.dataset.records import read_fixed_length, read_tfrecord, write_tfrecord
from penstock.dataset.switch import Switch
from penstock.dataset.tables import read_arrow, read_csv, read_parquet, read_sql
from penstock.dataset.tar import read_tar, write_tar
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.plan.node import INFINITE, UNKNOWN
from penstock.watch.efficiency import pack_efficiency

if TYPE_CHECKING:
    from penstock import audio, image, records

__all__ = [
    "AUTOTUNE",
    "INFINITE",
    "UNKNOWN",
    "Dataset",
    "ErrorBudget",
    "Options",
    "PlanWarning",
    "Ragged",
    "Sparse",
    "Switch",
    "audio",
    "errors",
    "image",
    "pack_efficiency",
    "read_arrow",
    "read_csv",
    "read_files",
    "read_fixed_length",
    "read_hdf5",
    "read_image_folder",
    "read_json",
    "read_numpy",
    "read_parquet",
    "read_sql",
    "read_tar",
    "read_text",
    "read_tfrecord",
    "read_zarr",
    "records",
    "replace",
    "skip",
    "write_tar",
    "write_tfrecord",
]


def __getattr__(name: str) -> Any:
    if name in ("audio", "image", "records", "tf_data"):  # imported by the first pipeline that needs them
        import importlib

        return importlib.import_module(f"penstock.{name}")
    raise AttributeError(f"module 'penstock' has no attribute {name!r}")
