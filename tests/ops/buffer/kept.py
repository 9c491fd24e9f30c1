"""Pipelines whose functions note their calls, for the tests of caches on disk."""

import numpy as np

import penstock as ps

Dataset = ps.Dataset
INLINE = ps.Options(executor="inline", ignore_lint="all")


class Noted:
    """A function that notes its calls; only `factor` is a part of the pipeline."""

    def __init__(self, factor=1):
        self.factor, self.calls = factor, []

    def fingerprint(self):
        return self.factor

    def __call__(self, x):
        self.calls.append(int(x))
        return {"x": np.full((2, 3), x * self.factor, np.uint8), "name": f"{x}", "pair": (x, [np.arange(int(x) % 3)])}


def rows(noted, count=20):
    return Dataset.range(count).map(noted)


def as_texts(elements):
    return [repr(element) for element in elements]


def damage(folder, content):
    for path in folder.rglob("*"):
        if path.is_file() and content in (held := path.read_bytes()):
            path.write_bytes(held.replace(content, b"\x09" + content[1:], 1))
