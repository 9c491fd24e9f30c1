"""The first elements of a dataset, statistics of all, and the display in notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock import dataset, engine, watch
from penstock.core.checks import check_count
from penstock.core.options import Options
from penstock.dataset.handle import Handle, T_co
from penstock.ops import buffer, group, order

if TYPE_CHECKING:
    from penstock.watch.page.patience import Collector
    from penstock.watch.sheet.head import Head

FIRST_SHOWN = 8  # elements in a notebook, if they are not batches
PATIENCE = 3.0  # seconds for which a notebook waits for them


class Preview(Handle[T_co]):
    """`head`, `describe`, and the display of a dataset in a notebook."""

    def head(self, n: int = 5) -> Head[T_co]:
        """Return the first `n` elements of epoch 0 as a list, fewer if there are fewer.

        They are made here and now, without threads and processes, whatever the options; passes over the dataset go on
        where they were. The list shows itself with a line for each element, and in a notebook as `ps.show()` does.

        >>> Dataset.range(10).map(lambda x: x * x).head(3)
        [0, 1, 4]
        """
        count = check_count("head", "n", n, least=0)
        made = watch.sheet.head.Head(self._first(count))
        made.batched = self._ends_in_batches
        return made

    def _first(self, count: int) -> Iterator[T_co]:
        """Yield the first elements, made inline; nothing of the source is read beyond them."""
        part = order.take.Take(self._plan, count)
        plan = buffer.options.WithOptions(part, Options(executor="inline", isolate=False))
        passes = dataset.passes.Passes(self._plan, self._passes.seed)
        with dataset.iterator.Iterator[T_co](passes, engine.runs.carry_over.CarryOver(), 0, plan=plan) as it:
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
        return watch.notebook.frame.framed(
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
        is_over = collector.wait(PATIENCE)
        return watch.notebook.first.first_elements_html(
            list(collector.values), collector.error, batched=is_batched, patience=None if is_over else PATIENCE
        )
