"""Facts about a kind of operation, so that nobody who asks has to import all operations."""

from __future__ import annotations

from typing import Literal, TypeAlias

from penstock.core.frozen import frozen

Ids: TypeAlias = Literal["derived", "kept", "counted"]
"""The ids of a stream's elements: derived in some way, those of the input's elements, or `plan.ids.ordinals`."""


@frozen(kw_only=True)
class Traits:
    """The facts that hold for all nodes of a class."""

    ids: Ids = "derived"
    one_to_one: bool = False
    """Yields every element of its single input in the same order, perhaps changed."""
    selects: bool = False
    """Yields some elements of its single input after examining all."""
    of_rank: bool = False
    """Keeps the rows of one rank, `batch` of which in all ranks are a global batch."""
    keeps_made: bool = False
    """Keeps the elements of its input, and yields the same objects again in later passes."""
    forgives: bool = False
    """Drops the elements that fail below it."""
    calls_input: bool = False
    """It calls the spread of its input in its own way, or several times: `spread_over`."""
    has_own_spec: bool = False
    """The spec of its elements does not follow from an input's spec."""
    live: bool = False
    """The user's code decides when the next element comes, maybe after this one is received."""
