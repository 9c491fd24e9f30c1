"""Functions that may view arrays as tensors of PyTorch."""

from __future__ import annotations

import importlib
from functools import partial

import numpy as np
import pytest

import penstock as ps
from penstock.plan.safety.read_only import may_change_read_only
from tests.frameworks import when_used

torch = when_used("torch")


@pytest.fixture(scope="module", autouse=True)
def _the_functions_see_the_module_itself():
    globals()["torch"] = importlib.import_module("torch")


def viewed(x):
    return torch.from_numpy(x)


def doubled(x):
    return torch.from_numpy(x).mul_(2)


class Doubles:
    def __call__(self, x):
        return self._made(x)

    def _made(self, x):
        return torch.asarray(x).mul_(2)


def module():
    class Module(torch.nn.Module):
        def forward(self, x):
            return torch.utils.dlpack.from_dlpack(x).mul_(2)

    return Module()


class Holds:
    def __init__(self, convert):
        self.steps = [convert, self._doubled]

    def _doubled(self, x):
        return x.mul_(2)

    def __call__(self, x):
        for step in self.steps:
            x = step(x)
        return x


def held(convert):
    return lambda x: convert(x).mul_(2)


VIEWING = {
    "Tensor": lambda: lambda x: torch.Tensor(x).mul_(2),
    "FloatTensor": lambda: lambda x: torch.FloatTensor(x).mul_(2),
    "held by an object": lambda: Holds(torch.from_numpy),
    "held by a closure": lambda: held(torch.from_numpy),
    "argument of partial": lambda: partial(lambda convert, x: convert(x).mul_(2), torch.from_numpy),
    "default": lambda: lambda x, convert=torch.from_numpy: convert(x).mul_(2),
    "function": lambda: doubled,
    "method": Doubles,
    "module": module,
    "partial": lambda: partial(torch.as_tensor, dtype=torch.float32),
    "from_numpy": lambda: torch.from_numpy,
    "asarray": lambda: torch.asarray,
    "part": lambda: lambda row: doubled(row["x"]),
}
"""Functions that return a function: PyTorch is not imported while tests are collected."""
OTHERS = [lambda x: torch.tensor(x + 1), np.asarray, lambda x: x * 2, partial(np.multiply, 2), str]


@pytest.mark.parametrize("function", VIEWING.values(), ids=VIEWING)
def test_functions_that_view_arrays_as_tensors_are_found(function):
    assert may_change_read_only(function())


@pytest.mark.parametrize("function", OTHERS)
def test_functions_that_copy_or_use_numpy_alone_are_not(function):
    assert not may_change_read_only(function)


def ones(_):
    return np.ones(50_000, np.float32)


SOURCES = {
    "slices": lambda path: ps.Dataset.from_tensor_slices(np.ones((4, 3), np.float32)),
    "gathered": lambda path: ps.Dataset.from_tensor_slices(np.ones((4, 3), np.float32)).shuffle(4),
    "list": lambda path: ps.Dataset.from_source([np.ones(3, np.float32)] * 2),
    "memory": lambda path: ps.Dataset.range(3).map(ones).cache(),
    "batches": lambda path: ps.Dataset.range(4).map(ones).batch(2).cache(),
    "stream": lambda path: ps.Dataset.range(3).map(ones).filter(lambda x: x.size > 0).cache(),
    "folder": lambda path: ps.Dataset.range(3).map(ones).cache(path),
    "saved": lambda path: saved(ps.Dataset.range(3).map(ones), path),
}


def saved(ds, path):
    ds.save(path)
    return ps.Dataset.load(path)


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize("function", [doubled, viewed, lambda x: {"x": doubled(x)}], ids=["in", "out", "row"])
def test_writing_through_a_tensor_changes_no_later_epoch(source, function, tmp_path):
    ds = source(tmp_path / "kept").map(function)
    epochs = []
    for _ in range(3):
        elements = [made["x"] if isinstance(made, dict) else made for made in ds]
        epochs.append([element.flatten()[0].item() for element in elements])
        for element in elements:
            element.mul_(2)
    assert epochs[0] == epochs[1] == epochs[2]


@pytest.mark.parametrize("draws", [False, True])
def test_parts_of_an_element_are_copied_at_all_depths(draws):
    kept = {"x": (np.ones(2), [np.ones(3)])}

    def written(row, **_):
        torch.from_numpy(row["x"][0]).mul_(2)
        torch.from_numpy(row["x"][1][0]).mul_(2)
        return row

    function = (lambda row, rng: written(row)) if draws else written
    list(ps.Dataset.from_source([kept]).map(function))
    assert kept["x"][0].tolist() == [1, 1]
    assert kept["x"][1][0].tolist() == [1, 1, 1]
