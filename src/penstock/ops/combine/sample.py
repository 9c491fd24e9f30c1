"""Mix several inputs in given proportions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import count

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.core.seeds import mix, written_seed
from penstock.elements.chunks.chunk import Chunk
from penstock.index.keyed import Words, mix_each
from penstock.index.timetable import Schedule
from penstock.index.weights import Asked, Steady, Stepped
from penstock.kernels import first_draws
from penstock.ops.combine.guided import Chooser, Guided
from penstock.ops.combine.merger import LOOKED_AHEAD, Merger, check_ended
from penstock.ops.combine.mixture import Mixture
from penstock.plan.flow import Flow, Mark, Open, Piece, resumed
from penstock.plan.ids import ordinals
from penstock.plan.types import INFINITE, UNKNOWN


@frozen()
class Sample(Mixture):
    """Draw from `members` in the proportions of `weights`; the k-th draw from a member is its k-th element.

    `exact` keeps the proportions in any window; otherwise draws are random, keyed by `seed` and, if `rerandomize`, by
    the epoch. An exhausted member ends the epoch if `first`; otherwise the others continue. A stream begins with the
    element that it would draw after `phase` elements.
    """

    weights: Steady | Stepped | Asked
    first: bool
    exact: bool
    rerandomize: bool
    seed: int | None
    phase: int = 0

    @property
    def name(self) -> str:
        return "sample_from_datasets"

    @property
    def draws(self) -> bool:
        """True if the node needs a seed."""
        return not self.exact

    @cached_property
    def schedule(self) -> Schedule:
        """The member that each position of an epoch is drawn from."""
        return Schedule(self.weights, self.lengths, first=self.first)

    @cached_property
    def length(self) -> int:
        if self.indexed:
            length = self.schedule.length
            return INFINITE if length is None else length
        endless = [node.length == INFINITE for node in self.members]
        if isinstance(self.weights, Steady):
            endless = [each for each, weight in zip(endless, self.weights.weights, strict=True) if weight]
        return INFINITE if (all if self.first else any)(endless) else UNKNOWN

    def drawn_from(self, epochs: Rows, positions: Rows) -> tuple[Rows, Rows]:
        return self.schedule.split(positions, self._keys(epochs))

    @property
    def countable(self) -> bool:
        """True for streams none of which can end before the mixture does."""
        return self.indexed or self.first or all(node.length == INFINITE for node in self.members)

    def draw_counts(self, count: int, epoch: int) -> list[int]:
        if not self.indexed:
            schedule, key = self._as_endless(epoch, 0, [])
            return schedule.drawn_before(count, key).tolist()
        keys = self._keys(np.array([epoch]))
        return self.schedule.drawn_before(count, None if keys is None else int(keys[0])).tolist()

    def _keys(self, epochs: Rows) -> Words | None:
        if self.exact:
            return None
        if self.seed is None:
            raise RuntimeError("a random mixture without a seed reached the compiler; run bind_seeds first")
        return mix_each(mix(self.seed), epochs if self.rerandomize else np.zeros_like(epochs))

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        """Draw from members as if all were endless; when one ends, continue with a schedule of the others."""
        begin, made, without, marks = resumed(mark, (0, 0, [], [None] * len(inputs)))
        check_ended(without, len(inputs))
        with closing(Merger(inputs, epoch, marks)) as merger:
            while True:
                for chunk in merger.drawn(self._choices(epoch, begin, made, without)):
                    ids = ordinals(epoch, begin + made, len(chunk))
                    made += len(chunk)
                    yield Piece(chunk, ids, [begin, made, without, merger.marks])
                if self.first or merger.ended is None:
                    return
                without, begin, made = [*without, merger.ended], begin + made, 0

    def _choices(self, epoch: int, begin: int, made: int, without: list[int]) -> Iterator[Rows]:
        """Yield the members to draw from after `made` elements since element `begin`, when some members had ended."""
        schedule, key = self._as_endless(epoch, begin, without)
        for low in count(self.phase + made, LOOKED_AHEAD):
            slots = schedule.within(np.arange(low, low + LOOKED_AHEAD))
            if not len(slots):
                return  # no remaining member has a weight
            yield schedule.split(slots, key)[0]

    def _as_endless(self, epoch: int, begin: int, without: list[int]) -> tuple[Schedule, int | None]:
        """Return the schedule from element `begin` on, when some members had ended, and its key."""
        schedule = Schedule(self.weights, [None] * len(self.members), first=self.first, without=without, begin=begin)
        keys = self._keys(np.array([epoch]))
        return schedule, None if keys is None else int(mix_each(keys, np.array([begin]))[0])

    def arguments(self) -> str:
        settings = [f"weights={self.weights}"]
        settings += written_seed(self.seed)
        settings += ["stop_on_empty_dataset=True"] if self.first else []
        settings += ["exact=True"] if self.exact else []
        return ", ".join([f"{len(self.members)} datasets", *settings])


@frozen()
class SampleGuided(Guided):
    """Draw each element from one of `members` at random, weighted by the next element of `guide`."""

    rerandomize: bool
    seed: int | None

    draws = True

    @property
    def name(self) -> str:
        return "sample_from_datasets"

    def chooser(self, guides: Chunk, epoch: int, first: int) -> Chooser:
        if self.seed is None:
            raise RuntimeError("a random mixture without a seed reached the compiler; run bind_seeds first")
        weights = self._weights(guides, first)
        words = first_draws(mix(self.seed), ordinals(epoch if self.rerandomize else 0, first, len(guides)))
        draws = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53  # in [0, 1)

        def choose(low: int, without: list[int]) -> Rows:
            left = weights[low:].copy()
            left[:, without] = 0
            sums = np.cumsum(left, axis=1)  # (k, n)
            which = (sums <= draws[low:, None] * sums[:, -1:]).sum(axis=1)
            return np.where(sums[:, -1] > 0, np.minimum(which, _last_drawable(left)), -1)

        return choose

    def _weights(self, guides: Chunk, first: int) -> np.ndarray:
        """Return the vectors of weights as one array, `float64[k, n]`."""
        values = [np.asarray(value, np.float64) for value in guides.held()]
        for at, value in enumerate(values):
            if value.shape != (len(self.members),) or not (np.isfinite(value) & (value >= 0)).all() or not value.any():
                raise ElementError(
                    f"sample_from_datasets: element {first + at} of the weights is {value.tolist()!r:.80}; expected "
                    f"{len(self.members)} numbers of at least 0, one for each dataset, and at least one above 0"
                )
        return np.stack(values)

    def arguments(self) -> str:
        return ", ".join([f"{len(self.members)} datasets", "weights from a dataset", *written_seed(self.seed)])


def _last_drawable(weights: np.ndarray) -> Rows:
    """Return the last input with a nonzero weight in each of k vectors: rounding must not draw a later one."""
    return weights.shape[1] - 1 - np.argmax(weights[:, ::-1] > 0, axis=1)
