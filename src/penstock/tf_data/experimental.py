"""`tf.data.experimental`: the older spellings, most of them functions for `apply`.

>>> from penstock import tf_data
>>> ds = tf_data.Dataset.range(6).apply(tf_data.experimental.map_and_batch(lambda x: x * x, batch_size=4))
>>> [batch.tolist() for batch in ds]
[[0, 1, 4, 9], [16, 25]]
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from penstock.core.attributes import unknown_in_room
from penstock.core.checks import check_flag, check_list, whole
from penstock.core.frozen import frozen
from penstock.core.options import AUTOTUNE
from penstock.plan.types import INFINITE as INFINITE_CARDINALITY
from penstock.plan.types import UNKNOWN as UNKNOWN_CARDINALITY
from penstock.tf_data import tensors
from penstock.tf_data.absent import OF_EXPERIMENTAL, unknown_name
from penstock.tf_data.constructed import constructed
from penstock.tf_data.csv import CsvDataset, make_csv_dataset
from penstock.tf_data.dataset import Dataset, made_as, ported
from penstock.tf_data.options import (
    AutoShardPolicy,
    AutotuneOptions,
    DistributeOptions,
    OptimizationOptions,
    ThreadingOptions,
)

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "AutotuneOptions",
    "Counter",
    "CsvDataset",
    "DistributeOptions",
    "OptimizationOptions",
    "RandomDataset",
    "Reducer",
    "TFRecordWriter",
    "ThreadingOptions",
    "assert_cardinality",
    "at",
    "bucket_by_sequence_length",
    "cardinality",
    "choose_from_datasets",
    "dense_to_ragged_batch",
    "dense_to_sparse_batch",
    "enumerate_dataset",
    "from_list",
    "get_single_element",
    "get_structure",
    "group_by_reducer",
    "group_by_window",
    "ignore_errors",
    "load",
    "make_csv_dataset",
    "map_and_batch",
    "pad_to_cardinality",
    "parallel_interleave",
    "rejection_resample",
    "sample_from_datasets",
    "save",
    "scan",
    "shuffle_and_repeat",
    "snapshot",
    "take_while",
    "unbatch",
    "unique",
]

Transformation: TypeAlias = Callable[[Dataset[Any]], Any]


def _applied(method: str) -> Callable[..., Transformation]:
    """Return a function that takes a method's arguments and returns the transformation for `apply`."""
    of_method = inspect.signature(getattr(Dataset, method))
    parameters = list(of_method.parameters.values())[1:]

    def function(*args: Any, **settings: Any) -> Transformation:
        return lambda ds: getattr(ds, method)(*args, **settings)

    function.__name__ = function.__qualname__ = method
    function.__signature__ = of_method.replace(parameters=parameters)  # pyright: ignore[reportFunctionMemberAccess] - what inspect looks at
    function.__doc__ = f"`ds.apply({method}(...))` is `ds.{method}(...)`."
    return function


assert_cardinality = _applied("assert_cardinality")
bucket_by_sequence_length = _applied("bucket_by_sequence_length")
dense_to_ragged_batch = _applied("ragged_batch")
dense_to_sparse_batch = _applied("sparse_batch")
enumerate_dataset = _applied("enumerate")
group_by_window = _applied("group_by_window")
ignore_errors = _applied("ignore_errors")
pad_to_cardinality = _applied("pad_to_cardinality")
rejection_resample = _applied("rejection_resample")
scan = _applied("scan")
snapshot = _applied("snapshot")
take_while = _applied("take_while")
unbatch = _applied("unbatch")
unique = _applied("unique")

Counter = Dataset.counter
RandomDataset = Dataset.random
sample_from_datasets = Dataset.sample_from_datasets
load = Dataset.load


def cardinality(dataset: Dataset[Any]) -> int:
    """Return the number of elements in an epoch: `dataset.cardinality()`.

    >>> cardinality(dataset=Dataset.range(3))
    3
    """
    return dataset.cardinality()


def get_single_element(dataset: Dataset[Any]) -> Any:
    """Return the only element of a dataset: `dataset.get_single_element()`.

    >>> int(get_single_element(dataset=Dataset.range(5, 6)))
    5
    """
    return dataset.get_single_element()


def save(
    dataset: Dataset[Any],
    path: str | os.PathLike[str],
    compression: str | None = None,
    shard_func: Callable[..., Any] | None = None,
    checkpoint_args: Any = None,
) -> None:
    """Write the elements of one epoch into a new folder, for `load`: `dataset.save(path)`.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "saved"
    >>> save(dataset=Dataset.range(3), path=folder)
    >>> list(load(path=folder)) == [0, 1, 2]
    True
    """
    ported(dataset).save(path, compression, shard_func, checkpoint_args)


def choose_from_datasets(
    datasets: Sequence[Dataset[Any]], choice_dataset: Dataset[Any], stop_on_empty_dataset: bool = False
) -> Any:
    """Return `Dataset.choose_from_datasets`, which here skips the choice of an empty dataset, as `tf.data` does.

    >>> from penstock.tf_data import Dataset
    >>> tens, ones = Dataset.range(0, 20, 10), Dataset.range(1)
    >>> [int(x) for x in choose_from_datasets([tens, ones], Dataset.from_tensor_slices([1, 1, 0, 0]))]
    [0, 0, 10]
    """
    return Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


def _listed(function: Callable[..., Any]) -> Callable[..., Any]:
    return constructed(function, made_as, lambda given: [tensors.as_data(each) for each in given])


@_listed
def from_list(elements: Sequence[Any]) -> Dataset[Any]:
    """Yield the elements of a list; lists among them become arrays, and an empty list raises a `ValueError`.

    >>> [row.tolist() for row in from_list([[1, 2], [3, 4]]).batch(2)]
    [[[1, 2], [3, 4]]]
    """
    listed = check_list("from_list", "elements", elements, "elements")
    if not listed:
        raise ValueError("from_list(elements=[]): expected at least one element")
    return ported(Dataset.from_source([np.asarray(each) if isinstance(each, list) else each for each in listed]))


def at(dataset: Dataset[Any], index: int) -> Any:
    """Return the element at position `index`; a negative position, or one past the end, raises an `IndexError`.

    `dataset[index]` also counts from the end.

    >>> int(at(Dataset.range(10, 20), 3))
    13
    """
    if whole("at", "index", index) < 0:
        raise IndexError(f"at(index={index}): positions count from 0; dataset[{index}] counts from the end")
    return dataset[index]


def get_structure(dataset_or_iterator: Dataset[Any]) -> Any:
    """Return the `element_spec` of a dataset, or of one of its iterators.

    >>> from penstock.tf_data import Dataset
    >>> get_structure(Dataset.range(3).batch(2)), get_structure(iter(Dataset.range(3)))
    (int64[?], int64)
    """
    return dataset_or_iterator.element_spec


@frozen()
class Reducer:
    """The functions of `group_by_reducer` for one key: the first state, the next state, and the result.

    >>> Reducer(lambda key: 0, lambda total, x: total + x, lambda total: total).init_func(3)
    0
    """

    init_func: Callable[[int], Any]
    reduce_func: Callable[[Any, Any], Any]
    finalize_func: Callable[[Any], Any]


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Transformation:
    """Return `ds.group_by_reducer` with the functions of a `Reducer`, for `apply`.

    >>> from penstock.tf_data import Dataset
    >>> total = Reducer(lambda key: 0, lambda total, x: total + x, lambda total: total)
    >>> list(Dataset.range(10).apply(group_by_reducer(lambda x: x % 3, total)))
    [18, 12, 15]
    """
    functions = (reducer.init_func, reducer.reduce_func, reducer.finalize_func)
    return lambda ds: ds.group_by_reducer(key_func, *functions)


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: int,
    num_parallel_batches: int | None = None,
    drop_remainder: bool = False,
    num_parallel_calls: int | None = None,
) -> Transformation:
    """Return `map` and then `batch`, which are one task anyway, for `apply`; `num_parallel_batches` is ignored.

    >>> from penstock.tf_data import Dataset
    >>> [b.tolist() for b in Dataset.range(3).apply(map_and_batch(lambda x: -x, 2, drop_remainder=True))]
    [[0, -1]]
    """
    return lambda ds: ds.map(map_func, num_parallel_calls).batch(batch_size, drop_remainder)


def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: int,
    block_length: int = 1,
    sloppy: bool | None = False,
    buffer_output_elements: int | None = None,
    prefetch_input_elements: int | None = None,
) -> Transformation:
    """Return `interleave` with as many workers as pay off, for `apply`; the sizes of buffers are ignored.

    >>> list(Dataset.range(2).apply(parallel_interleave(lambda n: [int(n)] * 2, cycle_length=2)))
    [0, 1, 0, 1]
    """
    deterministic = None if sloppy is None else not check_flag("parallel_interleave", "sloppy", sloppy)
    return lambda ds: ds.interleave(map_func, cycle_length, block_length, AUTOTUNE, deterministic)


def shuffle_and_repeat(buffer_size: int, count: int | None = None, seed: int | None = None) -> Transformation:
    """Return `shuffle` and then `repeat`, for `apply`.

    >>> Dataset.range(3).apply(shuffle_and_repeat(3, count=2)).cardinality()
    6
    """
    return lambda ds: ds.shuffle(buffer_size, seed).repeat(count)


class TFRecordWriter:
    """Writes the elements of a dataset, which are texts or bytes, as the records of one file.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.tfrecord"
    >>> TFRecordWriter(str(path)).write(Dataset.from_source([b"one", b"two"]))
    >>> path.stat().st_size
    38
    """

    def __init__(self, filename: str | os.PathLike[str], compression_type: str | None = None) -> None:
        self._path = os.fspath(filename)
        self._compression = (compression_type or "").lower() or None

    def write(self, dataset: Dataset[Any]) -> None:
        """Write the elements of one epoch; an existing file is replaced, as by `tf.data`."""
        dataset.write_tfrecord(self._path, compression=self._compression, overwrite=True)


def __getattr__(name: str) -> Any:
    raise unknown_in_room(unknown_name(__name__, name, OF_EXPERIMENTAL, __all__), __name__, name)
