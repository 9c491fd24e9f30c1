"""Datasets from arrays, numbers, Python objects and file names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from penstock import sources, storage
from penstock.core.checks import check_flag, check_flag_or_none, check_list, check_path, check_seed
from penstock.dataset.handle import Handle, T_co
from penstock.elements.spec import Spec
from penstock.ops import read

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset
    from penstock.storage.paths import Pattern


def reading(source: sources.protocol.Source) -> Dataset[Any]:
    """The dataset of a source's elements."""
    from penstock.dataset.dataset import Dataset

    return Dataset(read.source.Read(source))


class Read(Handle[T_co]):
    """The constructors of `Dataset`."""

    @staticmethod
    def range(*args: int, output_type: DTypeLike = np.int64) -> Dataset[Any]:
        """Whole numbers as in Python's `range(stop)`, `range(start, stop)` or `range(start, stop, step)`.

        Elements are scalars of `output_type`. Floats are a `TypeError`, a step of 0 is a `ValueError`.

        >>> list(Dataset.range(2, 10, 3)) == [2, 5, 8]
        True
        """
        return reading(sources.integers.integer_range(*args, dtype=output_type))

    @staticmethod
    def counter(start: int = 0, step: int = 1, dtype: DTypeLike = np.int64) -> Dataset[Any]:
        """Numbers from `start` on, `step` apart, without end.

        >>> list(Dataset.counter(10, -2).take(3)) == [10, 8, 6]
        True
        """
        return reading(sources.integers.counter(start, step, dtype=dtype))

    @staticmethod
    def from_generator(
        generator: Callable[..., Iterable[Any]], output_signature: Spec | None = None, *, args: Sequence[Any] = ()
    ) -> Dataset[Any]:
        """The elements of `generator(*args)`, which is called anew for every epoch and every `repeat`.

        Elements are checked against `output_signature`, a nesting of specs like an element, where there is one.

        Each element is handed on as soon as it is there, so the generator may wait for the consumer to act on one
        before it yields the next. A batch asks for as many as it needs. While elements come fast, none is asked for
        before the consumer wants it; once they take long, or after `prefetch(n)`, the generator runs ahead in a thread
        of its own. With `prefetch(0)` it never does: say so where it looks at what the consumer did. What is mapped
        after it runs in workers.

        A restored iterator runs the generator again from its beginning and drops what was received, unless what
        `generator` returns has methods `state_dict()`, with JSON data, and `load_state_dict(state)`. If it draws random
        numbers, seed them inside, or what is dropped is something else.

        >>> def squares(n):
        ...     for i in range(n):
        ...         yield i * i
        >>> list(Dataset.from_generator(squares, args=[4])) == [0, 1, 4, 9]
        True
        """
        from penstock.dataset.dataset import Dataset

        if not callable(generator):
            raise TypeError(
                f"from_generator(generator=): expected a function that returns an iterable, not "
                f"{type(generator).__name__}; pass the function itself, not what it returns"
            )
        given = tuple(check_list("from_generator", "args", args, "arguments"))
        return Dataset(read.generator.FromGenerator(generator, given, output_signature))

    @staticmethod
    def random(seed: int | None = None, rerandomize_each_iteration: bool = False) -> Dataset[Any]:
        """Random `int64` scalars, uniform in [0, 2**32), without end.

        Every iteration gives the same sequence, unless `rerandomize_each_iteration`: then another each time, which a
        `seed` still makes reproducible. Element i is computed from i alone, so skipping costs nothing.

        >>> numbers = Dataset.random(seed=3).take(2)
        >>> list(numbers) == list(numbers)
        True
        """
        from penstock.dataset.dataset import Dataset

        rerandomize = check_flag("random", "rerandomize_each_iteration", rerandomize_each_iteration)
        return Dataset(read.random.Random(check_seed("random", seed), rerandomize))

    @staticmethod
    def from_tensors(tensors: Any) -> Dataset[Any]:
        """One element: `tensors` itself, any nesting of arrays, scalars and other values.

        >>> list(Dataset.from_tensors((1, "a")))
        [(1, 'a')]
        """
        return reading(sources.constant.constant(tensors))

    @staticmethod
    def from_tensor_slices(tensors: Any) -> Dataset[Any]:
        """The slices of arrays along their first axis; every leaf of the nesting needs the same length.

        Arrays are not copied: elements are read-only views of them, batches are copies. A list of datasets has these as
        its elements, for `flat_map` and `interleave`.

        >>> data = {"x": np.zeros((3, 2)), "y": np.arange(3)}
        >>> [element["y"] for element in Dataset.from_tensor_slices(data)] == [0, 1, 2]
        True
        """
        if isinstance(tensors, list) and tensors and all(isinstance(each, Handle) for each in tensors):
            return reading(sources.indexable.indexable(list(tensors)))
        return reading(sources.arrays.slices(tensors))

    @staticmethod
    def from_source(source: Any, *, thread_safe: bool | None = None) -> Dataset[Any]:
        """The items of anything with `len(source)` and `source[i]`: a list, a dataset of PyTorch or Hugging Face.

        If it has `read_many(rows)` (or `__getitems__`), that is called with many positions at a time.

        One thread at a time reads it, unless it is known that several may: lists, tuples and arrays, and objects of
        your own whose code only reads what they hold, or which use a lock or `threading.local()`. Datasets of PyTorch
        and Hugging Face are written for processes. `thread_safe=True` lets all threads read at a time,
        `thread_safe=False` one; so does an attribute `thread_safe` of the object or its class.

        The source's own items are never written to: dicts and lists are copied for each function and consumer, the
        arrays of a list are handed out read-only, and those of any other object are copied.

        >>> list(Dataset.from_source(["a", "b"]).repeat(2))
        ['a', 'b', 'a', 'b']
        """
        declared = check_flag_or_none("from_source", "thread_safe", thread_safe)
        return reading(sources.indexable.indexable(source, declared))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Dataset[Any]:
        """The elements that `ds.save(path)` wrote, in the same order; indexed, and mapped into memory, not read ahead.

        Single numbers are scalars, and arrays read-only views of the files. A folder that is not there is a
        `FileNotFoundError`; one that holds something else, or lacks a file, a `DataError`. A cursor of what is made
        from it can be loaded wherever the folder lies, while its content is the same.

        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp()) / "saved"
        >>> Dataset.range(5).map(lambda x: {"x": x}).save(folder)
        >>> [batch["x"].tolist() for batch in Dataset.load(folder).batch(3)]
        [[0, 1, 2], [3, 4]]
        """
        return reading(sources.saved.reading.saved(check_path("load", "path", path)))

    @staticmethod
    def list_files(file_pattern: Pattern | Sequence[Pattern]) -> Dataset[str]:
        """The paths that match one or several glob patterns, sorted; `**` crosses folders.

        They are listed now, not while iterating. No match is a `FileNotFoundError`. (`tf.data` shuffles here; add
        `.shuffle()`.)

        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> (folder / "b.txt").touch(), (folder / "a.txt").touch()
        (None, None)
        >>> [path[-5:] for path in Dataset.list_files(f"{folder}/*.txt")]
        ['a.txt', 'b.txt']
        """
        paths = sources.arrays.slices(storage.paths.list_files(file_pattern, name="file_pattern"))
        return reading(replace(paths, name=f"list_files({file_pattern!r})"))
