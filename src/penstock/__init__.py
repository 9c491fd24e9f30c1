"""Penstock: the input pipeline for training runs.

>>> import penstock as ps
>>> ds = ps.Dataset.range(10).shuffle(seed=0).map(lambda x: x * x).batch(4)
>>> sum(len(batch) for batch in ds)
10
"""

import sys
from typing import TYPE_CHECKING

# First, and from here: a deeper import of NumPy crosses a boundary of Python 3.11's stack of frames, which grows by
# pieces, so that call after call maps and unmaps one: 1,558 times, for half the time of all other imports.
import numpy as _numpy  # noqa: F401, ICN001  # pyright: ignore[reportUnusedImport]

from penstock.core import errors
from penstock.core.errors import PlanWarning
from penstock.core.lazy import names_on_demand
from penstock.core.lengths import INFINITE, UNKNOWN

if TYPE_CHECKING:
    from penstock import audio, executors, feed, image, records
    from penstock import testing as testing
    from penstock import tf_data as tf_data
    from penstock.core import on_error
    from penstock.core.events import RunEvent
    from penstock.core.on_error import ErrorBudget
    from penstock.core.options import AUTOTUNE, Options
    from penstock.core.tunings import TaskTuning, Tuning
    from penstock.core.verdicts import Verdict
    from penstock.dataset.check import Check, OperationCheck
    from penstock.dataset.dataset import Dataset
    from penstock.dataset.describing.description import Description, LeafDescription
    from penstock.dataset.diagnose import Diagnosis, diagnose
    from penstock.dataset.iterator import Iterator
    from penstock.dataset.readers.arrays import read_hdf5, read_numpy, read_zarr
    from penstock.dataset.readers.files import read_files, read_image_folder
    from penstock.dataset.readers.lines import read_json, read_text
    from penstock.dataset.readers.records import read_fixed_length, read_tfrecord
    from penstock.dataset.readers.shards import read_litdata, read_mds
    from penstock.dataset.readers.tables import read_arrow, read_csv, read_parquet, read_sql
    from penstock.dataset.readers.tar import read_tar
    from penstock.dataset.row_explanation import OperationOnRow, RowExplanation
    from penstock.dataset.show import show
    from penstock.dataset.simulate import Simulation, StorageModel, simulate
    from penstock.dataset.switch import Switch
    from penstock.elements.ragged import Ragged
    from penstock.elements.sparse import Sparse
    from penstock.elements.spec import ArraySpec, ObjectSpec, RaggedSpec, SparseSpec
    from penstock.lint.finding import Finding
    from penstock.ops.group.pack import pack_efficiency
    from penstock.plan.difference import OperationDiff, PlanDiff
    from penstock.plan.locate import Record
    from penstock.watch.sheet.contact_sheet import ContactSheet
    from penstock.watch.stats import OperationStats, Stats

__version__ = "0.1.0"

__all__ = [
    "AUTOTUNE",
    "INFINITE",
    "UNKNOWN",
    "ArraySpec",
    "Check",
    "ContactSheet",
    "Dataset",
    "Description",
    "Diagnosis",
    "ErrorBudget",
    "Finding",
    "Iterator",
    "LeafDescription",
    "ObjectSpec",
    "OperationCheck",
    "OperationDiff",
    "OperationOnRow",
    "OperationStats",
    "Options",
    "PlanDiff",
    "PlanWarning",
    "Ragged",
    "RaggedSpec",
    "Record",
    "RowExplanation",
    "RunEvent",
    "Simulation",
    "Sparse",
    "SparseSpec",
    "Stats",
    "StorageModel",
    "Switch",
    "TaskTuning",
    "Tuning",
    "Verdict",
    "audio",
    "diagnose",
    "errors",
    "executors",
    "feed",
    "image",
    "on_error",
    "pack_efficiency",
    "read_arrow",
    "read_csv",
    "read_files",
    "read_fixed_length",
    "read_hdf5",
    "read_image_folder",
    "read_json",
    "read_litdata",
    "read_mds",
    "read_numpy",
    "read_parquet",
    "read_sql",
    "read_tar",
    "read_text",
    "read_tfrecord",
    "read_zarr",
    "records",
    "show",
    "simulate",
]

_PLACES = {
    "audio": "penstock.audio",
    "executors": "penstock.executors",
    "feed": "penstock.feed",
    "image": "penstock.image",
    "records": "penstock.records",
    "testing": "penstock.testing",
    "tf_data": "penstock.tf_data",
    "on_error": "penstock.core",
    "ErrorBudget": "penstock.core.on_error",
    "RunEvent": "penstock.core.events",
    "read_hdf5": "penstock.dataset.readers.arrays",
    "read_numpy": "penstock.dataset.readers.arrays",
    "read_zarr": "penstock.dataset.readers.arrays",
    "read_files": "penstock.dataset.readers.files",
    "read_image_folder": "penstock.dataset.readers.files",
    "read_json": "penstock.dataset.readers.lines",
    "read_text": "penstock.dataset.readers.lines",
    "read_fixed_length": "penstock.dataset.readers.records",
    "read_tfrecord": "penstock.dataset.readers.records",
    "read_litdata": "penstock.dataset.readers.shards",
    "read_mds": "penstock.dataset.readers.shards",
    "Switch": "penstock.dataset.switch",
    **dict.fromkeys(("AUTOTUNE", "Options"), "penstock.core.options"),
    **dict.fromkeys(("TaskTuning", "Tuning"), "penstock.core.tunings"),
    "Verdict": "penstock.core.verdicts",
    "read_arrow": "penstock.dataset.readers.tables",
    "read_csv": "penstock.dataset.readers.tables",
    "read_parquet": "penstock.dataset.readers.tables",
    "read_sql": "penstock.dataset.readers.tables",
    "read_tar": "penstock.dataset.readers.tar",
    "Ragged": "penstock.elements.ragged",
    "Sparse": "penstock.elements.sparse",
    **dict.fromkeys(("ArraySpec", "ObjectSpec", "RaggedSpec", "SparseSpec"), "penstock.elements.spec"),
    "Dataset": "penstock.dataset.dataset",
    **dict.fromkeys(("Check", "OperationCheck"), "penstock.dataset.check"),
    **dict.fromkeys(("Description", "LeafDescription"), "penstock.dataset.describing.description"),
    **dict.fromkeys(("Diagnosis", "diagnose"), "penstock.dataset.diagnose"),
    "ContactSheet": "penstock.watch.sheet.contact_sheet",
    **dict.fromkeys(("Simulation", "StorageModel", "simulate"), "penstock.dataset.simulate"),
    "Finding": "penstock.lint.finding",
    "Iterator": "penstock.dataset.iterator",
    **dict.fromkeys(("OperationOnRow", "RowExplanation"), "penstock.dataset.row_explanation"),
    **dict.fromkeys(("OperationStats", "Stats"), "penstock.watch.stats"),
    **dict.fromkeys(("OperationDiff", "PlanDiff"), "penstock.plan.difference"),
    "Record": "penstock.plan.locate",
    "pack_efficiency": "penstock.ops.group.pack",
    "show": "penstock.dataset.show",
}
"""The modules of names that are imported on first use."""

sys.modules[f"{__name__}.errors"] = errors  # for `from penstock.errors import ...`

if not TYPE_CHECKING:
    __getattr__ = names_on_demand(__name__, _PLACES, "Dataset")


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
