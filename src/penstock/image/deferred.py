"""Leave a chain of image operations to a feed, which runs it on its device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.checks import check_content
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.encoded import EncodedImage
from penstock.elements.spec import Spec
from penstock.image.chain import Chain, read_chain
from penstock.image.decode import Decode, raise_failure
from penstock.image.operation import ImageOperation
from penstock.image.sizes import ENCODED
from penstock.kernels import first_draws
from penstock.kernels import image as kernel


@frozen()
class DeferredImage:
    """A chain that starts with `decode(device=)`, as one column function: draws now, pixels in the feed.

    The result equals that of the operations one after another, an `EncodedImage` for each element. Headers are read
    now, so that an image that is none and a crop that does not fit are errors of their element.
    """

    ops: tuple[ImageOperation, ...]
    keys: tuple[int, ...]
    random: Literal[False] = False  # keys are bound: there is no generator argument

    def __repr__(self) -> str:
        return " → ".join(map(repr, self.ops))

    @cached_property
    def _here(self) -> tuple[ImageOperation, ...]:
        """The operations to be run: none of them leaves its work to a feed."""
        return tuple(op.here if isinstance(op, Decode) else op for op in self.ops)

    @cached_property
    def _chain(self) -> Chain:
        return chain_of(self._here)

    def spec(self, spec: Spec) -> Spec | None:
        """Return the spec of one result."""
        return ENCODED

    def run(self, values: Sequence[Any], rows: Rows, out: NDArray[Any] | None = None) -> list[EncodedImage]:
        """Return the encoded images of `values`, the contents of files at `rows`, shape (k,)."""
        draws = np.zeros((len(rows), len(self.ops)), np.uint64)
        for i, op in enumerate(self.ops):
            if op.random:
                draws[:, i] = first_draws(self.keys[i], rows)
        contents: list[bytes] = []
        try:
            contents.extend(check_content("image", value) for value in values)
        except Exception as error:
            error.element = len(contents)  # pyright: ignore[reportAttributeAccessIssue] - tells which element failed
            raise
        geometry_of(self._chain, contents, draws)
        return [
            EncodedImage(data, self._here, tuple(each)) for data, each in zip(contents, draws.tolist(), strict=True)
        ]


def chain_of(ops: tuple[ImageOperation, ...]) -> Chain:
    """Return the chain of operations, or raise an `ElementError` if no device runs them in this order."""
    chain = read_chain(ops)
    if chain is None:
        raise ElementError(
            f"decode(device=) runs crops, flips and at most one resampling, then normalize and to_chw, but not "
            f"{' → '.join(map(repr, ops))}: put them in this order, or leave out device="
        )
    return chain


def geometry_of(chain: Chain, contents: list[bytes], draws: NDArray[np.uint64]) -> tuple[NDArray[np.int64], list[int]]:
    """Return the geometry of each image, as `kernels.image.follow_images` does, and the images that are not plain JPEG.

    `draws` has one draw for each operation, shape (k, operations). An error has the number of its image as `element`.
    """
    table, outcome = kernel.follow_images(chain.program, contents, np.ascontiguousarray(draws[:, chain.geometric]))
    try:
        if outcome.status == kernel.ImageStatus.UNDECODABLE:
            raise_failure(outcome)
        if outcome.failed >= 0:
            raise ElementError(outcome.message)
    except ValueError as error:
        error.element = outcome.failed  # pyright: ignore[reportAttributeAccessIssue] - tells which element failed
        raise
    return table, outcome.elsewhere
