"""Gather elements by key, one window at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

from penstock.core.arrays import Allocate
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Columns
from penstock.elements.leaves.values import read_only
from penstock.elements.spec import ObjectSpec
from penstock.ops.elementwise.beside import whole_number
from penstock.ops.group.by_key import Gather
from penstock.ops.group.pending import Full
from penstock.ops.read.source import Read
from penstock.plan.blame import blame
from penstock.plan.functions import name_of
from penstock.plan.types import Spec
from penstock.sources.arrays import ArraySource
from penstock.sources.indexable import indexable


@frozen()
class GroupByWindow(Gather):
    """Pair each `size` elements of one key, or as many as `size(key)`, as (key, dataset of the elements).

    `dataset` is the class that wraps a plan.
    """

    size: int | Callable[[int], Any]
    dataset: type[Any] = field(metadata={"runs": True})
    reduced_by: str = field(default="", metadata={"runs": True})  # name of the function that is called with the pair

    @property
    def name(self) -> str:
        return "group_by_window"

    @property
    def internal(self) -> bool:
        return True

    def spec(self) -> Spec | None:
        return ObjectSpec(int), ObjectSpec(self.dataset)

    def most(self, key: int, largest: int) -> int:
        if isinstance(self.size, int):
            return self.size
        try:
            size = whole_number(self.size(key))
            if size < 1:
                raise ElementError(f"group_by_window: window_size_func returned {size} for {key}; expected at least 1")
        except Exception as error:
            blame(error, self, None, detail=f"for the key {key}")
            raise
        return size

    def collect(self, group: Full, allocate: Allocate) -> Any:
        key, chunk = group.key, group.elements.chunk
        if isinstance(chunk, Columns) and chunk.columns:
            columns = [read_only(column) if isinstance(column, np.ndarray) else column for column in chunk.columns]
            return key, self.dataset(Read(ArraySource(chunk.structure, columns, "window")))
        return key, self.dataset(Read(indexable(chunk.held())))

    def arguments(self) -> str:
        size = str(self.size) if isinstance(self.size, int) else f"window_size_func={name_of(self.size)}"
        return ", ".join(filter(None, [self.asked.called, self.reduced_by, size, *self.asked.handling]))
