"""Datasets from arrays, numbers, Python objects and file names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from penstock import sources, storage
from penstock.core.checks import check_flag, check_flag_or_none, check_function, check_list, check_path, check_seed
from penstock.dataset.handle import Handle, T_co
from penstock.elements.spec import Spec
from penstock.ops import read
from penstock.storage.remote.file import url_with_credentials

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset
    from penstock.storage.paths import Pattern


def reading(source: sources.protocol.Source) -> Dataset[Any]:
    """Return the dataset of a source's elements."""
    from penstock.dataset.dataset import Dataset

    return Dataset(read.source.Read(source))


class ReadMethods(Handle[T_co]):
    """The constructors of `Dataset`."""

    @staticmethod
    def range(*args: int, output_type: DTypeLike = np.int64) -> Dataset[Any]:
        """Yield whole numbers as Python's `range(stop)`, `range(start, stop)` or `range(start, stop, step)` does.

        Elements are scalars of type `output_type`. Floats raise a `TypeError`, and a step of 0 raises a `ValueError`.

        >>> list(Dataset.range(2, 10, 3)) == [2, 5, 8]
        True
        """
        return reading(sources.integers.integer_range(*args, dtype=output_type))

    @staticmethod
    def counter(start: int = 0, step: int = 1, dtype: DTypeLike = np.int64) -> Dataset[Any]:
        """Yield numbers from `start`, `step` apart, without end.

        >>> list(Dataset.counter(10, -2).take(3)) == [10, 8, 6]
        True
        """
        return reading(sources.integers.counter(start, step, dtype=dtype))

    @staticmethod
    def from_generator(
        generator: Callable[..., Iterable[Any]], output_signature: Spec | None = None, *, args: Sequence[Any] = ()
    ) -> Dataset[Any]:
        """Yield the elements of `generator(*args)`, which is called again for every epoch and every `repeat`.

        Each call must return a new iterator. If the function returns the iterator of the previous pass again, as
        `lambda: it` does, the second pass raises an `ElementError`. A function that does `yield from it` continues
        where the last pass stopped.

        If `output_signature` is given, a nesting of specs like an element, every element is checked against it.

        Each element is passed on as soon as it is available, so the generator may wait for the consumer to act on one
        element before it yields the next. A batch requests all of its elements. While elements come fast, none is
        requested before the consumer wants it; once elements take long, or after `prefetch(n)`, the generator runs
        ahead in a separate thread. With `prefetch(0)` it never runs ahead: use that if the generator depends on actions
        of the consumer. Operations after it run in workers.

        A restored iterator runs the generator again from its beginning and drops the elements already received, unless
        the object that `generator` returns has methods `state_dict()`, which returns JSON data, and
        `load_state_dict(state)`. A generator that draws random numbers must seed them itself, or a restored iterator
        continues with different elements.

        >>> def squares(n):
        ...     for i in range(n):
        ...         yield i * i
        >>> list(Dataset.from_generator(squares, args=[4])) == [0, 1, 4, 9]
        True
        """
        from penstock.dataset.dataset import Dataset

        expected, hint = "a function that returns an iterable", "; pass the function itself, not its result"
        check_function("from_generator", "generator", generator, expected, hint)
        given = tuple(check_list("from_generator", "args", args, "arguments"))
        return Dataset(read.generator.FromGenerator(generator, given, output_signature))

    @staticmethod
    def random(seed: int | None = None, rerandomize_each_iteration: bool = False) -> Dataset[Any]:
        """Yield random `int64` scalars, uniform in [0, 2**32), without end.

        Every iteration gives the same sequence. With `rerandomize_each_iteration`, each iteration gives another
        sequence, which a `seed` still makes reproducible. Element i is computed from i alone, so skipping costs
        nothing.

        >>> numbers = Dataset.random(seed=3).take(2)
        >>> list(numbers) == list(numbers)
        True
        """
        from penstock.dataset.dataset import Dataset

        rerandomize = check_flag("random", "rerandomize_each_iteration", rerandomize_each_iteration)
        return Dataset(read.random.Random(check_seed("random", seed), rerandomize))

    @staticmethod
    def from_tensors(tensors: Any) -> Dataset[Any]:
        """Yield one element: `tensors` itself, any nesting of arrays, scalars and other values.

        >>> list(Dataset.from_tensors((1, "a")))
        [(1, 'a')]
        """
        return reading(sources.constant.constant(tensors))

    @staticmethod
    def from_tensor_slices(tensors: Any) -> Dataset[Any]:
        """Yield the slices of arrays along their first axis; all leaves of the nesting must have the same length.

        Arrays are not copied: elements are read-only views of the arrays, and batches are copies. A list of datasets
        makes a dataset of datasets, for `flat_map` and `interleave`.

        >>> data = {"x": np.zeros((3, 2)), "y": np.arange(3)}
        >>> [element["y"] for element in Dataset.from_tensor_slices(data)] == [0, 1, 2]
        True
        """
        if isinstance(tensors, list) and tensors and all(isinstance(each, Handle) for each in tensors):
            return reading(sources.indexable.indexable(list(tensors)))
        return reading(sources.arrays.slices(tensors))

    @staticmethod
    def from_source(source: Any, *, thread_safe: bool | None = None) -> Dataset[Any]:
        """Yield the items of any object with `len(source)` and `source[i]`: a list, a PyTorch or Hugging Face dataset.

        If the source has a method `read_many(rows)` (or `__getitems__`), that method is called with many positions at
        once.

        One thread at a time reads the source, unless several are known to be safe: lists, tuples and arrays, and
        objects of your own whose code only reads their attributes, or which use a lock or `threading.local()`. PyTorch
        and Hugging Face datasets are written for processes. `thread_safe=True` lets all threads read at once, and
        `thread_safe=False` only one; an attribute `thread_safe` of the object or its class has the same effect.

        Dicts, lists, sets and byte arrays of the source are copied for each function and consumer, the arrays of a
        list are passed on read-only, and the arrays of any other object are copied. Objects of other classes, such as
        images of Pillow and data frames, are passed on as they are: a function that changes one must copy it first,
        or later epochs see the change.

        >>> list(Dataset.from_source(["a", "b"]).repeat(2))
        ['a', 'b', 'a', 'b']
        """
        declared = check_flag_or_none("from_source", "thread_safe", thread_safe)
        return reading(sources.indexable.indexable(source, declared))

    @staticmethod
    def load(path: str | os.PathLike[str], *, storage_options: Mapping[str, Any] | None = None) -> Dataset[Any]:
        """Read the elements that `ds.save(path)` wrote, in the same order, by mapping the files into memory.

        The result is indexed, and nothing is read ahead. Single numbers are scalars, and arrays are read-only views of
        the files. A missing folder raises a `FileNotFoundError`; a folder that holds something else, or lacks a file,
        raises a `DataError`. A state of a pipeline over the folder can be loaded wherever the folder lies, as long as
        its content is the same.

        The folder may be at a URL, whose store is opened with `storage_options`. Its rows are read in ranges, as other
        remote data; see docs/remote.md.

        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp()) / "saved"
        >>> Dataset.range(5).map(lambda x: {"x": x}).save(folder)
        >>> [batch["x"].tolist() for batch in Dataset.load(folder).batch(3)]
        [[0, 1, 2], [3, 4]]
        """
        folder = check_path("load", "path", path)
        if storage.paths.urls_of("load", folder, storage_options, "path") is None:
            return reading(sources.saved.reading.saved(folder))
        return reading(sources.saved.remote.saved_objects(folder, storage_options))

    @staticmethod
    def list_files(
        file_pattern: Pattern | Sequence[Pattern], *, storage_options: Mapping[str, Any] | None = None
    ) -> Dataset[str]:
        """List the paths that match one or several glob patterns, sorted; `**` crosses folders.

        The files are listed now, not while iterating. No match raises a `FileNotFoundError`. (`tf.data` shuffles here;
        add `.shuffle()`.) Objects of remote stores match patterns of URLs; `storage_options` are for their store. An
        element is a URL that can be read: a signed URL keeps its signature, so treat it as a secret.

        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> (folder / "b.txt").touch(), (folder / "a.txt").touch()
        (None, None)
        >>> [path[-5:] for path in Dataset.list_files(f"{folder}/*.txt")]
        ['a.txt', 'b.txt']
        """
        found = storage.paths.find_files(file_pattern, "list_files", "file_pattern", storage_options)
        paths = sources.arrays.slices(sorted(set(map(url_with_credentials, found))))
        return reading(replace(paths, name=f"list_files({storage.paths.shown_patterns(file_pattern)!r})"))
