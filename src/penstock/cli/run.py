"""Iterate a dataset with live figures, then show the time of each operation and what limits the run."""

from __future__ import annotations

from math import inf
from time import perf_counter
from typing import Any

from penstock.cli.failure import print_error
from penstock.cli.loading import TargetError, load
from penstock.cli.report import added, report
from penstock.cli.terminal import Terminal
from penstock.core.frozen import frozen
from penstock.core.options import Options
from penstock.dataset.dataset import Dataset
from penstock.plan.types import INFINITE
from penstock.watch.stats import Stats

ENDINGS = {
    "finished": "Finished",
    "stopped": "Stopped at the limit",
    "interrupted": "Stopped by Ctrl-C",
    "failed": "Failed",
}


@frozen()
class Limits:
    """The limits of a run: a number of items, seconds or epochs, whichever comes first."""

    items: int | None = None
    seconds: float | None = None
    epochs: int = 1


def run(target: str, limits: Limits, terminal: Terminal, *, workers: int | None = None, explain: bool = False) -> str:
    """Iterate the dataset that `FILE:NAME` names; return its end: finished, stopped, interrupted or failed."""
    try:
        dataset = load(target)
        if workers is not None:
            dataset = dataset.with_options(Options(workers=workers))
        if explain:
            terminal.show(dataset.explain() + "\n", 0)
        terminal.say(f"{target}: {dataset!r}", 0)
    except TargetError:
        raise
    except Exception as error:  # noqa: BLE001 - any error of the user's file is shown
        print_error(error)
        return "failed"
    if dataset.cardinality() == INFINITE and limits.items is None and limits.seconds is None:
        terminal.show("The dataset never ends: stop with Ctrl-C, --items or --seconds.", 0)
    consumer = Consumer(dataset, limits)
    failure: Exception | None = None
    try:
        ended = consumer.consume(terminal)
    except KeyboardInterrupt:
        ended = "interrupted"
    except Exception as error:  # noqa: BLE001 - any error of the pipeline is shown
        if isinstance(error.__cause__, KeyboardInterrupt):  # Python 3.11 wraps errors raised while a field is named
            ended = "interrupted"
        else:
            ended, failure = "failed", error
    if consumer.stats is None or (consumer.stats.items == 0 and ended != "finished"):
        terminal.show(f"{ENDINGS[ended]}, before the first item.", 0)
    else:
        report(consumer.stats, terminal, ENDINGS[ended], briefly=failure is not None)
    if failure is not None:
        print_error(failure)
    return ended


class Consumer:
    """A consumer that takes items as fast as possible, up to the limits, and adds up the counts of its epochs."""

    def __init__(self, dataset: Dataset[Any], limits: Limits) -> None:
        self.stats: Stats | None = None
        self._dataset = dataset
        self._limits = limits

    def consume(self, terminal: Terminal) -> str:
        """Take items, which the terminal shows; return whether they `finished`, or were `stopped` by a limit."""
        deadline = perf_counter() + (self._limits.seconds or inf)
        taken = 0
        for epoch in range(self._limits.epochs):
            before = self.stats
            items = self._dataset.iterator(epoch=epoch)
            if terminal.moving:
                title = f"epoch {epoch + 1} of {self._limits.epochs}" if self._limits.epochs > 1 else ""
                items.live(title, leave=False, file=terminal.stream)
            try:
                for _ in items:
                    taken += 1
                    if taken == self._limits.items or perf_counter() >= deadline:
                        return "stopped"
            finally:
                items.close()
                self.stats = added(before, items.stats())
        return "finished"
