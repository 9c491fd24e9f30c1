"""Fuse a run of image operations into one native kernel."""

from __future__ import annotations

from penstock.ops.elementwise.map import Map
from penstock.plan.functions import ElementFunction
from penstock.plan.node import Node


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
