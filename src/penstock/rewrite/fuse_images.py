"""Fuse a run of image operations into one native kernel."""

from __future__ import annotations

from dataclasses import replace

from penstock.ops.elementwise.map import Map
from penstock.ops.order.every import Every
from penstock.ops.order.exclude import Exclude
from penstock.ops.order.repeat import Repeat
from penstock.ops.order.shard import Shard
from penstock.ops.order.shuffle import Shuffle
from penstock.ops.order.skip import Skip
from penstock.ops.order.take import Take
from penstock.ops.read.source import Read
from penstock.plan.functions import ElementFunction
from penstock.plan.graph import with_inputs
from penstock.plan.node import Node
from penstock.sources.files import FileBytes

MOVES = Every | Exclude | Repeat | Shard | Shuffle | Skip | Take
"""Operations that only move elements, whatever is in them."""


def fuse_image_chain(node: Node) -> Node | None:
    """`x.map(f).map(g) -> x.map(f ; g)` where one kernel can do the image operations f and g on the same part."""
    if type(node) is not Map or not isinstance(node.function, ElementFunction):
        return None  # a map that goes on after errors is no plain one
    from penstock.image.fused import FusedImage, fuse  # only a pipeline with images pays for their import
    from penstock.image.operation import ImageOperation

    if not isinstance(node.function, ImageOperation):
        return None
    key = node.seed or 0
    match node.input:
        case Map(input=source, function=FusedImage(ops=ops, keys=keys), on=on) if on == node.on:
            fused = fuse((*ops, node.function), (*keys, key))
        case source:
            fused = fuse((node.function,), (key,))
    return None if fused is None else Map(source, fused, on=node.on)


def read_in_kernel(node: Node) -> Node | None:
    """`files.map(decode ; f) -> paths.map(read ; decode ; f)` where one kernel reads, decodes and does the rest."""
    if not isinstance(node, Map) or node.function.__class__.__name__ != "FusedImage":
        return None
    moves: list[Node] = []
    below = node.input
    while isinstance(below, MOVES):
        moves.append(below)
        below = below.input
    if not isinstance(below, Read) or not isinstance(below.source, FileBytes) or below.source.unread:
        return None
    if node.on != (None if below.source.labels is None else below.source.key):
        return None
    paths: Node = Read(replace(below.source, unread=True))
    for move in reversed(moves):
        paths = with_inputs(move, (paths,))
    return replace(node, input=paths, function=replace(node.function, reads=True))  # pyright: ignore[reportArgumentType]
