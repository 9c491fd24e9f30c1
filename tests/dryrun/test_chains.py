"""Elements of image operations in the trace of a row."""

from __future__ import annotations

import numpy as np

import penstock as ps
from penstock import Dataset, image
from penstock.testing.alike import difference
from tests.image.photos import encoded

Y, X = np.mgrid[:375, :500]
PIXELS = np.stack([X % 256, Y % 256, X * Y % 256], -1).astype(np.uint8)
FILES = [encoded(PIXELS), encoded(PIXELS[::-1]), encoded(PIXELS[:, ::-1])]


def resized(ds):
    return ds.map(image.decode()).map(image.resize(64))


def drawn(ds):
    return ds.map(image.decode()).map(image.random_resized_crop(64)).map(image.random_flip())


def same(one, other):
    assert difference(one, other) is None


def test_elements_of_streams_are_explained_with_the_pixels_of_the_run():
    ds = Dataset.from_source([*FILES[:2], b"none", FILES[2]]).filter(bool)
    for chain in (drawn(ds).ignore_errors(), resized(ds).ignore_errors().batch(2).unbatch()):
        first = list(chain.iterator(epoch=0))
        assert len(first) == 3
        for row, wanted in enumerate(first):
            same(chain.explain(row=row).element, wanted)
    ps.testing.verify_determinism(resized(Dataset.from_source(FILES).filter(bool)))


def test_an_explanation_still_tells_of_each_operation():
    explained = drawn(Dataset.from_source(FILES)).explain(row=1)
    shapes = [each.elements[0].shape for each in explained.operations[1:]]
    assert shapes == [(375, 500, 3), (64, 64, 3), (64, 64, 3)]
    assert explained.operations[2].draws
    seeded = ps.Options(seed=5)
    of_row = drawn(Dataset.from_source(FILES).filter(bool)).with_options(seeded).explain(input_row=1)
    same(of_row.element, drawn(Dataset.from_source(FILES)).with_options(seeded)[1])
