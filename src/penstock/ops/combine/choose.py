"""Draw from several inputs as a dataset of choices directs."""

from __future__ import annotations

import numpy as np

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk
from penstock.index.chosen import Chosen
from penstock.ops.combine.guided import Chooser, Guided
from penstock.ops.combine.mixture import Mixture
from penstock.plan.types import INFINITE

_NAME = "choose_from_datasets"


@frozen(eq=False)
class Choices:
    """Known choices that are the same in every epoch: used once, or repeated forever (`endless`)."""

    values: Rows
    endless: bool

    def fingerprint(self) -> tuple[Rows, bool]:
        """Return the values that identify these choices."""
        return self.values, self.endless


@frozen()
class Choose(Mixture):
    """Draw from `members` as `choices` direct; choosing an exhausted member ends the epoch (`first`) or is skipped."""

    choices: Choices
    first: bool

    @property
    def name(self) -> str:
        return _NAME

    @cached_property
    def chosen(self) -> Chosen:
        """The member that each position of an epoch is drawn from."""
        return Chosen(self.choices.values, self.lengths, endless=self.choices.endless, first=self.first)

    @cached_property
    def length(self) -> int:
        return INFINITE if self.chosen.length is None else self.chosen.length

    def drawn_from(self, epochs: Rows, positions: Rows) -> tuple[Rows, Rows]:
        return self.chosen.split(positions)

    @property
    def countable(self) -> bool:
        return True

    def draw_counts(self, count: int, epoch: int) -> list[int]:
        return self.chosen.drawn_before(count).tolist()

    def arguments(self) -> str:
        endless = " forever" if self.choices.endless else ""
        return f"{len(self.members)} datasets, {len(self.choices.values):,} choices{endless}"


@frozen()
class ChooseGuided(Guided):
    """Draw from `members` as the elements of `guide` direct."""

    @property
    def name(self) -> str:
        return _NAME

    def chooser(self, guides: Chunk, epoch: int, first: int) -> Chooser:
        which = choices_of(guides, len(self.members), first)
        return lambda low, without: np.where(np.isin(which[low:], without), -1, which[low:])

    def arguments(self) -> str:
        return f"{len(self.members)} datasets"


def choices_of(chunk: Chunk, members: int, first: int) -> Rows:
    """Return the elements of a dataset of choices as `int64[k]`, each in [0, members); `first` of them came before."""
    values = chunk.held()
    for at, value in enumerate(values):
        choice = np.asarray(value)
        if choice.dtype.kind not in "iu" or choice.shape != ():
            raise ElementError(f"{_NAME}: choice {first + at} is {value!r:.60}; expected a whole number")
        if not 0 <= choice < members:
            raise ElementError(f"{_NAME}: choice {first + at} is {choice}, but there are {members} datasets")
    return np.array(values, np.int64)
