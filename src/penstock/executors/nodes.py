"""The choice of a node for a place: the same for as long as it has room for a task and the cluster stays the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

WAITING = 1  # tasks that may wait on a node while others would have to wait elsewhere


class Nodes:
    """The nodes of a cluster, each with the number of tasks that it runs at a time, and the tasks under way there.

    Place k belongs to node k modulo the number of nodes, so that places one after another use all nodes. If that node
    has tasks enough, the next one in the row takes the place. A node that is lost leaves its places to the next one,
    and then to a node that joins. Call under a lock.

    >>> nodes = Nodes()
    >>> nodes.know({"a": 1, "b": 1})
    >>> [nodes.choose(place) for place in (0, 1, 2, 2, 2)]
    ['a', 'b', 'a', 'b', None]
    >>> nodes.ended("a")
    >>> nodes.choose(1)
    'a'
    """

    def __init__(self) -> None:
        self._width: dict[str, int] = {}
        self._order: list[str] = []
        self._under_way: Counter[str] = Counter()

    def know(self, nodes: Mapping[str, int]) -> None:
        """Learn which nodes there are now, and how many tasks each runs at a time."""
        self._width = {node: width for node, width in nodes.items() if width > 0}
        new = sorted(self._width.keys() - set(self._order))
        for i, node in enumerate(self._order):
            if node not in self._width and new:
                self._order[i] = new.pop(0)
        self._order += new

    def choose(self, place: int) -> str | None:
        """Return the node for a task of a place, which counts as under way there; `None` if no node has room."""
        count = len(self._order)
        for step in range(count):
            node = self._order[(place + step) % count]
            if self._under_way[node] < self._width.get(node, -WAITING) + WAITING:
                self._under_way[node] += 1
                return node
        return None

    def ended(self, node: str) -> None:
        """Note that a task is no longer under way on a node."""
        self._under_way[node] -= 1
