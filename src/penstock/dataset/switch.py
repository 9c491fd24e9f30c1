"""Several pipelines or feeds under way at the same time, any of which yields the next element."""

from __future__ import annotations

from collections.abc import Iterator as Names
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Self, TypeAlias, cast

from penstock.core.attributes import UnknownKeyError
from penstock.core.closing import Closing
from penstock.core.errors import CursorError
from penstock.core.options import Options
from penstock.core.shown import displayable
from penstock.core.sizes import check_bytes
from penstock.dataset.dataset import Dataset
from penstock.feed.feed import ElementIterator, FrameworkFeed
from penstock.memory.limits import default_memory_budget

_VERSION = 1
Switched: TypeAlias = Dataset[Any] | FrameworkFeed
"""A dataset, or a feed such as `ds.to_torch()`."""


class SwitchedPass:
    """The pass of one dataset of a `Switch`: `next()` continues it, a loop begins a new one.

    The other methods are those of the `Iterator` under way, or of the feed's.
    """

    def __init__(self, source: Switched) -> None:
        self._source = source
        self._iterator: ElementIterator = source.iterator()
        self._is_new = True  # no element was received since it began, or since a state was loaded

    def __repr__(self) -> str:
        return repr(self._iterator)

    def __iter__(self) -> Self:
        return self if self._is_new else self.begin()

    def __next__(self) -> Any:
        self._is_new = False
        return next(self._iterator)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._iterator, name)

    def begin(self, *, epoch: int | None = None) -> Self:
        """Begin the next epoch, or `epoch`; the pass under way is closed."""
        following = self._source.iterator(epoch=epoch)
        self._iterator.close()
        self._iterator, self._is_new = following, True
        return self

    def state_dict(self) -> dict[str, Any]:
        """Return the position; see `Iterator.state_dict`."""
        return self._iterator.state_dict()

    def load_state_dict(self, state: dict[str, Any] | list[dict[str, Any]]) -> None:
        """Close the current pass, and begin a pass that continues from a saved state."""
        self._source.load_state_dict(state)
        self.begin()
        self._iterator.load_state_dict(self._iterator.state_dict())  # the pass after it is the next epoch


class Switch(Closing):
    """Several named datasets under way at once: `next(switch["train"])` at one step, `["val"]` at another.

    Each name is a dataset or a feed, such as `ds.to_torch()`. Drawing from one leaves the positions of the others
    unchanged. One `state_dict()` has the positions of all. All are closed together, and datasets share one memory
    budget in equal parts: `memory_budget` bytes, or the budget of a single pipeline (`Options(memory_budget=)`). Pass
    names that are not Python identifiers, or that are taken, in a dict: `Switch({"two words": ds})`.

    `next()` continues the pass under way, and raises `StopIteration` at its end; `repeat()` a dataset that should never
    end. A loop, `for batch in switch["val"]`, begins a new pass, as a loop over a dataset does; the first loop after a
    state was loaded continues from there.

    >>> with Switch(train=Dataset.range(4).repeat(), val=Dataset.range(10, 13)) as switch:
    ...     steps = [int(next(switch["train"])) for _ in range(6)]
    ...     checks = [[int(x) for x in switch["val"]] for _ in range(2)]
    ...     steps.append(int(next(switch.train)))
    >>> steps, checks
    ([0, 1, 2, 3, 0, 1, 2], [[10, 11, 12], [10, 11, 12]])
    """

    def __init__(
        self,
        datasets: Mapping[str, Switched] | None = None,
        /,
        *,
        memory_budget: int | str | None = None,
        **named: Switched,
    ) -> None:
        if datasets is not None and not isinstance(datasets, Mapping):
            raise TypeError(f"Switch(): expected datasets by name, such as Switch(train=ds), not {datasets!r:.40}")
        given = {**(datasets or {}), **named}
        if not given:
            raise ValueError("Switch(): expected at least one dataset, such as Switch(train=ds, val=other)")
        for name, each in given.items():
            if not isinstance(each, Dataset | FrameworkFeed):
                what = f"Switch({displayable(str(name)):.80}=)"
                raise TypeError(f"{what}: expected a dataset or a feed, not {type(each).__name__}")
        if memory_budget is not None:
            memory_budget = check_bytes("Switch", "memory_budget", memory_budget, least=len(given))
        self._passes = {name: SwitchedPass(each) for name, each in _sharing(given, memory_budget).items()}

    def __getitem__(self, name: str) -> SwitchedPass:
        """Return the pass of the dataset of this name, at its current position."""
        if name not in self._passes:
            raise UnknownKeyError(f"this switch has no dataset {name!r:.80}; it has {', '.join(self._passes)}")
        return self._passes[name]

    def __getattr__(self, name: str) -> SwitchedPass:
        if name.startswith("_") or name not in self._passes:
            raise AttributeError(f"this switch has no dataset {name!r}; it has {', '.join(self._passes)}")
        return self._passes[name]

    def __iter__(self) -> Names[str]:
        return iter(self._passes)

    def __len__(self) -> int:
        return len(self._passes)

    def begin(self, name: str, *, epoch: int | None = None) -> SwitchedPass:
        """Begin the next epoch of one dataset, or `epoch`; its previous iterator is closed, and the others continue.

        >>> with Switch(val=Dataset.range(3)) as switch:
        ...     [len(list(switch.begin("val"))) for _ in range(2)]
        [3, 3]
        """
        return self[name].begin(epoch=epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return the positions of all datasets as plain JSON data: the `Iterator.state_dict` of each, by name.

        >>> switch = Switch(train=Dataset.range(9), val=Dataset.range(9))
        >>> for _ in range(4):
        ...     _ = next(switch["train"])
        >>> {name: state["row"] for name, state in switch.state_dict()["datasets"].items()}
        {'train': 4, 'val': 0}
        """
        return {"version": _VERSION, "datasets": {name: each.state_dict() for name, each in self._passes.items()}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from saved positions; positions of other names or plans raise a `CursorError`, and none is loaded.

        >>> with Switch(train=Dataset.range(9)) as first, Switch(train=Dataset.range(9)) as again:
        ...     _ = next(first["train"]), next(first["train"])
        ...     again.load_state_dict(first.state_dict())
        ...     int(next(again["train"]))
        2
        """
        saved = _saved(state)
        if saved.keys() != self._passes.keys():
            raise CursorError(
                f"the saved state has positions of {', '.join(map(str, saved))}, but this switch has "
                f"{', '.join(self._passes)}"
            )
        before = {name: each.state_dict() for name, each in self._passes.items()}
        try:
            for name, each in self._passes.items():
                each.load_state_dict(saved[name])
        except CursorError:
            for name, each in self._passes.items():
                each.load_state_dict(before[name])
            raise

    def close(self) -> None:
        """Stop all datasets. Closing again does nothing; `state_dict()` still returns the positions."""
        with ExitStack() as stack:  # even if one raises, the others are closed
            for each in self._passes.values():
                stack.callback(each.close)

    def __repr__(self) -> str:
        return f"Switch({', '.join(self._passes)})"


def _sharing(given: Mapping[str, Switched], budget: int | None) -> dict[str, Switched]:
    """Return the datasets with equal parts of one budget; a dataset that requested less gets no more.

    A feed keeps the budget of its dataset.
    """
    options = {name: each.options() for name, each in given.items() if isinstance(each, Dataset)}
    asked = {name: int(each.memory_budget) if each.memory_budget else None for name, each in options.items()}
    whole = budget or max((each for each in asked.values() if each is not None), default=default_memory_budget())
    share = max(whole // len(given), 1)
    return {
        name: each.with_options(Options(memory_budget=min(share, asked[name] or share)))
        if isinstance(each, Dataset)
        else each
        for name, each in given.items()
    }


def _saved(state: object) -> dict[str, Any]:
    fields = cast("dict[str, Any]", state) if isinstance(state, dict) else {}
    saved = fields.get("datasets")
    if not isinstance(saved, dict):
        raise CursorError("the saved state is not a result of Switch.state_dict()")
    if fields.get("version") != _VERSION:
        raise CursorError(f"the saved state has version {fields.get('version')!r}; this Penstock reads {_VERSION}")
    return cast("dict[str, Any]", saved)
