"""The names and call forms of `tf.data`, so that a pipeline whose functions are NumPy ports by changing an import.

docs/from-tf-data.md describes their behavior, and how it differs from that of `tf.data`. A name that Penstock does not
have raises an error that names the replacement.

>>> from penstock import tf_data
>>> ds = tf_data.Dataset.range(10, name="numbers").shuffle(10, seed=1).batch(4, num_parallel_calls=tf_data.AUTOTUNE)
>>> [len(batch) for batch in ds.prefetch(tf_data.AUTOTUNE)]
[4, 4, 2]
"""

from typing import Any

from penstock.core.attributes import unknown_in_room
from penstock.core.options import AUTOTUNE
from penstock.plan.types import INFINITE as INFINITE_CARDINALITY
from penstock.plan.types import UNKNOWN as UNKNOWN_CARDINALITY
from penstock.tf_data import experimental
from penstock.tf_data.absent import OF_DATA, unknown_name
from penstock.tf_data.dataset import Dataset
from penstock.tf_data.iterator import Iterator
from penstock.tf_data.options import Options, ThreadingOptions
from penstock.tf_data.readers import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
from penstock.tf_data.signature import RaggedTensorSpec, SparseTensorSpec, TensorSpec

NumpyIterator = Iterator

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "FixedLengthRecordDataset",
    "Iterator",
    "NumpyIterator",
    "Options",
    "RaggedTensorSpec",
    "SparseTensorSpec",
    "TFRecordDataset",
    "TensorSpec",
    "TextLineDataset",
    "ThreadingOptions",
    "experimental",
]


def __getattr__(name: str) -> Any:
    raise unknown_in_room(unknown_name(__name__, name, OF_DATA, __all__), __name__, name)
