"""Guarantees of datasets that are divided among ranks: the same global batches, each record exactly once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, pairwise
from typing import Any

import numpy as np

from penstock.core.checks import check_count, check_list
from penstock.dataset.dataset import Dataset
from penstock.dataset.iterator import Iterator
from penstock.dataset.ranks.ledger import merged_ledgers
from penstock.dataset.ranks.parts import RankRemainder, of_rank
from penstock.dataset.ranks.stores import ThreadStore
from penstock.elements.nested.structure import flatten, unflatten
from penstock.index.parted import part_size, positions_of
from penstock.ops.order.ranks import RankRows, WholeBatches
from penstock.plan.graph import rank_rows
from penstock.testing.alike import multiset

SECONDS_TO_ANSWER = 60.0
"""Seconds that a rank of `verify_ranks` waits for the others, which run in threads."""
MOST_MISSING = 5
"""Records that `audit` names."""


def verify_ranks(
    dataset: Dataset[Any],
    worlds: Iterable[int] = (1, 2, 3, 4),
    *,
    remainder: RankRemainder | None = None,
    most: int = 64,
) -> None:
    """Assert that `shard_by_rank()` gives the same global batches for every number of ranks, and that states load.

    `dataset` ends in a batch of the global size. Numbers of ranks that cannot share it equally are left out. The
    ranks are threads of this process. For each number of ranks, the rows of the first `most` steps are compared with
    those of one rank, and again with a restart in the middle from the state of another number of ranks. A batch that
    is padded to its longest row needs fixed `padded_shapes`, because each rank pads its own part.

    >>> verify_ranks(Dataset.range(60).shuffle(seed=0).filter(lambda x: x % 3 > 0).batch(12))
    """
    if not isinstance(dataset, Dataset):
        raise TypeError(f"verify_ranks(dataset=): expected a dataset, not {type(dataset).__name__}")
    check_count("verify_ranks", "most", most, least=1)
    counts = [
        check_count("verify_ranks", "worlds", each, least=1)
        for each in check_list("verify_ranks", "worlds", worlds, "numbers")
    ]
    batch = _batch_of(dataset)
    counts = [world for world in counts if remainder == "uneven" or batch is None or batch % world == 0]
    if not counts:
        raise ValueError(f"verify_ranks(worlds=): no number of ranks divides the global batch of {batch} rows")
    state = dataset.iterator(epoch=0).state_dict()
    seeded = dataset.with_options(_seed(state["seed"]))
    rows_of = _elements if batch is None else _rows_of
    whole = _Threads(seeded, 1, remainder, rows_of).steps(most)
    before: Any = None
    for world in counts:
        job = _Threads(seeded, world, remainder, rows_of)
        half = len(whole) // 2
        steps = job.steps(half)
        states = [it.state_dict() for it in job.iterators]
        _compare(whole, [*steps, *job.steps(most - half)], f"with {world} ranks")
        if before is not None:
            rest = _Threads(seeded, world, remainder, rows_of, before).steps(most - half)
            _compare(whole[half:], rest, f"with {world} ranks, restarted at step {half}")
        if len({(each["epoch"], each["row"]) for each in states}) > 1:
            raise AssertionError(f"with {world} ranks, the states of the ranks at step {half} differ")
        before = states[-1]


def audit(ledgers: Iterable[dict[str, Any]], dataset: Dataset[Any]) -> str:
    """Return "each record exactly once" if the ledgers of all ranks, restarts and epochs say so.

    Otherwise raise an `AssertionError` that names the steps and, if rows of the dataset can be made alone, the records
    that are missing or were delivered several times. `dataset` is the pipeline that was run, divided by
    `shard_by_rank()` like that, among any number of ranks. All epochs of the ledgers are checked, up to the last one
    begun, which must be complete too.

    >>> ds = Dataset.range(8).batch(4)
    >>> its = [ds.shard_by_rank(rank=rank, world=2).iterator() for rank in range(2)]
    >>> _ = list(its[0]), next(its[1])
    >>> audit([it.ledger() for it in its], ds.shard_by_rank(rank=0, world=1))
    Traceback (most recent call last):
    AssertionError: epoch 0: 2 rows are missing: step 1 (the number 6, the number 7)
    >>> _ = list(its[1])
    >>> audit([it.ledger() for it in its], ds.shard_by_rank(rank=0, world=1))
    'each record exactly once'
    """
    merged = merged_ledgers(ledgers)
    plan = dataset._plan  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - ours
    if merged["plan"] != dataset._passes.states.fingerprint:  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - ours
        raise ValueError("audit(): the ledgers are of another pipeline than this dataset; their fingerprints differ")
    rows = rank_rows(plan)
    length = plan.length if rows is None else of_rank(plan, 0, 1).length
    wrong: list[str] = []
    for epoch in range(max((span[0] for span in merged["spans"]), default=-1) + 1):
        ends = [end[1:] for end in merged["ends"] if end[0] == epoch]
        steps = length if length >= 0 else max((end[0] for end in ends), default=None)
        if steps is None:
            raise AssertionError(
                f"epoch {epoch}: no ledger has reached the end, and only iterating can tell where it is"
            )
        spans = [span[1:] for span in merged["spans"] if span[0] == epoch]
        if _is_uneven(rows):  # a rank without a row of the last step has seen the end before it
            spans += [[steps - 1, steps, *of_rank] for end, *of_rank in ends if end == steps - 1]
        wrong += _wrong(dataset, epoch, spans, steps, rows)
    if wrong:
        raise AssertionError("; ".join(wrong))
    return "each record exactly once"


class _Threads:
    """The ranks of a job as threads of this process."""

    def __init__(
        self,
        dataset: Dataset[Any],
        world: int,
        remainder: RankRemainder | None,
        rows_of: Callable[[Any], list[Any]],
        state: Any = None,
    ) -> None:
        store = ThreadStore()
        self._remainder = remainder
        self._rows_of = rows_of
        self.iterators: list[Iterator[Any]] = []
        for rank in range(world):
            own = dataset.shard_by_rank(
                rank=rank, world=world, group=store, remainder=remainder, timeout=SECONDS_TO_ANSWER
            )
            if state is not None:
                own.load_state_dict(state)
            self.iterators.append(own.iterator())

    def steps(self, most: int) -> list[list[Any]]:
        """Return the rows of each of the next steps, of all ranks."""
        with ThreadPoolExecutor(len(self.iterators)) as pool:
            received = list(pool.map(lambda it: [self._rows_of(each) for each in islice(it, most)], self.iterators))
        counts = [len(each) for each in received]
        if max(counts) - min(counts) > (self._remainder == "uneven"):
            raise AssertionError(f"the ranks have {' and '.join(map(str, counts))} steps")
        steps = range(max(counts))
        return [[row for each in received for part in each[step : step + 1] for row in part] for step in steps]


def _compare(whole: Sequence[Any], steps: Sequence[Any], case: str) -> None:
    for step, (wanted, made) in enumerate(zip(whole, steps, strict=False)):
        if multiset(wanted) != multiset(made):
            raise AssertionError(f"{case}, global batch {step} has other rows than with one rank")
    if len(whole) != len(steps):
        raise AssertionError(f"{case}, there are {len(steps)} steps instead of {len(whole)}")


def _elements(element: Any) -> list[Any]:
    return [element]


def _rows_of(batch: Any) -> list[Any]:
    """Return the rows of a batch, each with the numbers that belong to the whole batch, such as that of `enumerate`."""
    leaves, structure = flatten(batch)
    lengths = [len(leaf) for leaf in leaves if getattr(leaf, "ndim", 0)]
    if not lengths:
        return [batch]
    return [
        unflatten(structure, [leaf[row] if getattr(leaf, "ndim", 0) else leaf for leaf in leaves])
        for row in range(lengths[0])
    ]


def _batch_of(dataset: Dataset[Any]) -> int | None:
    rows = rank_rows(dataset.shard_by_rank(rank=0, world=1)._plan)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - ours
    return rows.batch if rows is not None and rows.batch > 1 else None


def _seed(seed: int) -> Any:
    from penstock.core.options import Options

    return Options(seed=seed)


def _wrong(dataset: Dataset[Any], epoch: int, spans: list[list[int]], steps: int, rows: RankRows | None) -> list[str]:
    """Return what is wrong with the deliveries of an epoch, in words; nothing if every row was delivered once."""
    found: list[list[tuple[int, int]]] = [[], []]  # missing, double: pairs of a step and a position in its batch
    total = [0, 0]
    edges = sorted({0, steps, max(steps - 1, 0), *(edge for low, high, _, _ in spans for edge in (low, high))})
    for low, high in pairwise(edges):
        within = [span for span in spans if span[0] <= low and high <= span[1]]
        times = _times(rows, within, low, steps) + (low >= steps)  # there is no step from there on
        for number, wrong in enumerate((times == 0, times > 1)):
            places = np.flatnonzero(wrong).tolist()
            total[number] += len(places) * (high - low)
            found[number] += [(step, place) for step in range(low, high)[:MOST_MISSING] for place in places]
    words = ("are missing", "were delivered several times")
    return [
        f"epoch {epoch}: {count:,} rows {word}: {_named(dataset, epoch, some)}"
        for count, some, word in zip(total, found, words, strict=True)
        if count
    ]


def _is_uneven(rows: RankRows | None) -> bool:
    return rows is not None and isinstance(rows.input, WholeBatches) and rows.input.remainder == "uneven"


def _times(rows: RankRows | None, spans: list[list[int]], step: int, steps: int) -> np.ndarray:
    """Return how many times each row of a global batch was delivered."""
    if rows is None:
        return np.array([len(spans)])
    count = rows.batch
    if _is_uneven(rows) and step == steps - 1 and rows.input.length >= 0:
        count = rows.input.length % rows.batch or rows.batch
    times = np.zeros(count, np.int64)
    for _, _, rank, world in spans:
        if part_size(count, rank, world):
            times[positions_of(count, rank, world, strided=rows.strided)] += 1
    return times


def _named(dataset: Dataset[Any], epoch: int, found: list[tuple[int, int]]) -> str:
    """Return the first rows in words: their steps, with the records that they are made of if these can be located."""
    words: list[str] = []
    by_step: dict[int, list[int]] = {}
    for step, place in found[:MOST_MISSING]:
        by_step.setdefault(step, []).append(place)
    for step, places in by_step.items():
        try:
            records = [str(each) for of_rank in dataset.locate(step=(epoch, step)) for each in of_rank]
            names = [records[place] for place in places] if len(places) < len(records) else records[:MOST_MISSING]
        except (ValueError, IndexError):  # a stream, or one row of several records
            names = [f"rows {', '.join(map(str, places))} of the global batch"]
        words.append(f"step {step} ({', '.join(names)})")
    return ", ".join(words) + (", ..." if len(found) > MOST_MISSING else "")
