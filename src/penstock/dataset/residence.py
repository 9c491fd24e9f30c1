"""A dataset taken apart for data that stays on a device: elements that are moved once, and the order of each epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from penstock import sources
from penstock.core.arrays import Reserve
from penstock.core.errors import PlanError
from penstock.dataset.iterator import Iterator
from penstock.dataset.passes import Passes
from penstock.engine.runs.scope import CarryOver
from penstock.feed.arrangement import BatchRows
from penstock.feed.feed import SharedPasses
from penstock.ops.buffer.options import WithOptions
from penstock.ops.buffer.prefetch import Prefetch
from penstock.ops.elementwise.map import Map
from penstock.ops.group.batch import Batch
from penstock.ops.group.padded import PaddedBatch
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


class Order(SharedPasses):
    """The batches of a dataset as arrays of the numbers of their elements."""

    def __init__(self, dataset: Dataset[Any], passes: Passes, plan: Node) -> None:
        super().__init__(dataset)
        self._passes = passes
        self._plan = plan
        self._carry_over = CarryOver()

    def __len__(self) -> int:
        return len(self._dataset)

    def iterator(self, *, epoch: int | None = None, allocate: Reserve | None = None) -> Iterator[Any]:
        """Return an iterator over one epoch of the dataset."""
        carry_over = self._carry_over if allocate is None else self._carry_over.into(allocate)
        return Iterator(self._passes, carry_over, epoch, plan=self._plan)


def residence_of(dataset: Dataset[Any], passes: Passes) -> Residence:
    """Take a dataset apart, or raise a `PlanError` that says what stands in the way.

    Maps that draw nothing may stand between the shuffle and the batch: they are applied once, before the order.
    """
    above, batch = _moves(passes.plan)
    if type(batch) is Map:
        raise PlanError(
            f"resident(): {batch.label()} comes after batch(): write it before the batch, for one element, or pass it "
            "as finish=, which is called on each batch on the device"
        )
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
    _check_constant(node)
    numbers: Node = Read(sources.integers.integer_range(node.length))
    for move in [*reversed(below), batch, *reversed(above)]:
        numbers = with_inputs(move, (numbers,))
    for each in reversed(maps):
        node = with_inputs(each, (node,))
    return Residence(type(dataset)(node), Order(dataset, passes, numbers))


def _check_constant(node: Node) -> None:
    """Raise a `PlanError` if the elements of a node, which are moved once, differ from epoch to epoch."""
    for each in (node, *post_order(node)):
        if not (varies(each) or is_unseeded(each)):
            continue
        if type(each) is Map:
            why = "draws anew in each epoch; let it work on the device instead, as finish="
        elif isinstance(each, RowMap) and each is not node:
            why = f"reorders the input of {node.label()} in each epoch; write it after {node.label()}"
        else:
            why = "makes other elements in each epoch"
        raise PlanError(f"resident(): the elements are moved to the device only once, but {each.label()} {why}")


def rows_of_batches(plan: Node) -> BatchRows | None:
    """Return the rows of the batches of an epoch, if all batches are sure to come."""
    length = plan.length
    while isinstance(plan, Prefetch | WithOptions | Repeat):
        plan = plan.input
    if not isinstance(plan, Batch | PaddedBatch) or plan.input.length <= 0 or not plan.length:
        return None
    whole, rest = divmod(plan.input.length, plan.size)
    last = plan.size if plan.static_size is not None or not rest else rest
    return BatchRows(plan.size if whole else last, last, plan.length, repeats=length != plan.length)


def _moves(node: Node) -> tuple[list[Node], Node]:
    """Return the operations at the end of a plan that only select and order, and the node that they move."""
    found: list[Node] = []
    while _is_move(node):
        found.append(node)
        (node,) = node.inputs
    return found, node


def _is_move(node: Node) -> bool:
    return isinstance(node, RowMap) and type(node).program is Node.program
