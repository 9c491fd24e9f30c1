"""What the examples in docstrings have at hand: NumPy as `np`, Penstock as `ps`, and its names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock


@pytest.fixture(autouse=True)
def names(doctest_namespace: dict[str, Any]) -> None:
    """Put the public names where a reader of `help()` would have them."""
    doctest_namespace.update({name: getattr(penstock, name) for name in penstock.__all__}, np=np, ps=penstock)
