"""Work that a flow does ahead in the background: threads are asked of the run, which has none if it works inline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Protocol

from penstock.core.arrays import Allocate
from penstock.core.budget import Account, HolderKind, unlimited
from penstock.core.frozen import frozen
from penstock.plan.flow import Flow, Mark, Open
from penstock.plan.node import Node

if TYPE_CHECKING:
    from penstock.elements.chunks.chunk import Chunk
    from penstock.kernels import SideThread


class Background(Protocol):
    """Threads and memory of the run, for flows that work ahead or hold elements."""

    def ahead(self, items: Iterator[Chunk], most: int, /) -> Iterator[Chunk]:
        """Return the items, up to `most` of them made ahead by a thread until the result is closed."""
        ...

    def side_thread(self) -> SideThread | None:
        """Return a native thread, or `None` if the run works inline."""
        ...

    def account(self, name: str, kind: HolderKind = "buffer", /) -> Account:
        """Return an account of the run's memory budget for the bytes that the flow holds, to be closed with it."""
        ...


class Inline:
    """Works in the thread that asks for the items.

    >>> Inline().side_thread() is None
    True
    """

    def ahead(self, items: Iterator[Chunk], most: int, /) -> Iterator[Chunk]:
        return items

    def side_thread(self) -> SideThread | None:
        return None

    def account(self, name: str, kind: HolderKind = "buffer", /) -> Account:
        return unlimited(name, kind)


INLINE = Inline()


@frozen()
class WorksAhead(Node):
    """A node whose flow works ahead in the background of the run."""

    def flow(
        self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate, background: Background = INLINE
    ) -> Flow:
        raise NotImplementedError


@frozen()
class Holds(Node):
    """A node whose flow holds elements that it yields later, and counts them in an account of the run's budget."""

    has_a_limit: ClassVar[bool] = False
    """True if what it holds has a limit of its own."""

    def flow(
        self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate, account: Account | None = None
    ) -> Flow:
        raise NotImplementedError
