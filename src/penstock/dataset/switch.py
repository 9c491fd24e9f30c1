"""Several pipelines under way at the same time, any of which yields the next element."""

from __future__ import annotations

from collections.abc import Iterator as Names
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, cast

from penstock.core.checks import check_count
from penstock.core.closing import Closing
from penstock.core.errors import CursorError
from penstock.core.options import Options
from penstock.dataset.dataset import Dataset
from penstock.dataset.iterator import Iterator
from penstock.engine.tuning.budget import default_memory_budget

_VERSION = 1


class Switch(Closing):
    """Several named datasets under way at once: `next(switch["train"])` at one step, `["val"]` at another.

    Drawing from one dataset leaves the positions of the others unchanged. One `state_dict()` has the positions of all
    datasets. All datasets are closed together, and share one memory budget in equal parts: `memory_budget` bytes, or
    the budget of a single pipeline (`Options(memory_budget=)`). Each name is an `Iterator`, with its own `stats()` and
    `verdict()`. Pass names that are not Python identifiers, or that are taken, in a dict: `Switch({"two words": ds})`.

    At the end of its epoch a dataset raises `StopIteration`, and continues to do so until `begin(name)`; `repeat()` a
    dataset that should never end.

    >>> with Switch(train=Dataset.range(4).repeat(), val=Dataset.range(10, 13)) as switch:
    ...     steps = [int(next(switch["train"])) for _ in range(6)]
    ...     checks = [int(x) for x in switch["val"]]
    ...     again = [int(x) for x in switch.begin("val")]
    ...     steps.append(int(next(switch.train)))
    >>> steps, checks, again
    ([0, 1, 2, 3, 0, 1, 2], [10, 11, 12], [10, 11, 12])
    """

    def __init__(
        self,
        datasets: Mapping[str, Dataset[Any]] | None = None,
        /,
        *,
        memory_budget: int | None = None,
        **named: Dataset[Any],
    ) -> None:
        if datasets is not None and not isinstance(datasets, Mapping):
            raise TypeError(f"Switch(): expected datasets by name, such as Switch(train=ds), not {datasets!r:.40}")
        given = {**(datasets or {}), **named}
        if not given:
            raise ValueError("Switch(): expected at least one dataset, such as Switch(train=ds, val=other)")
        for name, dataset in given.items():
            if not isinstance(dataset, Dataset):
                raise TypeError(f"Switch({name}=): expected a dataset, not {type(dataset).__name__}")
        if memory_budget is not None:
            memory_budget = check_count("Switch", "memory_budget", memory_budget, least=len(given))
        self._datasets = _sharing(given, memory_budget)
        self._iterators: dict[str, Iterator[Any]] = {name: iter(ds) for name, ds in self._datasets.items()}

    def __getitem__(self, name: str) -> Iterator[Any]:
        """Return the iterator of the dataset of this name, at its current position."""
        if name not in self._iterators:
            raise KeyError(f"{name}; this switch has {', '.join(self._iterators)}")
        return self._iterators[name]

    def __getattr__(self, name: str) -> Iterator[Any]:
        if name.startswith("_") or name not in self._iterators:
            raise AttributeError(f"this switch has no dataset {name!r}")
        return self._iterators[name]

    def __iter__(self) -> Names[str]:
        return iter(self._iterators)

    def __len__(self) -> int:
        return len(self._iterators)

    def begin(self, name: str, *, epoch: int | None = None) -> Iterator[Any]:
        """Begin the next epoch of one dataset, or `epoch`; its previous iterator is closed, and the others continue.

        >>> with Switch(val=Dataset.range(3)) as switch:
        ...     [len(list(switch.begin("val"))) for _ in range(2)]
        [3, 3]
        """
        self[name].close()
        self._iterators[name] = self._datasets[name].iterator(epoch=epoch)
        return self._iterators[name]

    def state_dict(self) -> dict[str, Any]:
        """Return the positions of all datasets as plain JSON data: the `Iterator.state_dict` of each, by name.

        >>> switch = Switch(train=Dataset.range(9), val=Dataset.range(9))
        >>> for _ in range(4):
        ...     _ = next(switch["train"])
        >>> {name: state["row"] for name, state in switch.state_dict()["datasets"].items()}
        {'train': 4, 'val': 0}
        """
        return {"version": _VERSION, "datasets": {name: each.state_dict() for name, each in self._iterators.items()}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from saved positions; positions of other names or plans raise a `CursorError`, and none is loaded.

        >>> with Switch(train=Dataset.range(9)) as first, Switch(train=Dataset.range(9)) as again:
        ...     _ = next(first["train"]), next(first["train"])
        ...     again.load_state_dict(first.state_dict())
        ...     int(next(again["train"]))
        2
        """
        saved = _saved(state)
        if saved.keys() != self._iterators.keys():
            raise CursorError(
                f"the saved state has positions of {', '.join(map(str, saved))}, but this switch has "
                f"{', '.join(self._iterators)}"
            )
        before = {name: each.state_dict() for name, each in self._iterators.items()}
        try:
            for name, each in self._iterators.items():
                each.load_state_dict(saved[name])
        except CursorError:
            for name, each in self._iterators.items():
                each.load_state_dict(before[name])
            raise

    def close(self) -> None:
        """Stop all datasets. Closing again does nothing; `state_dict()` still returns the positions."""
        with ExitStack() as stack:  # even if one raises, the others are closed
            for each in self._iterators.values():
                stack.callback(each.close)

    def __repr__(self) -> str:
        return f"Switch({', '.join(self._iterators)})"


def _sharing(datasets: Mapping[str, Dataset[Any]], budget: int | None) -> dict[str, Dataset[Any]]:
    """Return the datasets with equal parts of one budget; a dataset that requested less gets no more."""
    asked = {name: dataset.options().memory_budget for name, dataset in datasets.items()}
    whole = budget or max((each for each in asked.values() if each is not None), default=default_memory_budget())
    share = max(whole // len(datasets), 1)
    return {
        name: dataset.with_options(Options(memory_budget=min(share, asked[name] or share)))
        for name, dataset in datasets.items()
    }


def _saved(state: object) -> dict[str, Any]:
    fields = cast("dict[str, Any]", state) if isinstance(state, dict) else {}
    saved = fields.get("datasets")
    if not isinstance(saved, dict):
        raise CursorError("the saved state is not a result of Switch.state_dict()")
    if fields.get("version") != _VERSION:
        raise CursorError(f"the saved state has version {fields.get('version')!r}; this Penstock reads {_VERSION}")
    return cast("dict[str, Any]", saved)
