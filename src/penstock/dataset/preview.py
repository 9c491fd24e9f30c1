"""The first elements of a dataset, statistics of all, and the display in notebooks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from penstock import dataset, engine, watch
from penstock.core.checks import check_count, check_flag, check_local_path
from penstock.core.errors import PlanError
from penstock.core.options import Options
from penstock.dataset.handle import Handle, T_co
from penstock.ops import buffer, group, order
from penstock.plan.class_names import class_names_of
from penstock.plan.types import INFINITE

if TYPE_CHECKING:
    from penstock.dataset.describing.description import Description
    from penstock.watch.page.patience import Collector
    from penstock.watch.sheet.head import Head

FIRST_SHOWN = 8  # elements in a notebook, if they are not batches
DISPLAY_PATIENCE = 3.0  # seconds for which a notebook waits for them


class Preview(Handle[T_co]):
    """`head`, `describe`, and the display of a dataset in a notebook."""

    def head(self, n: int = 5) -> Head[T_co]:
        """Return the first `n` elements of epoch 0 as a list, fewer if there are fewer.

        The call makes them at once in this thread, for any options, and changes no position of the dataset. The list
        prints a line for each element, and displays itself in a notebook as `ps.show()` does.

        >>> Dataset.range(10).map(lambda x: x * x).head(3)
        [0, 1, 4]
        """
        count = check_count("head", "n", n, least=0)
        made = watch.sheet.head.Head(self._first(count))
        made.batched = self._ends_in_batches
        return made

    def describe(
        self,
        *,
        limit: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: bool | Callable[[int, int | None], object] | None = None,
    ) -> Description:
        """Return statistics of every leaf, of all elements of epoch 0 or the first `limit`, from one pass.

        The pass runs with the options of the dataset: the workers that make the elements also count them. For each leaf
        it finds the number of values and of missing ones (`None`, or a missing key), dtypes and shapes, the minimum,
        maximum, mean and standard deviation of numbers, NaN and infinities, lengths of strings, lists and arrays, and
        how often each class occurs. The items of lists, and of arrays of objects such as batches of text,
        are described together, at a path that ends with `[*]`. In a batch, the numbers of all rows count, but shapes
        and lengths are those of the batch: to see those of the elements, describe the dataset before `batch()`.

        Integers are added exactly, floats in `float64` in the order of the elements: the result is the same for any
        executor and number of workers, unless the plan is `deterministic=False`.

        With a `checkpoint`, the path of a file, a pass that was interrupted by any error continues where it stopped
        when `describe` is called again, also in another process, and ends with exactly the same result. The file is
        removed at the end. `progress` is called with the number of elements done and the number of all elements, or
        `None` if that is unknown; by default a line on stderr shows both if that is a terminal (`False`: never, `True`:
        always). A dataset without end needs a `limit`.

        >>> words = Dataset.from_source([{"word": "a", "n": 3}, {"word": "bcd", "n": 5}, {"word": None, "n": 3}])
        >>> words.describe()
        3 elements
        leaf  spec   missing  min  mean    max  std     lengths      classes
        n     int64  0        3    3.6667  5    0.9428               2
        word  str    1                                  1…3, mean 2  2
        n: 3 (2, 67 %), 5 (1, 33 %)
        """
        most = None if limit is None else check_count("describe", "limit", limit, least=0)
        path = None if checkpoint is None else check_local_path("describe", "checkpoint", checkpoint)
        if not (progress is None or callable(progress)):
            progress = check_flag("describe", "progress", progress)
        length = self._plan.length
        if most is None and length == INFINITE:
            raise PlanError("describe(): this dataset never ends; pass limit=, or take() a part of it")
        total = most if length < 0 else length if most is None else min(length, most)
        room = dataset.describing
        shown = room.progress.progress_of(progress, "describe")
        describing = room.describe.DescribingPass(self._plan, self._passes.seed, most, path)
        return describing.run(room.progress.Pacer(shown, total), class_names_of(self._plan))

    def _first(self, count: int) -> Iterator[T_co]:
        """Yield the first elements, made inline; nothing of the source is read beyond them."""
        part = order.take.Take(self._plan, count)
        plan = buffer.options.WithOptions(part, Options(executor="inline", isolate=False))
        passes = dataset.passes.Passes(self._plan, self._passes.seed)
        with dataset.iterator.Iterator[T_co](passes, engine.runs.scope.CarryOver(), 0, plan=plan) as it:
            yield from it

    @property
    def _ends_in_batches(self) -> bool:
        return group.batching.batching_of(self._plan) is not None

    def _repr_html_(self) -> str:
        frame = watch.notebook.frame
        return frame.never_failing(self._html, lambda: repr(self))

    def _html(self) -> str:
        plan = self._plan_unmarked
        length = watch.notebook.plans.length_text(plan.length)
        heading = f"<p><b>Dataset</b> of {length}</p>"
        return watch.notebook.frame.in_frame(
            heading, watch.notebook.plans.plan_html(plan), "<h4>First elements</h4>", self._first_html()
        )

    def _first_html(self) -> str:
        """Return the first elements that are made in a bounded time."""
        busy: Collector | None = vars(self).get("_collector")
        if busy is not None and busy.is_busy:
            return "<p class=soft>None yet: the first element is still being made.</p>"
        is_batched = self._ends_in_batches
        collector = watch.page.patience.Collector(self._first(1 if is_batched else FIRST_SHOWN))
        vars(self)["_collector"] = collector
        is_over = collector.wait(DISPLAY_PATIENCE)
        return watch.notebook.first.first_elements_html(
            list(collector.values),
            collector.error,
            batched=is_batched,
            class_names=class_names_of(self._plan),
            patience=None if is_over else DISPLAY_PATIENCE,
        )
