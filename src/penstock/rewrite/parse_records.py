"""Hand records to the kernel that parses them as they lie in files or in memory, without an object for each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from penstock.ops.elementwise.map import Map
from penstock.ops.group.batch import Batch
from penstock.ops.group.ragged import RaggedBatch
from penstock.ops.read.source import Read
from penstock.plan.functions import ChunkFunction
from penstock.plan.graph import with_inputs
from penstock.plan.node import Node
from penstock.rewrite.fuse_images import MOVES


def parse_in_kernel(node: Node) -> Node | None:
    """`x.map(parse) -> joined.map(parse)` and `x.batch(n).map(parse) -> numbers.batch(n).map(read ; parse)`.

    Both over whatever moves the records x. It applies where a source can hand them up joined, those of a run as one
    array of bytes, or leave them unread, which takes plain batches and a parser without lists of SequenceExamples. A
    map that goes on after errors takes joined records: it is not to go on after those of reading.
    """
    if not isinstance(node, Map) or node.on is not None or not isinstance(node.function, ChunkFunction):
        return None
    from penstock.records.parser import RecordParser  # only a pipeline with records pays for its import

    parser = node.function
    if not isinstance(parser, RecordParser):
        return None
    above, below = _moves(node.input)
    batch = below if isinstance(below, Batch) else None
    inside, below = _moves(batch.input) if batch is not None else ([], below)
    source: Any = getattr(below, "source", None)
    if not isinstance(below, Read) or getattr(source, "joined", None) is not False or getattr(source, "unread", False):
        return None
    if batch is not None and type(node) is Map and hasattr(source, "unread") and not parser.lists:
        from penstock.records.reading import ReadAndParse

        unread = replace(source, unread=True)
        numbers = with_inputs(batch, (_over(Read(unread), inside),))
        return replace(node, input=_over(numbers, above), function=ReadAndParse(parser, unread))
    joined = _over(Read(replace(source, joined=True)), inside)
    if batch is not None:
        joined = RaggedBatch(joined, batch.size, batch.drop_remainder, np.dtype(np.int64), ranks=(1,))
    return replace(node, input=_over(joined, above))


def _moves(node: Node) -> tuple[list[Node], Node]:
    """The operations that only move elements, from the last, and what they move."""
    moves: list[Node] = []
    while isinstance(node, MOVES):
        moves.append(node)
        node = node.input
    return moves, node


def _over(node: Node, moves: list[Node]) -> Node:
    for move in reversed(moves):
        node = with_inputs(move, (node,))
    return node
