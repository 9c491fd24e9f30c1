"""`tf.data.Dataset`: Penstock's dataset, with the call forms of `tf.data`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, ClassVar

import numpy as np

from penstock.core.checks import check_flag, check_list, check_path, is_one_of
from penstock.core.errors import PlanError
from penstock.core.options import Options as PenstockOptions
from penstock.dataset.arguments.constructors import on_the_class
from penstock.dataset.dataset import Dataset as PenstockDataset
from penstock.dataset.handle import Handle, T_co
from penstock.elements.spec import compatible, describe
from penstock.engine.runs.scope import CarryOver
from penstock.storage.paths import Pattern
from penstock.tf_data import tensors
from penstock.tf_data.absent import OF_TENSORFLOW, unknown_name
from penstock.tf_data.constructed import constructed, has_tensors_of
from penstock.tf_data.iterator import Iterator
from penstock.tf_data.labelled import check_name, labelled
from penstock.tf_data.options import Options
from penstock.tf_data.signature import Fitting, dtypes_of, of_types, signature_of


def made_as(made: Any, with_tensors: bool) -> Any:
    """Return the result of a constructor as a dataset of `tf_data`, with TensorFlow's tensors or without."""
    if not with_tensors:
        return ported(made)
    from penstock.tf_data.tensor_dataset import TensorDataset

    return made if isinstance(made, TensorDataset) else TensorDataset(made._plan)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - ours


def _constructor(method: Callable[..., Any], prepared: Callable[[Any], Any] | None = None) -> Any:
    return constructed(method, made_as, prepared)


def _with_functions(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that takes functions, also functions of tensors: these make it one of a `TensorDataset`."""

    @wraps(method)
    def call(self: Dataset[Any], *args: Any, tensors: bool | None = None, **settings: Any) -> Any:
        if not self.has_tensors and has_tensors_of(method.__name__, tensors, [*args, *settings.values()]):
            return getattr(made_as(self, with_tensors=True), method.__name__)(*args, tensors=tensors, **settings)
        return method(self, *args, **settings)

    return call


def ported(made: Any) -> Any:
    """Return the same dataset with the call forms of `tf.data`; any other value is returned unchanged.

    >>> ported(Dataset.range(3)).take(2, name="two")
    <Dataset of 2: int64 | range(3) → take(2)>
    """
    return Dataset(made._plan) if isinstance(made, Handle) and not isinstance(made, Dataset) else made  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - ours


class Dataset(PenstockDataset[T_co]):
    """A pipeline, with the call forms of `tf.data.Dataset`.

    The class is a `penstock.Dataset` with all its methods and the same results. Every method takes a keyword `name`,
    which is only a label. Arguments for behavior of `tf.data` that Penstock lacks raise errors that name the
    replacement.

    >>> from penstock import tf_data
    >>> ds = tf_data.Dataset.from_tensor_slices({"x": [1, 2, 3]})
    >>> ds.map(lambda row: row["x"] * 2, num_parallel_calls=tf_data.AUTOTUNE, name="double").batch(2, name="pairs")
    <Dataset of 2: ? | from_tensor_slices → map(lambda) → batch(2)>
    """

    has_tensors: ClassVar[bool] = False

    # Constructors
    counter = staticmethod(_constructor(PenstockDataset.counter))
    choose_from_datasets = staticmethod(_constructor(PenstockDataset.choose_from_datasets))
    from_source = staticmethod(_constructor(PenstockDataset.from_source))
    from_tensor_slices = staticmethod(_constructor(PenstockDataset.from_tensor_slices, tensors.as_data))
    from_tensors = staticmethod(_constructor(PenstockDataset.from_tensors, tensors.as_data))
    range = staticmethod(_constructor(PenstockDataset.range))
    sample_from_datasets = staticmethod(_constructor(PenstockDataset.sample_from_datasets))
    zip = on_the_class(_constructor(PenstockDataset.zip))

    # Transformations
    apply = labelled(PenstockDataset.apply, ported)
    batch = labelled(PenstockDataset.batch)
    bucket_by_sequence_length = labelled(_with_functions(PenstockDataset.bucket_by_sequence_length))
    concatenate = labelled(PenstockDataset.concatenate)
    enumerate = labelled(PenstockDataset.enumerate)
    filter = labelled(_with_functions(PenstockDataset.filter))
    flat_map = labelled(_with_functions(PenstockDataset.flat_map))
    group_by_window = labelled(_with_functions(PenstockDataset.group_by_window))
    ignore_errors = labelled(PenstockDataset.ignore_errors)
    interleave = labelled(_with_functions(PenstockDataset.interleave))
    padded_batch = labelled(PenstockDataset.padded_batch)
    prefetch = labelled(PenstockDataset.prefetch)
    ragged_batch = labelled(PenstockDataset.ragged_batch)
    rebatch = labelled(PenstockDataset.rebatch)
    rejection_resample = labelled(_with_functions(PenstockDataset.rejection_resample))
    repeat = labelled(PenstockDataset.repeat)
    scan = labelled(_with_functions(PenstockDataset.scan))
    shard = labelled(PenstockDataset.shard)
    skip = labelled(PenstockDataset.skip)
    sparse_batch = labelled(PenstockDataset.sparse_batch)
    take = labelled(PenstockDataset.take)
    take_while = labelled(_with_functions(PenstockDataset.take_while))
    unbatch = labelled(PenstockDataset.unbatch)
    unique = labelled(PenstockDataset.unique)
    window = labelled(PenstockDataset.window)

    # Methods that end a pipeline
    as_numpy_iterator = labelled(PenstockDataset.as_numpy_iterator)
    cardinality = labelled(PenstockDataset.cardinality)
    get_single_element = labelled(PenstockDataset.get_single_element)
    reduce = labelled(PenstockDataset.reduce)

    def _opened(self, epoch: int | None, carry_over: CarryOver) -> Iterator[T_co]:
        return Iterator(self._passes, carry_over, epoch, warn=self._warn_of_run)

    @staticmethod
    @_constructor
    def from_generator(  # pyright: ignore[reportIncompatibleMethodOverride] - the arguments are in tf.data's order
        generator: Callable[..., Iterable[Any]],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Sequence[Any] | None = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset[Any]:
        """Yield the elements of `generator(*args)`, which is called again for every epoch and every `repeat`.

        Numbers and lists become arrays of the dtypes in `output_signature` (a nesting of `TensorSpec`) or
        `output_types`, unless that would change their values: 1.5 for an integer raises an `ElementError`. Neither is
        required.

        >>> from penstock import tf_data
        >>> def rows():
        ...     yield [1, 2], "a"
        ...     yield [3], "b"
        >>> signature = (tf_data.TensorSpec((None,), np.int32), tf_data.TensorSpec((), str))
        >>> ds = tf_data.Dataset.from_generator(rows, output_signature=signature)
        >>> list(ds)
        [(array([1, 2], dtype=int32), 'a'), (array([3], dtype=int32), 'b')]
        """
        check_name(name)
        if output_signature is not None and (output_types is not None or output_shapes is not None):
            raise TypeError("from_generator(): expected output_signature, or output_types and output_shapes, not both")
        if output_shapes is not None and output_types is None:
            raise TypeError("from_generator(output_shapes=): needs output_types; or pass output_signature")
        if output_types is not None:
            dtypes, signature = of_types(output_types, output_shapes)
        else:
            signature = signature_of(output_signature)
            dtypes = dtypes_of(signature)
        fits = dtypes is not None and callable(generator)
        function = Fitting(generator, dtypes, checked=signature is None) if fits else generator
        given = (
            []
            if args is None
            else [np.asarray(each)[()] for each in check_list("from_generator", "args", args, "arguments")]
        )
        return ported(PenstockDataset.from_generator(function, signature, args=given))

    @staticmethod
    @_constructor
    def random(  # pyright: ignore[reportIncompatibleMethodOverride] - the same
        seed: int | None = None, rerandomize_each_iteration: bool | None = None, name: str | None = None
    ) -> Dataset[Any]:
        """Yield random `int64` scalars, uniform in [0, 2**32), without end; see `penstock.Dataset.random`.

        >>> from penstock import tf_data
        >>> tf_data.Dataset.random(seed=3).take(2).cardinality()
        2
        """
        check_name(name)
        again = False if rerandomize_each_iteration is None else rerandomize_each_iteration
        return ported(PenstockDataset.random(seed, rerandomize_each_iteration=again))

    @staticmethod
    @_constructor
    def list_files(
        file_pattern: Pattern | Sequence[Pattern],
        shuffle: bool | None = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> Dataset[str]:
        """List the paths that match one or several glob patterns, as `str`, sorted.

        Only `shuffle=True` or a `seed` shuffles; `tf.data` shuffles by default, differently on each run.

        >>> from penstock import tf_data
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> (folder / "b.txt").touch(), (folder / "a.txt").touch()
        (None, None)
        >>> [path[-5:] for path in tf_data.Dataset.list_files(f"{folder}/*.txt")]
        ['a.txt', 'b.txt']
        """
        check_name(name)
        files = ported(PenstockDataset.list_files(file_pattern))
        shuffles = shuffle if shuffle is not None else seed is not None
        return files.shuffle(seed=seed) if shuffles else files

    @staticmethod
    @_constructor
    def load(
        path: str | os.PathLike[str],
        element_spec: Any = None,
        compression: str | None = None,
        reader_func: Callable[..., Any] | None = None,
        wait: bool = False,
        *,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Dataset[Any]:
        """Read the elements that `ds.save(path)` wrote (not those that TensorFlow wrote), in the same order.

        An `element_spec` that differs from that of the saved elements raises a `PlanError`.

        >>> from penstock import tf_data
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp()) / "saved"
        >>> tf_data.Dataset.range(3).save(folder)
        >>> list(tf_data.Dataset.load(folder)) == [0, 1, 2]
        True
        """
        _refuse_compression("load", compression)
        if reader_func is not None:
            raise PlanError(
                "load(reader_func=): there are no shards to read; shuffle() or interleave() the loaded dataset"
            )
        if check_flag("load", "wait", wait):
            raise PlanError("load(wait=True): a saved dataset appears once it is complete; load it then")
        ds = ported(PenstockDataset.load(path, storage_options=storage_options))
        if element_spec is not None and not compatible(ds.element_spec, element_spec):
            raise PlanError(f"load(element_spec={describe(element_spec)}): saved was {describe(ds.element_spec)}")
        return ds

    def save(
        self,
        path: str | os.PathLike[str],
        compression: str | None = None,
        shard_func: Callable[..., Any] | None = None,
        checkpoint_args: Any = None,
        *,
        overwrite: bool = False,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the elements of one epoch into a new folder, for `load`; see `penstock.Dataset.save`.

        An existing folder raises a `FileExistsError`, unless `overwrite`; `tf.data` overwrites without asking.

        >>> from penstock import tf_data
        >>> import pathlib, tempfile
        >>> tf_data.Dataset.range(3).save(pathlib.Path(tempfile.mkdtemp()) / "saved")
        """
        _refuse_compression("save", compression)
        if shard_func is not None or checkpoint_args is not None:
            raise PlanError("save(shard_func=, checkpoint_args=): elements are written in order, in one pass")
        super().save(path, overwrite=overwrite, storage_options=storage_options)

    @_with_functions
    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
        **settings: Any,
    ) -> Dataset[Any]:
        """Apply `map_func`, which sees NumPy and plain Python values, to every element; see `penstock.Dataset.map`.

        `synchronous` and `use_unbounded_threadpool` are ignored: the number of tasks is measured. `settings` are those
        of Penstock: `on`, `vectorized`, `on_error`.

        >>> from penstock import tf_data
        >>> list(tf_data.Dataset.range(3).map(lambda x: x * 10, name="tens")) == [0, 10, 20]
        True
        """
        check_name(name)
        if synchronous is not None and check_flag("map", "synchronous", synchronous) and num_parallel_calls is not None:
            raise ValueError(f"map(synchronous=True): num_parallel_calls={num_parallel_calls} contradicts it")
        return ported(super().map(map_func, num_parallel_calls, deterministic, **settings))

    def shuffle(
        self,
        buffer_size: int | None = None,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = None,
        name: str | None = None,
        *,
        buffer_bytes: int | str | None = None,
        uniform: bool = False,
    ) -> Dataset[T_co]:
        """Permute the elements as a buffer of `buffer_size` does, or all of them if `buffer_size` is `None`.

        Indexed elements need no memory or start-up time for any size, so pass any size, or none; see
        `penstock.Dataset.shuffle`, which also has `buffer_bytes` and `uniform`.

        >>> from penstock import tf_data
        >>> sorted(tf_data.Dataset.range(5).shuffle(3, seed=1, name="mix")) == [0, 1, 2, 3, 4]
        True
        """
        check_name(name)
        reshuffle = True if reshuffle_each_iteration is None else reshuffle_each_iteration
        return ported(super().shuffle(buffer_size, seed, reshuffle, buffer_bytes=buffer_bytes, uniform=uniform))

    def cache(  # pyright: ignore[reportIncompatibleMethodOverride] - TensorFlow's name for the path
        self,
        filename: str | os.PathLike[str] = "",
        name: str | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
        **settings: Any,
    ) -> Dataset[T_co]:
        """Keep each element once it is made, in memory or in the folder `filename`; see `penstock.Dataset.cache`.

        Where `tf.data` keeps what was cached first, a changed pipeline makes its elements again. `path` is another name
        of `filename`; the other arguments are those of `penstock.Dataset.cache`.

        >>> from penstock import tf_data
        >>> list(tf_data.Dataset.range(2).cache(name="kept")) == [0, 1]
        True
        """
        check_name(name)
        given = None if is_one_of(filename, "", b"") else check_path("cache", "filename", filename)
        if given is not None and path is not None:
            raise TypeError("cache(): filename and path are the same argument")
        return ported(super().cache(path if given is None else given, **settings))

    def snapshot(
        self,
        path: str | os.PathLike[str],
        compression: str | None = "AUTO",
        reader_func: Callable[..., Any] | None = None,
        shard_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset[T_co]:
        """Keep each element in the folder `path` once it is made: `cache(path)`.

        >>> from penstock import tf_data
        >>> import tempfile
        >>> list(tf_data.Dataset.range(3).snapshot(tempfile.mkdtemp())) == [0, 1, 2]
        True
        """
        if reader_func is not None or shard_func is not None:
            raise PlanError("snapshot(reader_func=, shard_func=): rows are found by number; shuffle() after snapshot()")
        if not is_one_of(compression, None, "AUTO", "NONE"):
            raise PlanError(f"snapshot(compression={compression!r}): use cache(path, compression='lz4') or 'zstd'")
        return self.cache(check_path("snapshot", "path", path), name)

    def with_options(self, options: Options | PenstockOptions, name: str | None = None) -> Dataset[T_co]:
        """Run with these options, of `tf_data` or of `penstock`, which replace options set before.

        >>> from penstock import tf_data
        >>> options = tf_data.Options()
        >>> options.deterministic = True
        >>> tf_data.Dataset.range(3).with_options(options).options().deterministic
        True
        """
        check_name(name)
        if tensors.is_of_tensorflow(options):
            raise TypeError(
                "with_options(): these are TensorFlow's options; tf_data.Options has the same fields, and where "
                "TensorFlow itself takes a dataset, pass ds.to_tensorflow()"
            )
        ours = options.to_penstock() if isinstance(options, Options) else options
        return ported(super().with_options(ours))

    def _unknown(self, name: str) -> AttributeError:
        return unknown_name("tf_data.Dataset", name, OF_TENSORFLOW, dir(type(self)))


def _refuse_compression(call: str, compression: str | None) -> None:
    if not is_one_of(compression, None, "NONE"):
        raise PlanError(
            f"{call}(compression={compression!r}): files are mapped into memory, and therefore not compressed"
        )
