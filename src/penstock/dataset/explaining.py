"""Explanations of a dataset: the plan as written and as run, one row on its way through it, and another dataset."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from penstock import dataset, dryrun, rewrite
from penstock import plan as plans
from penstock.core.blame import ElementPlace, noting_blames
from penstock.core.checks import check_count
from penstock.core.errors import PlanError
from penstock.dataset.handle import Handle, T_co
from penstock.dataset.places import check_place, epoch_and_row, first_stream, row_of, whole_place
from penstock.ops import buffer
from penstock.plan.draws import is_unseeded
from penstock.plan.graph import post_order

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset
    from penstock.dataset.row_explanation import RowExplanation
    from penstock.plan.difference import PlanDiff
    from penstock.plan.explain import Explanation
    from penstock.plan.node import Node


class Explaining(Handle[T_co]):
    """`explain` and `diff`."""

    if TYPE_CHECKING:

        def _bound(self) -> Node: ...

    @overload
    def explain(self) -> Explanation: ...
    @overload
    def explain(self, *, row: int | tuple[int, int]) -> RowExplanation: ...
    @overload
    def explain(self, *, input_row: int | tuple[int, int]) -> RowExplanation: ...
    def explain(self, *, row: Any = None, input_row: Any = None) -> Any:
        """Return the plan as written and as run, with the applied rewrites, line by line from the sources down.

        `it.explain()` adds what a run of it has measured.

        >>> Dataset.range(8).skip(2).skip(1).batch(2).explain()
        as written:
          range(8)              8 × int64
          skip(2)               6 × int64
          skip(1)               5 × int64
          batch(2)              3 × int64[?]
        as run:
          range(8)              8 × int64
          skip(3)               5 × int64
          batch(2)              3 × int64[?]
        rewrites: merge_skips
        order: indexed; any row can be made alone, and skipping costs nothing

        With `row` (or `epoch, row`), make that element, and show what each operation made for it: rows, specs, values,
        random draws, and the error of one that fails. A stream makes all elements before it, so `row` counts them.

        >>> def noisy(x, *, rng):
        ...     return x + rng.integers(10)
        >>> Dataset.range(8).shuffle(seed=3).map(noisy).with_options(ps.Options(seed=0)).explain(row=2)
        row 2:
          range(8)         row 0  int64  0
          shuffle(seed=3)  row 2  int64  0
          map(noisy)       row 2  int64  ...
                                    Philox(key=[..., 2]): integers(10) = ...

        With `input_row`, show what becomes of a row that a stream reads, as errors count them: which operation leaves
        it out, or what it is made into, up to the first operation that combines several rows.

        >>> Dataset.range(8).filter(lambda x: x % 3 > 0).batch(2).explain(input_row=3)
        row 3 of the input of filter(lambda):
          range(8)        row 3  int64  3
          filter(lambda)         no element
                                   left out: row 3
          batch(2)               not followed: it does not make its elements from this row alone

        Nothing is written to caches.
        """
        if row is not None and input_row is not None:
            raise TypeError("explain(): expected row= or input_row=, not both")
        if row is not None:
            return self._row_explained(row)
        if input_row is not None:
            return self._input_row_explained(input_row)
        plan = self._plan
        allowed = buffer.options.options_of(plan).rewrite is not False
        run = rewrite.passes.rewritten(rewrite.seeds.bind_seeds(plan, 0)) if allowed else None
        return plans.explain.explained(plan, run.plan if run else None, run.applied if run else ())

    def diff(self, other: Dataset[Any]) -> PlanDiff:
        """Return what differs between this dataset and another: operations, arguments, code, data, seeds, options.

        Functions are compared by their code and by the values that they read, with a diff of their source if it can be
        found. Data in memory is compared by its content, and files by their names, sizes and times. The result is false
        if the plans are equal.

        >>> def prepared(scale):
        ...     return Dataset.range(9).shuffle(seed=scale).map(lambda x: x * scale).batch(2)
        >>> prepared(2).diff(prepared(3).prefetch(1))
        - this dataset, + the other one:
          range(9)
        - shuffle(seed=2)
        + shuffle(seed=3)
            seed: 2 → 3
        ~ map(lambda)
            scale (closed over by lambda) is 3 and was 2
          batch(2)
        + prefetch(1)  (changes no element)
        >>> prepared(2).diff(prepared(2))
        the plans are equal
        """
        if not isinstance(other, Handle):
            raise TypeError(f"diff(): expected a Dataset, not {type(other).__name__}")
        one, theirs = self._plan, other._plan  # noqa: SLF001 - ours
        options = buffer.options.options_of(one), buffer.options.options_of(theirs)
        found = plans.difference.plan_difference(one, theirs, options)
        drawing = dict.fromkeys(node.label() for node in post_order(one) if is_unseeded(node))
        first, second = self._passes.beginning(0), other._passes.beginning(0)  # noqa: SLF001 - ours
        drawn = (rewrite.seeds.seeds_of(node, at.seed, at.drawn) for node, at in ((one, first), (theirs, second)))
        is_same = first.seed == second.seed or next(drawn) == next(drawn)
        return found if is_same else replace(found, other_draws=tuple(drawing))

    def _row_explained(self, row: Any) -> RowExplanation:
        check_place("explain", "row", row)
        epoch, position = epoch_and_row(row)
        bound = self._bound()
        with noting_blames():
            if bound.indexed:
                at = row_of(bound, epoch, position)
                trace = dryrun.row_trace.trace_row(bound, at)
                found = dataset.row_explanation.named_records(bound, at)
                place = ElementPlace("row", at % bound.stride, whole_place(epoch))
            else:
                number = whole_place(position)
                if number < 0:
                    raise IndexError(
                        f"explain(row={number}): the elements of the stream {first_stream(bound).label()} have "
                        "positions from 0 on; negative positions are not supported"
                    )
                epoch = check_count("explain", "epoch", epoch, least=0)
                trace, found = dryrun.row_trace.trace_stream(bound, number, epoch), []
                place = ElementPlace("element", number, epoch)
        return dataset.row_explanation.row_explanation(trace, str(place), found)

    def _input_row_explained(self, row: Any) -> RowExplanation:
        check_place("explain", "input_row", row)
        epoch, position = epoch_and_row(row)
        bound = self._bound()
        if bound.indexed:
            raise PlanError(
                "explain(input_row=): this dataset is not a stream, so input_row= does not apply; pass row= with the "
                "position of an element in the result"
            )
        below = dryrun.row_trace.input_of(bound)
        at = row_of(below, epoch, position)
        with noting_blames():
            trace = dryrun.row_trace.trace_input(bound, at % below.stride, whole_place(epoch))
        found = dataset.row_explanation.named_records(below, at)
        place = ElementPlace("row", at % below.stride, epoch, f"the input of {first_stream(bound).label()}")
        return dataset.row_explanation.row_explanation(trace, str(place), found)
