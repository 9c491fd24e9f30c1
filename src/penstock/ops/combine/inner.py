"""Turn a function's results that hold many elements into pieces that can be opened at a mark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, TypeAlias, cast

import numpy as np

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.errors import ClosedError, CursorError, ElementError
from penstock.core.frozen import frozen
from penstock.core.seeds import mix
from penstock.elements.chunks.chunk import Chunk, Items
from penstock.elements.chunks.sharing import with_own_arrays
from penstock.elements.nested.nesting import leaf_column
from penstock.elements.nested.plain import PLAIN_TYPES
from penstock.ops.elementwise.map import Map
from penstock.plan.blame import blame
from penstock.plan.flow import AskedFlow, Flow, Mark, Open, Piece, Reader, left_out, resumed
from penstock.plan.graph import end_of
from penstock.plan.last_pass import LastPass
from penstock.plan.node import Node, Streamed
from penstock.plan.safety.calls import entered, turns_of
from penstock.plan.safety.locks import LockSet
from penstock.plan.traits import Traits
from penstock.plan.types import Spec

PlanOf: TypeAlias = Callable[[Any], Node | None]
"""The plan of a result that is a dataset; `None` for any other result."""
OpenWithin: TypeAlias = Callable[[Node | Open, int], Open]
"""Opens a plan within the run; a number keys its unseeded operations, `None` is for a plan without any."""

_AT_A_TIME = 64  # elements taken from an iterator at most before they are passed on


@frozen()
class Unfolding(Streamed):
    """Yield the elements of the dataset, array or iterable that each element of `input` is.

    `input` calls the user's function, so the calls run in tasks.
    """

    traits = Traits(live=True)  # a function may return an iterator

    input: Node
    plan_of: PlanOf
    seed: int | None

    def spec(self) -> Spec | None:
        return None

    def called(self) -> str:
        """Return the name of the user's function and its error policy."""
        return "" if self._calls is None else self._calls.arguments()

    @property
    def _calls(self) -> Map | None:
        """The node that calls the user's function."""
        _, node = end_of(self.input)  # below a node that counts its errors
        return node if isinstance(node, Map) else None

    def arguments(self) -> str:
        return self.called()

    def redone(self) -> str:
        return "restarts an iterator that its function returned; a dataset or array continues in place"

    def in_tasks(self, below: Node) -> Node:
        """Return the node that runs in tasks, with `below` as its input."""
        return below

    def unfold(self, source: Open, epoch: int, mark: Mark, open_within: OpenWithin) -> Flow:
        """Yield the pieces of one epoch from `mark` on; `open_within` opens the datasets among the results."""
        raise NotImplementedError

    def elements_of(self, holder: Piece, mark: Mark, open_within: OpenWithin) -> Reader:
        """Return a reader of the only result in `holder`, from a mark of that result on."""
        result, row = holder.chunk.element(0), int(holder.ids[0])
        if is_sequence(result):
            return Reader(lambda epoch, mark=None: _of_sequence(result, mark), 0, mark)
        try:
            begin = self.plan_of(result) or self._begin(result)
            within = open_within(begin, mix(self.seed or 0, row))
        except Exception as error:
            blame(error, self, row, self.input)
            raise
        return Reader(self._blamed(within, row), 0, mark)

    def _blamed(self, within: Open, row: int) -> Open:
        """Return a function that opens the same pieces; its errors name the element that they belong to, by id."""

        def pieces(epoch: int, mark: Mark = None) -> Flow:
            try:
                yield from within(epoch, mark)
            except (ClosedError, CursorError):
                raise
            except Exception as error:
                blame(error, self, row, self.input)
                raise

        return pieces

    def _begin(self, result: Any) -> Open:
        if isinstance(result, str | bytes | dict) or not isinstance(result, Iterable):
            raise ElementError(
                f"{self.name}: the function returned {type(result).__name__} {result!r:.60}; return a dataset, an "
                "array or an iterable of elements"
            )
        elements = iter(cast("Iterable[Any]", result))
        again = elements is result and self._last.begin(elements)
        return lambda epoch, mark=None: self._of_iterator(elements, mark, again=again)

    @cached_property
    def _last(self) -> LastPass:
        """The last iterator that the user's function returned: of its calls, which stay the same in each epoch."""
        return LastPass(self.name) if self._calls is None else self._calls.last_pass

    @cached_property
    def _turns(self) -> LockSet | None:
        """The turns that serialize calls of the user's function and steps of an iterator that it returned."""
        return None if self._calls is None else turns_of(self._calls.function, thread_safe=self._calls.thread_safe)

    def _of_iterator(self, elements: Iterator[Any], mark: Mark, *, again: bool) -> AskedFlow:
        """Yield copies of the elements of a new iterator, one by one unless more are wanted.

        Elements before the mark are made again and dropped. If tasks call the user's function in turns, the iterator is
        advanced in these turns too. One that was read to its end before, `again`, is an error if it has no element.
        """
        (count,) = resumed(mark and [mark], (0,))
        yield from left_out(elements, count, count)
        failure: Exception | None = None
        wanted: int | None = None
        while failure is None:
            run: list[Any] = []
            try:
                with entered(self._turns):
                    run.extend(map(_own, islice(elements, min(wanted or 1, _AT_A_TIME))))
            except Exception as error:  # noqa: BLE001 - raised after the elements before it
                failure = error
            if not run:
                if failure is None:
                    failure = self._last.end(elements, in_vain=again and not count)
                break
            ids = np.arange(count, count + len(run), dtype=np.int64)
            count += len(run)
            wanted = yield Piece(Items(run), ids, count)
        if failure is not None:
            raise failure


def is_sequence(result: Any) -> bool:
    """Return True if all elements of a result exist already."""
    return type(result) in (list, tuple) or (isinstance(result, np.ndarray) and result.ndim > 0)


def chunk_of(results: list[Any]) -> tuple[Chunk, Rows]:
    """Return the elements of sequences end to end, and the number of elements of each: `int64[k]`."""
    counts = np.fromiter(map(len, results), np.int64, len(results))
    if set(map(type, results)) <= {list, tuple}:
        return Items(list(chain.from_iterable(results))), counts
    arrays = [result for result in results if isinstance(result, np.ndarray)]
    if len(arrays) == len(results) and len({(array.dtype, array.shape[1:]) for array in arrays}) == 1:
        return leaf_column(np.concatenate(arrays, dtype=arrays[0].dtype) if len(arrays) > 1 else arrays[0]), counts
    return Items([element for result in results for element in _elements(result)]), counts


def _elements(sequence: Any) -> list[Any]:
    """Return the elements of one sequence; numbers of an array become NumPy scalars, as in a column."""
    return leaf_column(sequence).elements() if isinstance(sequence, np.ndarray) else sequence


def _own(element: Any) -> Any:
    """Return the element, or a copy if its iterator may change the element and yield it again."""
    return element if type(element) in PLAIN_TYPES else with_own_arrays([element])[0]


def _of_sequence(values: Any, mark: Mark) -> Flow:
    (low,), chunk = resumed(mark and [mark], (0,)), chunk_of([values])[0]
    yield Piece(chunk.slice(low, len(chunk)), np.arange(low, len(chunk), dtype=np.int64), len(chunk))
