"""Fuse a run of image operations into one native kernel, or into one step that leaves them to a feed."""

from __future__ import annotations

from dataclasses import replace

from penstock import rewrite, sources
from penstock.image.decode import Decode
from penstock.image.deferred import DeferredImage
from penstock.image.fused import FusedImage, fuse
from penstock.image.operation import ImageOperation
from penstock.ops.elementwise.map import Map
from penstock.ops.read.source import Read
from penstock.plan.graph import end_of
from penstock.plan.node import Node
from penstock.storage.remote.file import are_remote


def fuse_image_chain(node: Node) -> Node | None:
    """`x.map(f).map(g) -> x.map(f ; g)` if one kernel can apply the image operations f and g to the same part.

    With `decode(device=)` in front, a feed applies them, and f ; g notes what to do.
    """
    if type(node) is not Map or not isinstance(node.function, ImageOperation):
        return None  # a map that continues after errors is not a plain map
    key = node.seed or 0
    match node.input:
        case Map(input=source, function=FusedImage() | DeferredImage() as before, on=on) if on == node.on:
            fused = _joined((*before.ops, node.function), (*before.keys, key))
        case source:
            fused = _joined((node.function,), (key,))
    return None if fused is None else Map(source, fused, on=node.on)


def _joined(ops: tuple[ImageOperation, ...], keys: tuple[int, ...]) -> FusedImage | DeferredImage | None:
    fused = fuse(ops, keys)
    is_deferred = fused is not None and isinstance(ops[0], Decode) and ops[0].device is not None
    return DeferredImage(ops, keys) if is_deferred else fused


def read_in_kernel(node: Node) -> Node | None:
    """`files.map(decode ; f) -> paths.map(read ; decode ; f)` if one kernel reads, decodes and does the rest."""
    if not isinstance(node, Map) or not isinstance(node.function, FusedImage):
        return None
    moves, below = end_of(node.input, rewrite.moves.MOVES)
    if not isinstance(below, Read) or not isinstance(below.source, sources.files.FileBytes) or below.source.unread:
        return None
    if are_remote(below.source.paths):
        return None
    if node.on != (None if below.source.labels is None else below.source.key):
        return None
    paths = rewrite.moves.put_on(Read(replace(below.source, unread=True)), moves)
    return replace(node, input=paths, function=replace(node.function, reads=True))
