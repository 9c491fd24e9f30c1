"""The containers that functions refer to, by name."""

from __future__ import annotations

import penstock as ps
from penstock.plan.graph import all_nodes
from penstock.watch.containers import Containers


def test_containers_are_named_with_their_operation_and_measured():
    mine = []
    ds = ps.Dataset.range(9).map(lambda x: (mine.append(x), x)[1])
    containers = Containers(all_nodes(ds._plan))
    (name,) = (name for name in containers.sizes() if "the list mine" in name)
    before = containers.sizes()[name]
    mine.append(bytes(10_000))
    assert name.startswith("map(")
    assert containers.sizes()[name] > before + 9000


class Strange:
    """An object that computes all its attributes."""

    def __init__(self):
        object.__getattribute__(self, "__dict__")["seen"] = []

    def __getattribute__(self, name):
        return 2


def test_the_attributes_of_an_object_are_read_without_its_own_code():
    strange = Strange()
    ds = ps.Dataset.range(3).map(lambda x: x * strange.factor)
    assert any("the list strange.seen" in name for name in Containers(all_nodes(ds._plan)).sizes())
    assert list(ds) == [0, 2, 4]
