"""The results that image operations have in a run, where a chain of them is one kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np

from penstock.core.arrays import Rows
from penstock.elements.chunks.chunk import Chunk
from penstock.image.fused import FusedImage
from penstock.ops.elementwise.map import Map
from penstock.plan.flow import Piece
from penstock.plan.node import Node
from penstock.rewrite.fuse_images import fuse_image_chain

_LINK = "image chain"
"""The key of a node's link among its facts."""


@dataclass(eq=False)
class _Given:
    """The elements that the first operation of a chain was given last, with their ids."""

    chunk: Chunk
    ids: Rows


@dataclass(eq=False)
class _Link:
    """An operation of a chain: `fused` does what it and those before it do to what the `first` one was given."""

    fused: Map
    first: _Link | None = None
    given: _Given | None = None


def link(node: Node) -> None:
    """Note on a node whose inputs have been linked that it begins a chain of image operations, or continues one."""
    below: _Link | None = node.input.memo.get(_LINK) if isinstance(node, Map) else None
    longer = None if below is None else fuse_image_chain(replace(node, input=below.fused))
    if below is not None and _is_fused(longer) and longer.input is below.fused.input:
        node.memo[_LINK] = _Link(longer, below.first or below)
    elif _is_fused(alone := fuse_image_chain(node)):
        node.memo[_LINK] = _Link(alone)


def with_pixels_of_run(node: Node, ids: Rows, chunk: Chunk, made: Piece) -> Piece:
    """Return the elements `made` of a chunk by a plan as written, with the pixels of a run.

    The operations of a chain take their turns on one chunk before any of them takes the next.
    """
    found: _Link | None = node.memo.get(_LINK)
    if found is None:
        return made
    if found.first is None:
        found.given = _Given(chunk, ids)
        return made
    given = found.first.given
    if given is None or not len(made):
        return made
    places = {number: at for at, number in enumerate(given.ids.tolist())}
    taken = given.chunk.select([places[number] for number in made.ids.tolist()])
    return made.over(found.fused.spread(np.empty)(Piece(taken, made.ids)).chunk)


def _is_fused(node: Node | None) -> TypeGuard[Map]:
    return isinstance(node, Map) and isinstance(node.function, FusedImage)
