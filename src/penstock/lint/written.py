"""What rules look at, and the rules."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from penstock.core.options import Options
from penstock.ops.buffer.options import options_of
from penstock.plan.node import Node


class Written(NamedTuple):
    """A plan, and what only the code around it tells.

    `parts` are the nodes of the plan that keep one part of their input, where another dataset begins or ends at the
    very place that this part does. `thrown_away`: nobody used the dataset. `firsts` are the nodes' first elements, by
    the `id` of the node, where a dry run has made them. `by_row`: a DataLoader reads it as `ds[i]`. Of the passes that
    were begun `left` is how many were left early, if all were; 0 where one has reached the end. `threads`: several make
    its elements, or would if they might; `empty`: an epoch had no element; `failed`: elements were left out, as they
    failed.
    """

    plan: Node
    parts: tuple[Node, ...] = ()
    thrown_away: bool = False
    firsts: Mapping[int, Any] = MappingProxyType({})
    by_row: bool = False
    left: int = 0
    threads: bool = False
    empty: bool = False
    failed: bool = False

    @property
    def options(self) -> Options:
        """The options set in the plan."""
        return options_of(self.plan)


class Found(NamedTuple):
    """The operation in question, and what to say of it; once for all datasets, where it is said `of` an object."""

    node: Node
    message: str
    of: Any = None


class Rule(NamedTuple):
    """A code, and where the function is that finds what it stands for.

    A plan without operations of all the names that it is `about` has nothing to find, so its file is imported for the
    first plan with them. `warns`: almost surely a mistake, so the first iterator warns of it; the others are only
    shown by `ds.check()`.
    """

    code: str
    found: Callable[[], Callable[[Written], Iterator[Found]]]
    about: tuple[str, ...] = ()
    warns: bool = True

    @property
    def find(self) -> Callable[[Written], Iterator[Found]]:
        """What finds it in a plan."""
        return self.found()

    @property
    def name(self) -> str:
        """The situation in words: `shuffle after batch`."""
        return self.find.__name__.replace("_", " ")

    @property
    def explanation(self) -> str:
        """What happens, why it matters and what to write instead."""
        return inspect.getdoc(self.find) or ""
