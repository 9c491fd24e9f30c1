"""Pass records to the parsing kernel as they are in files or in memory, without an object for each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from penstock import rewrite
from penstock.ops import group
from penstock.ops.elementwise.map import Map
from penstock.ops.group.batch import Batch
from penstock.ops.read.source import Read
from penstock.plan.graph import end_of, with_inputs
from penstock.plan.node import Node
from penstock.records.parser import RecordParser
from penstock.records.reading import ReadAndParse
from penstock.storage.remote.file import are_remote


def parse_in_kernel(node: Node) -> Node | None:
    """`x.map(parse) -> joined.map(parse)` and `x.batch(n).map(parse) -> numbers.batch(n).map(read ; parse)`.

    Both work over any operations that move the records x. The source must be able to return records joined, those of a
    run as one array of bytes, or unread, which takes plain batches and a parser without lists of SequenceExamples. A
    map that continues after errors takes joined records, because errors of reading must not be covered.
    """
    if not isinstance(node, Map) or node.on is not None or not isinstance(node.function, RecordParser):
        return None
    parser = node.function
    above, below = end_of(node.input, rewrite.moves.MOVES)
    batch = below if isinstance(below, Batch) and not below.pads else None
    inside, below = end_of(batch.input, rewrite.moves.MOVES) if batch is not None else ([], below)
    source: Any = getattr(below, "source", None)
    if not isinstance(below, Read) or getattr(source, "joined", None) is not False or getattr(source, "unread", False):
        return None
    reads = hasattr(source, "unread") and not are_remote(source.paths)
    if batch is not None and type(node) is Map and reads and not parser.lists:
        unread = replace(source, unread=True)
        numbers = with_inputs(batch, (rewrite.moves.put_on(Read(unread), inside),))
        return replace(node, input=rewrite.moves.put_on(numbers, above), function=ReadAndParse(parser, unread))
    joined = rewrite.moves.put_on(Read(replace(source, joined=True)), inside)
    if batch is not None:
        joined = group.ragged.RaggedBatch(
            joined, batch.size, np.dtype(np.int64), ranks=(1,), drop_remainder=batch.drop_remainder
        )
    return replace(node, input=rewrite.moves.put_on(joined, above))
