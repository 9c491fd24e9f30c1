"""A dataset taken apart for data that stays on a device: elements that are moved once, and the order of each epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from penstock import sources
from penstock.core.arrays import Reserve
from penstock.core.errors import PlanError
from penstock.dataset.iterator import Iterator
from penstock.dataset.passes import Passes
from penstock.engine.runs.carry_over import CarryOver
from penstock.ops.buffer.options import WithOptions
from penstock.ops.buffer.prefetch import Prefetch
from penstock.ops.elementwise.map import Map
from penstock.ops.group.batch import Batch
from penstock.ops.order.repeat import Repeat
from penstock.ops.read.source import Read
from penstock.plan.draws import is_unseeded, varies
from penstock.plan.graph import post_order, with_inputs
from penstock.plan.node import Node, RowMap

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


class Residence(NamedTuple):
    """The `elements` of a dataset of batches, each once, and the batches as arrays of their numbers."""

    elements: Dataset[Any]
    order: Order


class Order:
    """The batches of a dataset as arrays of the numbers of their elements, with its passes and states."""

    def __init__(self, dataset: Dataset[Any], passes: Passes, plan: Node) -> None:
        self._dataset = dataset
        self._passes = passes
        self._plan = plan
        self._carry_over = CarryOver()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._dataset!r}>"

    def __len__(self) -> int:
        return len(self._dataset)

    @property
    def epoch(self) -> int:
        """Return the epoch under way, or else the next one."""
        return self._dataset.epoch

    def iterator(self, *, epoch: int | None = None, allocate: Reserve | None = None) -> Iterator[Any]:
        """Return an iterator over one epoch of the dataset."""
        carry_over = self._carry_over if allocate is None else self._carry_over.into(allocate)
        return Iterator(self._passes, carry_over, epoch, plan=self._plan)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next pass."""
        self._dataset.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return the position of the dataset's pass."""
        return self._dataset.state_dict()

    def load_state_dict(self, state: dict[str, Any] | list[dict[str, Any]]) -> None:
        """Begin the next pass of the dataset at a saved position."""
        self._dataset.load_state_dict(state)


def residence_of(dataset: Dataset[Any], passes: Passes) -> Residence:
    """Take a dataset apart, or raise a `PlanError` that says what stands in the way.

    Maps that draw nothing may stand between the shuffle and the batch: they are applied once, before the order.
    """
    above, batch = _moves(passes.plan)
    if type(batch) is not Batch or batch.pads:
        raise PlanError(
            f"resident(): the dataset has to end in batch(), without padding, and perhaps prefetch(), take() or "
            f"repeat(), not in {batch.label()}"
        )
    below: list[Node] = []
    maps: list[Node] = []
    node = batch.input
    while _is_move(node) or (type(node) is Map and not node.draws):
        (below if isinstance(node, RowMap) else maps).append(node)
        (node,) = node.inputs
    if not node.indexed or node.length < 0:
        raise PlanError(f"resident(): {node.label()} makes a stream; only a dataset of known length can be moved")
    for each in post_order(node):
        if varies(each) or is_unseeded(each):
            raise PlanError(
                f"resident(): {each.label()} makes other elements in each epoch, below {node.label()}; shuffle after "
                "it, and let random functions work on the device with finish="
            )
    numbers: Node = Read(sources.integers.integer_range(node.length))
    for move in [*reversed(below), batch, *reversed(above)]:
        numbers = with_inputs(move, (numbers,))
    for each in reversed(maps):
        node = with_inputs(each, (node,))
    return Residence(type(dataset)(node), Order(dataset, passes, numbers))


def rows_of_batches(plan: Node) -> tuple[int, ...]:
    """Return the sizes of the batches of an epoch, if all are sure to come: that of full ones, and of the last."""
    while isinstance(plan, Prefetch | WithOptions | Repeat):
        plan = plan.input
    if not isinstance(plan, Batch) or plan.input.length <= 0:
        return ()
    whole, rest = divmod(plan.input.length, plan.size)
    if plan.static_size is not None:
        return (plan.size,) if plan.length else ()
    return (plan.size, rest) if whole else (rest,)


def _moves(node: Node) -> tuple[list[Node], Node]:
    """Return the operations at the end of a plan that only select and order, and the node that they move."""
    found: list[Node] = []
    while _is_move(node):
        found.append(node)
        (node,) = node.inputs
    return found, node


def _is_move(node: Node) -> bool:
    return isinstance(node, RowMap) and type(node).program is Node.program
