"""Parsing a chain of operations into kernel steps and the size of the result."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import image
from penstock.image.chain import read_chain
from penstock.kernels.image import GeometryKind


def test_a_chain_becomes_one_program() -> None:
    ops = (image.decode(exact=True), image.random_flip(), image.resize(8), image.normalize(0, 1), image.to_chw())
    chain = read_chain(ops)
    assert chain is not None
    assert [step.kind for step in chain.program.geometry] == [GeometryKind.RANDOM_FLIP, GeometryKind.RESIZE]
    assert chain.geometric == (1, 2)
    assert chain.program.exact
    assert (chain.program.dtype, chain.program.channels_first) == ("float32", True)
    np.testing.assert_allclose(chain.program.affine, [[1 / 255] * 3, [0] * 3])
    assert chain.shape(8, 10) == (3, 8, 10)


@pytest.mark.parametrize(
    ("ops", "size"),
    [
        ([], None),
        ([image.resize(8)], None),
        ([image.resize((8, 9))], (8, 9)),
        ([image.crop(0, 0, 4, 6), image.random_flip()], (4, 6)),
        ([image.center_crop((4, 6)), image.resize(8)], (8, 12)),
        ([image.random_resized_crop(9), image.random_crop(7)], (7, 7)),
    ],
)
def test_the_last_operation_that_fixes_the_size_counts(ops, size) -> None:
    chain = read_chain((image.decode(), *ops))
    assert chain is not None
    assert chain.size == size


def test_a_chain_starts_with_decode() -> None:
    assert read_chain(()) is None
    assert read_chain((image.to_chw(),)) is None
