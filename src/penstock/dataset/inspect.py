"""Descriptions of a dataset, without or before iterating it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from penstock import dataset, engine, rewrite
from penstock import plan as plans
from penstock.core.blame import hand_on_blames, note_blames, noting_blames
from penstock.core.cached import cached_property
from penstock.core.checks import check_count
from penstock.core.errors import PlanError
from penstock.core.shown import displayable
from penstock.core.surroundings import is_asked_by_pytorch, is_read_by_a_dataloader
from penstock.dataset.handle import Handle, T_co
from penstock.dataset.places import check_indexed, check_place, epoch_and_row, first_stream, row_of, whole_place
from penstock.elements.spec import Spec, describe, map_leaves, spec_of
from penstock.ops import elementwise, group, order, read
from penstock.plan.class_names import class_names_of
from penstock.plan.functions import ColumnFunction, ElementFunction, is_declared
from penstock.plan.graph import fold, rank_rows, with_inputs
from penstock.plan.node import Node, RowMap
from penstock.plan.types import INFINITE, UNKNOWN

if TYPE_CHECKING:
    from penstock.dataset.check import Check
    from penstock.dataset.dataset import Dataset
    from penstock.plan.locate import Record


class Inspect(Handle[T_co]):
    """`len`, `cardinality`, `element_spec`, `ds[row]`, `locate`, `check`, `fingerprint` and `repr`."""

    def cardinality(self) -> int:
        """Return the number of elements of one epoch, `INFINITE` (-1), or `UNKNOWN` (-2) if only iterating can show it.

        >>> Dataset.range(10).batch(3).cardinality()
        4
        """
        return self._plan.length

    def __len__(self) -> int:
        length = self._plan.length
        if length < 0:
            instead = "use DataLoader(ds.to_torch(), batch_size=None)" if is_asked_by_pytorch() else None
            if length == UNKNOWN:
                stream = first_stream(self._plan).label()
                instead = instead or "cardinality() returns UNKNOWN"
                raise TypeError(f"the number of elements of {stream} is known only by iterating; {instead}")
            instead = instead or "cardinality() returns INFINITE"
            raise TypeError(f"this dataset never ends, so it has no len(); {instead}")
        read.source.refuse_faults(self._plan)
        return length

    def __bool__(self) -> bool:
        return self._plan.length != 0

    @property
    def element_spec(self) -> Spec:
        """Return the shapes and dtypes of one element, nested like it.

        If a Python function made the element, the function is called once, on the first element. An unknown dimension
        is `None`. An `AttributeError` of that function is raised as a `RuntimeError`, since an `AttributeError` from a
        property would mean that there is no `element_spec`.

        >>> Dataset.from_tensor_slices({"x": np.zeros((8, 2), np.float32)}).batch(3).element_spec
        {'x': float32[?, 2]}
        """
        try:
            return self._spec
        except AttributeError as error:
            wrong = RuntimeError(f"element_spec: a function raised {type(error).__name__}: {error}")
            hand_on_blames(error, wrong)
            note_blames(wrong)
            raise wrong from error

    @cached_property
    def _spec(self) -> Spec:
        return _described(self._bound()).spec()

    @overload
    def __getitem__(self, row: int | tuple[int, int]) -> T_co: ...
    @overload
    def __getitem__(self, row: slice) -> Dataset[T_co]: ...
    def __getitem__(self, row: int | tuple[int, int] | slice) -> Any:
        """Return the element at position `row` of epoch 0, from the end if negative; for a slice, return a dataset.

        `ds[epoch, row]` is the element of another epoch: use it to reproduce one example of a running job. Operations
        without a seed draw as they do when this dataset is iterated; another dataset draws differently.

        >>> ds = Dataset.range(10).map(lambda x: x * x)
        >>> int(ds[3]), int(ds[-1]), list(ds[2:8:3]) == [4, 25]
        (9, 81, True)
        """
        if isinstance(row, slice):
            return self._over(self._sliced(row))
        if is_read_by_a_dataloader():
            self._warn_of_rows()
        epoch, position = epoch_and_row(row)
        return self._element(self._global_row(epoch, position))

    @overload
    def locate(self, row: int | tuple[int, int]) -> list[Record]: ...
    @overload
    def locate(self, *, step: int | tuple[int, int]) -> list[list[Record]]: ...
    def locate(self, row: Any = None, *, step: Any = None) -> list[Record] | list[list[Record]]:
        """Return the source records that element `row` (or `epoch, row`) is made of; for a batch, all of them.

        With `step` (or `epoch, step`), return the records of that global batch on every rank, one list for each rank:
        after `shard_by_rank()` any rank can compute the records of all ranks. No data is read.

        >>> ds = Dataset.from_source(["a", "b", "c", "d"]).shuffle(seed=2).batch(2)
        >>> [record.name for record in ds.locate(0)]
        ['item 2 of list', 'item 0 of list']
        >>> [[record.name for record in of_rank] for of_rank in ds.shard_by_rank(rank=0, world=2).locate(step=0)]
        [['item 2 of list'], ['item 0 of list']]
        """
        if (row is None) == (step is None):
            raise TypeError("locate(): expected either a row or step=")
        if step is not None:
            check_place("locate", "step", step)
            return self._records_of_step(step)
        check_place("locate", "row", row)
        epoch, position = epoch_and_row(row)
        rows = np.array([self._global_row(epoch, position)], np.int64)
        return list(plans.locate.records(self._bound(), rows))

    def _records_of_step(self, step: Any) -> list[list[Record]]:
        epoch, position = epoch_and_row(step)
        bound, rows = self._bound(), rank_rows(self._plan)
        check_indexed(bound, "the records of a step are known only once it is made")
        world = 1 if rows is None else rows.world
        whole = bound if rows is None else dataset.ranks.parts.of_rank(bound, 0, 1)
        at = row_of(whole, epoch, position) % whole.stride
        found: list[list[Record]] = []
        for rank in range(world):
            plan = bound if rows is None else dataset.ranks.parts.of_rank(bound, rank, world)
            its_rows = np.array([whole_place(epoch) * plan.stride + at][: at < plan.stride], np.int64)
            found.append(list(plans.locate.records(plan, its_rows)))
        return found

    @property
    def class_names(self) -> tuple[str, ...]:
        """Return the names of the classes that labels number, if the data has any, as from `ps.read_image_folder`.

        >>> hasattr(Dataset.range(3), "class_names")
        False
        """
        if names := class_names_of(self._plan):
            return names
        raise AttributeError("class_names: no source of this dataset names classes; ps.read_image_folder() does")

    def fingerprint(self) -> str:
        """Return a digest of the pipeline, equal for equal pipelines in any process.

        States store the digest, and `load_state_dict` rejects the state of a pipeline with another one.

        Functions count by their code and the values that they use. A global dict, list, set or object that a function
        reads counts only if its name is in upper case (`VOCABULARY`), as it may be a cache or a log.

        >>> Dataset.range(3).fingerprint() == Dataset.range(3).prefetch(2).fingerprint()
        True
        """
        return plans.fingerprint.fingerprint(self._plan)

    def check(self, count: int = 1) -> Check:
        """Make the first `count` elements now, and report the result of each operation and likely mistakes.

        Use it as a dry run before a long one: `print(ds.check())` shows every operation as it was written, the spec of
        its element, and the time for one element, or the error and the row at fault; then the findings of the lint (see
        docs/lint.md). `.ok` is true if nothing failed and nothing would warn. Functions are called for these elements
        (for every element of a batch), and vectorized ones up to six times more, with rows like the first. At most
        10,000 elements of a stream's source are read.

        >>> check = Dataset.range(8).map(lambda x: 6 // x).batch(3).check()
        >>> print(check)
        operation    one element  yields
        range(8)       ...        int64
        map(lambda)               ZeroDivisionError: ... (at row 0)
        batch(3)                  not reached
        PS201: batch(3): the last batch of an epoch has 2 elements, ...
        not ok: 1 error, 1 remark; to silence it: ds.with_options(ps.Options(ignore_lint="PS201"))
        >>> check.ok, [finding.code for finding in check.findings]
        (False, ['PS201'])
        """
        many = check_count("check", "count", count, least=1)
        return dataset.check.checked(self._written(), self._bound(), many)

    def __repr__(self) -> str:
        plan = self._plan
        spec = self.__dict__.get("_spec") or plan.spec()
        length = {INFINITE: "endless", UNKNOWN: "unknown length"}.get(plan.length, f"{plan.length:,}")
        return displayable(f"<Dataset of {length}: {describe(spec) if spec is not None else '?'} | {_chain(plan)}>")

    def _bound(self) -> Node:
        plan, first = self._plan, self._passes.beginning(0)
        plans.fingerprint.settle(plan)
        return rewrite.seeds.bind_seeds(plan, first.seed, first.drawn)

    def _global_row(self, epoch: int, position: int) -> int:
        check_indexed(self._plan, "a row of it cannot be made alone")
        return row_of(self._plan, epoch, position)

    def _element(self, row: int) -> T_co:
        return _made(self._bound(), row)

    def replay(self, step: int | tuple[int, int], *, rank: int | None = None) -> T_co:
        """Return only the global batch of a step (or `epoch, step`): the batch of all ranks together.

        With `rank`, return the part of that rank, among the ranks of `shard_by_rank`. The step number is
        the `row` of a state saved before the step. Operations without a seed draw as when this dataset is iterated.

        >>> ds = Dataset.range(8).batch(4).shard_by_rank(rank=0, world=2)
        >>> ds.replay(1).tolist(), ds.replay(1, rank=1).tolist()
        ([4, 5, 6, 7], [6, 7])
        """
        check_place("replay", "step", step)
        epoch, position = epoch_and_row(step)
        plan, rows = self._bound(), rank_rows(self._plan)
        check_indexed(plan, "a step of it cannot be made alone; load a state saved before the step")
        world = 1 if rows is None else rows.world
        if rank is not None and check_count("replay", "rank", rank, least=0) >= world:
            raise ValueError(f"replay(rank={rank}): the dataset is divided among {world} ranks")
        if rows is not None:
            plan = dataset.ranks.parts.of_rank(plan, rank or 0, 1 if rank is None else world)
        return _made(plan, row_of(plan, epoch, position))

    def _sliced(self, wanted: slice) -> Node:
        plan = self._plan
        check_indexed(plan, "it cannot be sliced; use skip() and take()")
        if plan.length == INFINITE and (
            wanted.stop is None or min(wanted.start or 0, wanted.stop, wanted.step or 1) < 0
        ):
            raise ValueError("a slice of a dataset without end needs a stop, and counts from the front")
        start, stop, step = wanted.indices(plan.stride)
        return order.every.Every(plan, start, step, len(range(start, stop, step)))


def _described(plan: Node) -> Node:
    """Return the plan with a spec; the inputs of a Python function need none, since its own element shows the spec."""
    known: dict[int, Node] = {}
    path = [plan]
    while path:
        node = path[-1]
        inputs = () if node.spec() is not None or _tells_itself(node) else node.inputs
        missing = [each for each in inputs if id(each) not in known]
        path += missing
        if not missing:
            path.pop()
            known[id(node)] = _with_spec(with_inputs(node, tuple(known[id(each)] for each in inputs)))
    return known[id(plan)]


def _tells_itself(node: Node) -> bool:
    """Return whether an element has to be made for its spec, regardless of the specs of the inputs."""
    if node.traits.has_own_spec or node.traits.forgives:  # a failed element that is forgiven has no spec
        return True
    if isinstance(node, elementwise.map.Map) and not (
        is_declared(node.function) and isinstance(node.function, ElementFunction | ColumnFunction)
    ):
        return True
    # where shapes differ, the first element of an order or a part is not the first of the input
    return isinstance(node, RowMap) and node.length not in (0, UNKNOWN)


def _with_spec(node: Node) -> Node:
    if node.spec() is not None:
        return node
    try:
        return plans.described.Described(node, _of_any_batch(spec_of(_made(node, 0)), node))
    except (IndexError, StopIteration):
        raise PlanError(f"element_spec: {node.label()} yields no element to take the spec from") from None


def _of_any_batch(spec: Spec, plan: Node) -> Spec:
    """Return the spec of all elements if the first was made from a batch and others are made from shorter batches."""
    unsure = [batch for batch in _batches(plan) if getattr(batch, "static_size", None) is None]
    sizes = {getattr(batch, "size", None) for batch in unsure}
    sizes |= {batch.inputs[0].length % size for batch in unsure if (size := getattr(batch, "size", 0))}
    any_size = None in sizes or any(batch.inputs[0].length in range(getattr(batch, "size", 0)) for batch in unsure)

    def loosened(_: str, leaf: Any) -> Any:
        shape = getattr(leaf, "shape", ())
        return replace(leaf, shape=(None, *shape[1:])) if shape and (any_size or shape[0] in sizes) else leaf

    return map_leaves(loosened, spec) if unsure else spec


def _batches(plan: Node) -> Iterator[Node]:
    """Yield the nearest operations below that make batches."""
    nodes = [plan]
    while nodes:
        node = nodes.pop()
        if hasattr(node, "drop_remainder"):
            yield node
        elif not isinstance(node, group.unbatch.Unbatch):
            nodes += node.inputs


def _made(plan: Node, row: int) -> Any:
    with noting_blames():
        if not plan.indexed:
            return engine.runs.lowering.first_element(plan)
        if plan.length == 0:
            raise IndexError("no element")
        plan = rewrite.passes.rewritten(plan, rewrite.passes.PLAIN).plan
        program = engine.tasks.compile.compiled(plan, np.empty, engine.tasks.observer.Unobserved())
        return program(np.array([row], np.int64)).elements()[0]


def _chain(plan: Node) -> str:
    """Return the operations in one line."""

    def chained(node: Node, inputs: tuple[list[str], ...]) -> list[str]:
        if node.internal and inputs:
            return inputs[0]
        if len(inputs) > 1:
            return [f"{node.name}({'; '.join(map(' → '.join, inputs))})"]
        chain = inputs[0] if inputs else []
        chain.append(node.label())
        return chain

    return " → ".join(fold(plan, chained))
