"""Run a chain of image operations as one native call for many images, decoding only the necessary pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.spec import Spec
from penstock.image.chain import Chain, read_chain
from penstock.image.decode import raise_failure
from penstock.image.operation import ImageOperation
from penstock.kernels import first_draws
from penstock.kernels import image as kernel
from penstock.storage.local import read_file


@frozen()
class FusedImage:
    """A chain of image operations that starts with `decode`, as one column function; `fuse` makes it.

    At full scale, the result equals exactly that of the operations one after another. If `decode(exact=False)` decodes
    at reduced scale before a resampling that shrinks at least twofold, the result differs on photographs by less than 4
    of 255 levels in the mean, and by at most 64; without antialias, the reduced scale has less aliasing. Images that
    are not JPEG, or that EXIF rotates, are computed one operation at a time. With `reads`, values are the paths of
    files: the kernel reads each into the same memory, which avoids an object for each and most page faults.
    """

    ops: tuple[ImageOperation, ...]
    keys: tuple[int, ...]
    reads: bool = False
    random: Literal[False] = False  # keys are bound: there is no generator argument

    def __repr__(self) -> str:
        return " → ".join([*(["read"] if self.reads else []), *map(repr, self.ops)])

    @cached_property
    def _chain(self) -> Chain:
        chain = read_chain(self.ops)
        if chain is None:
            raise ValueError(f"{self!r} cannot run as one call: create it with penstock.image.fused.fuse")
        return chain

    def spec(self, spec: Spec) -> Spec | None:
        """Return the spec of one result."""
        for op in self.ops:
            spec = op.spec(spec)
        return spec

    def run(self, values: Sequence[Any], rows: Rows, out: NDArray[Any] | None = None) -> NDArray[Any] | list[Any]:
        """Return the results for `values`, images or files at `rows`, shape (k,), written into `out`, shape (k, ...).

        Without `out`, or if a result does not fit its place, the result is a new array if the chain fixes the size, and
        a list of arrays otherwise. An error of `values[i]` has `element = i`.
        """
        values = values if isinstance(values, list) else list(values)
        draws = self._draws(rows)
        if out is None and self._chain.size is not None:
            out = np.empty((len(values), *self._chain.shape(*self._chain.size)), self._chain.dtype)
        if out is None or not self._fits(out):
            return self._run_each(values, draws)
        outcome = kernel.run_images(self._chain.program, values, draws, out, files=self.reads)
        if outcome.status == kernel.ImageStatus.WRONG_SIZE:
            return self._run_each(values, draws)
        for i in outcome.elsewhere:
            image = self._compose(values, draws, i)
            if image.shape != out.shape[1:]:
                return self._run_each(values, draws)
            out[i] = image
        self._raise_failure(outcome)
        return out

    def _fits(self, out: NDArray[Any]) -> bool:
        """Return whether the kernel can write to `out`: the chain's dtype and layout, and contiguous images."""
        program = self._chain.program
        return (
            out.ndim == 4
            and out.dtype == self._chain.dtype
            and out.shape[1 if program.channels_first else 3] == program.channels
            and (len(out) == 0 or out[0].flags.c_contiguous)
            and out.flags.writeable
        )

    def _run_each(self, values: list[Any], draws: NDArray[np.uint64]) -> list[Any]:
        """Return the results as separate arrays, each of its own size."""
        sizes, outcome = kernel.measure_images(self._chain.program, values, draws, files=self.reads)
        composed = {i: self._compose(values, draws, i) for i in outcome.elsewhere}
        self._raise_failure(outcome)
        results = [
            composed[i] if i in composed else np.empty(self._chain.shape(*size), self._chain.dtype)
            for i, size in enumerate(sizes)
        ]
        native = [i for i in range(len(values)) if i not in composed]
        if native:
            outcome = kernel.run_images(
                self._chain.program,
                [values[i] for i in native],
                draws[native],
                [results[i] for i in native],
                files=self.reads,
            )
            self._raise_failure(outcome, native)
        return results

    def _draws(self, rows: Rows) -> NDArray[np.uint64]:
        """Return the draws of the geometric operations, shape (k, operations)."""
        at = self._chain.geometric
        draws = np.zeros((len(rows), len(at)), np.uint64)
        for column, i in enumerate(at):
            if self.ops[i].random:
                draws[:, column] = first_draws(self.keys[i], rows)
        return draws

    def _compose(self, values: list[Any], draws: NDArray[np.uint64], i: int) -> NDArray[Any]:
        """Return the result for `values[i]`, one operation after another."""
        of_op = dict(zip(self._chain.geometric, draws[i].tolist(), strict=True))
        image: Any = values[i]
        try:
            if self.reads:
                image = read_file(values[i])
            for at, op in enumerate(self.ops):
                image = op.apply(image, of_op.get(at, 0))
        except Exception as error:
            _blame(error, i)
            raise
        return image

    def _raise_failure(self, outcome: kernel.Outcome, numbers: list[int] | None = None) -> None:
        if outcome.failed < 0:
            return
        try:
            if outcome.status == kernel.ImageStatus.UNDECODABLE:
                raise_failure(outcome)
            raise ElementError(outcome.message)
        except ValueError as error:
            _blame(error, outcome.failed if numbers is None else numbers[outcome.failed])
            raise


def fuse(ops: Sequence[ImageOperation], keys: Sequence[int]) -> FusedImage | None:
    """Return the operations as one column function, or `None` if the kernel does not support them in this order.

    `keys` has one 64-bit key for each operation, ignored for an operation without draws. A chain is `decode`, then
    crops, flips and at most one resampling (`resize`, `random_resized_crop`) in any order, then at most one `normalize`
    and one `to_chw`.

    >>> import penstock.image as image
    >>> fuse([image.decode(), image.random_resized_crop(224), image.random_flip()], [0, 1, 2]) is None
    False
    >>> fuse([image.random_flip()], [0]) is None
    True
    """
    if len(ops) != len(keys):
        raise ValueError(f"fuse: expected one key for each operation, got {len(ops)} operations and {len(keys)} keys")
    if read_chain(tuple(ops)) is None:
        return None
    return FusedImage(tuple(ops), tuple(keys))


def _blame(error: Exception, element: int) -> None:
    error.element = element  # pyright: ignore[reportAttributeAccessIssue] - tells which element failed
