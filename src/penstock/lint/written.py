"""The input of rules, and the rules themselves."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.core.options import Options
from penstock.ops.buffer.options import options_of
from penstock.plan.node import Node

if TYPE_CHECKING:
    from penstock.lint.moves import MoveCall


class Written(NamedTuple):
    """A plan, and facts from the code around it.

    `parts` are the nodes of the plan that keep one part of their input such that another dataset begins or ends at a
    boundary of the part. `thrown_away`: the dataset was never used. `firsts` are the nodes' first elements, by the `id`
    of the node, if a dry run has made them. `by_row`: a DataLoader reads the dataset as `ds[i]`. `left` is the number
    of passes that were left early, if all were; 0 once one has reached the end. `threads`: several threads make the
    elements, or would if permitted; `empty`: an epoch had no element; `failed`: elements failed and were left out.
    `processes` is the number of processes whose batches a feed joins into one.
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
    processes: int = 1

    @property
    def options(self) -> Options:
        """Return the options set in the plan."""
        return options_of(self.plan)


class Found(NamedTuple):
    """The operation in question, the reason why it is a mistake, and the change to make, with a `fix` that writes it.

    Where this one has none, although others of its code have, `fix` is the reason.

    A finding `of` an object is reported once for all datasets.
    """

    node: Node
    reason: str
    change: str
    of: Any = None
    fix: MoveCall | str = ""

    @property
    def message(self) -> str:
        """The reason and the change as one sentence."""
        return f"{self.reason}; {self.change}"


class Rule(NamedTuple):
    """A code, and the place of the function that finds it.

    A plan without operations of all the names in `about` has no findings, so the file of the rule is imported for the
    first plan that has them. `warns`: almost surely a mistake, so the first iterator warns of it; all other findings
    are only shown by `ds.check()`.
    """

    code: str
    found: Callable[[], Callable[[Written], Iterator[Found]]]
    about: tuple[str, ...] = ()
    warns: bool = True

    @property
    def find(self) -> Callable[[Written], Iterator[Found]]:
        """Return the function that finds the mistake in a plan."""
        return self.found()

    @property
    def name(self) -> str:
        """Return a description of the situation, such as `shuffle after batch`."""
        return self.find.__name__.replace("_", " ")

    @property
    def explanation(self) -> str:
        """Return the full description: what happens, why it matters and what to write instead."""
        return inspect.getdoc(self.find) or ""
