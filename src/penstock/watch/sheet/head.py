"""The first elements of a dataset, as a list that shows itself."""

from __future__ import annotations

from typing import Any, TypeVar

from penstock.elements.nested.structure import is_leaf
from penstock.watch.notebook.frame import in_frame, never_failing
from penstock.watch.sheet.cards import Manner
from penstock.watch.sheet.contact_sheet import cards_html, spec_text
from penstock.watch.sheet.taking import elements_in
from penstock.watch.sheet.text import element_text

T = TypeVar("T")
LONGEST_LIST = 400  # characters of simple values that are shown as a list
HEAD_SHOWN = 16  # elements, or rows of batches


class Head(list[T]):
    """The first elements of a dataset: a list, shown with one line for each element, or as pictures in a notebook.

    >>> Dataset.range(9).head(3), Dataset.range(9).map(lambda x: {"x": x, "y": np.arange(x)}).head(2)
    ([0, 1, 2], 2 elements of {"x": int64, "y": int64[0]}
    0: x 0 · y []
    1: x 1 · y [0])
    """

    batched = False
    """True if the elements are batches."""

    def __repr__(self) -> str:
        if all(isinstance(each, int | float | str | bytes | bool) and is_leaf(each) for each in self):
            plain = super().__repr__()
            if len(plain) <= LONGEST_LIST:
                return plain
        title = f"{len(self)} {'batch' if self.batched else 'element'}{_plural(len(self), self.batched)} of "
        lines = [f"{at}: {element_text(each)}" for at, each in enumerate(self)]
        return "\n".join([title + spec_text(self[0]), *lines])

    def _repr_html_(self) -> str:
        return never_failing(lambda: in_frame(first_html(self, batched=self.batched)), lambda: repr(self))


def first_html(elements: list[Any], *, batched: bool, manner: Manner | None = None) -> str:
    """Return the first elements, or the rows of the first batches, side by side."""
    shown, _ = elements_in(elements, batched, HEAD_SHOWN)
    return cards_html(shown, {}, manner or Manner())


def _plural(count: int, batched: bool) -> str:
    return "" if count == 1 else "es" if batched else "s"
