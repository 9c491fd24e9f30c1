"""Rules about caches that are probably misplaced."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.lint.moves import MoveCall, what_stands_between
from penstock.lint.written import Found, Written
from penstock.ops.buffer.cache import Cache
from penstock.ops.elementwise.filter import Filter
from penstock.ops.elementwise.map import Map
from penstock.ops.elementwise.scan import Scan
from penstock.ops.group.grouping import Grouping
from penstock.ops.order.repeat import Repeat
from penstock.ops.order.shuffle import Shuffle
from penstock.plan.draws import varies
from penstock.plan.graph import post_order, upstream
from penstock.plan.node import Node


def random_function_before_cache(written: Written) -> Iterator[Found]:
    """A random operation before a cache is no longer random.

    Augmentation should differ in every epoch, but a cache keeps the draws of the first pass. Cache the results of
    expensive operations that are the same each time (reading, decoding), and augment after the cache.
    """
    for cache in _caches(written.plan):
        below = upstream(cache, past=lambda node: not isinstance(node, Cache))
        drawing = [node for node in below if isinstance(node, Map | Filter | Scan) and node.draws]
        lowest = drawing[-1] if drawing else None
        fix = "" if lowest is None else _fix_of_random(cache, lowest)
        for node in drawing:
            yield Found(
                cache,
                f"{cache.label()} comes after {node.label()}, which is random: every epoch repeats the draws of the "
                "first",
                f"write .{cache.label()} before .{node.label()}",
                fix=fix if node is lowest else "another random function comes first",
            )


def shuffle_before_cache(written: Written) -> Iterator[Found]:
    """A cache after a shuffle keeps the order of the first epoch.

    Every epoch then comes in that order. Shuffle after the cache, which keeps rows in any order. To keep a random part
    of the data, `shuffle().take(n).cache()` is fine, and so is another shuffle after the cache.
    """
    shuffled = {id(node) for shuffle in _shuffles(written.plan) for node in upstream(shuffle, past=lambda node: True)}
    for cache in _caches(written.plan):
        for shuffle in upstream(cache, past=lambda node: node.traits.one_to_one or isinstance(node, Grouping | Filter)):
            if isinstance(shuffle, Shuffle) and shuffle.reshuffle and id(cache) not in shuffled:
                yield Found(
                    cache,
                    f"{cache.label()} comes after {shuffle.label()}: every epoch is in the order of the first",
                    f"write .{cache.label()} before .{shuffle.label()}",
                    fix=_fix_of_shuffle(cache, shuffle),
                )


def repeat_before_cache(written: Written) -> Iterator[Found]:
    """A cache after `repeat` keeps every element several times.

    The copies are equal, but take memory each. Cache first: repeating cached elements costs nothing.
    """
    for cache in _caches(written.plan):
        for repeat in upstream(cache, past=lambda node: node.traits.one_to_one and not getattr(node, "draws", False)):
            if isinstance(repeat, Repeat) and repeat.count not in (0, 1):
                yield Found(
                    cache,
                    f"{cache.label()} comes after {repeat.label()} and keeps every element {repeat.count} times",
                    f"write .{cache.label()} before .{repeat.label()}",
                    fix=_fix_of_repeat(cache, repeat),
                )


def _caches(plan: Node) -> Iterator[Cache]:
    return (node for node in post_order(plan) if isinstance(node, Cache))


def _shuffles(plan: Node) -> Iterator[Shuffle]:
    return (node for node in post_order(plan) if isinstance(node, Shuffle))


def _fix_of_random(cache: Cache, lowest: Node) -> MoveCall | str:
    """Return the fix that caches before the lowest random function, if rows keep their draws without the cache."""
    if not cache.input.indexed:
        return "draws in a stream depend on the place of the cache"
    if reason := what_stands_between(cache, lowest, maps=True, draws=True):
        return reason
    return MoveCall(
        cache, lowest, True, "the first pass is the same, and later ones, also those of a repeat(), draw anew"
    )


def _fix_of_shuffle(cache: Cache, shuffle: Shuffle) -> MoveCall | str:
    """Return the fix that shuffles after the cache, which then keeps the results of functions between the two."""
    if not cache.input.indexed:
        return "the cache keeps a stream"
    if reason := what_stands_between(cache, shuffle, maps=True):
        return reason
    effect = "the first pass is the same, and later ones, also those of a repeat(), have orders of their own"
    return MoveCall(shuffle, cache, False, effect)


def _fix_of_repeat(cache: Cache, repeat: Repeat) -> MoveCall | str:
    """Return the fix that repeats after the cache, if every pass over what is repeated is the same."""
    changing = next((node for node in post_order(repeat.input) if varies(node)), None)
    if changing is not None:
        return f"{changing.label()} makes other elements in each pass, all of which the cache keeps"
    if reason := what_stands_between(cache, repeat, maps=True):
        return reason
    return MoveCall(repeat, cache, False, "all elements are the same")
