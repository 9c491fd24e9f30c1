"""The base of every part of `Dataset`: a handle on a plan, which warns of likely mistakes."""

from __future__ import annotations

import sys
import warnings
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from penstock import dataset, lint, rewrite
from penstock.core.attributes import UnknownNameError
from penstock.core.errors import BudgetWarning, PlanWarning
from penstock.core.frames import Place, place_of_user
from penstock.core.renamed import hint_of
from penstock.core.seeds import fresh_seed
from penstock.core.surroundings import ONLY_PROCESS, surroundings
from penstock.dataset.arguments.wrong_names import helpful
from penstock.dataset.cuts import CutPart, Cuts
from penstock.plan import safety
from penstock.plan.node import Node
from penstock.plan.places import note_place, place_noted

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset
    from penstock.dataset.passes import Passes
    from penstock.ops.buffer.cache import Cache

T_co = TypeVar("T_co", covariant=True)


@dataclass(eq=False)
class Use:
    """The origin of a dataset, and whether the dataset was used.

    The dataset was made `at` a line, from another one (`after`), perhaps as a `part` of it.
    """

    plan: Node
    at: Place
    after: Use | None
    part: CutPart | None
    used: bool = False


class Handle(Generic[T_co]):
    """A plan, the passes over it, the line of the user's code that made it, and whether it was used."""

    def __init_subclass__(cls, **settings: Any) -> None:
        """Name the methods of each part of `Dataset` after the public class, and improve errors about arguments."""
        super().__init_subclass__(**settings)
        if cls.__module__.startswith("penstock.dataset."):
            for name, member in list(vars(cls).items()):
                method = getattr(member, "__func__", member)
                if isinstance(method, FunctionType):
                    method.__module__, method.__qualname__ = "penstock", f"Dataset.{name}"
                    if not name.startswith("_"):
                        made = helpful(method)
                        setattr(cls, name, made if member is method else type(member)(made))

    def __init__(
        self, plan: Node, *, transformed: bool = False, after: Use | None = None, part: CutPart | None = None
    ) -> None:
        if not isinstance(plan, Node):
            raise TypeError(
                f"Dataset({type(plan).__name__}): make datasets with Dataset.range, from_tensor_slices, from_source "
                "and similar methods, or with readers such as ps.read_files"
            )
        self._plan_unmarked = plan
        self._seed = fresh_seed()  # for unseeded operations; drawn now, so that copies in several processes share it
        self._use: Use | None = None
        self._cuts = Cuts()
        self._warned_in: tuple[int, int] | None = None  # the surroundings of the last iteration
        self._warned_of: set[str] = set()  # the facts of runs already warned of
        if transformed:
            self._use = Use(plan, place_of_user(), after, part)
            note_place(plan, self._use.at)
            weakref.finalize(self, _warn_if_discarded, self._use).atexit = False

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if hasattr(type(self), name):  # a property raised AttributeError: raise that again
                return object.__getattribute__(self, name)
            raise self._unknown(name)

    def _unknown(self, name: str) -> AttributeError:
        told = hint_of("Dataset", name)
        return UnknownNameError(f"Dataset has no {name!r}{told}", name, () if told else dir(type(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        if self._passes.options.seed is None:  # copies always draw the same values
            rewrite.seeds.draw_for_good(self._plan, self._passes.seed)
        return type(self), (self._plan,), self._passes.seed  # a copy has its own passes, and no warning if unused

    def __setstate__(self, seed: int) -> None:
        self._seed = seed

    @property
    def _plan(self) -> Node:
        if self._use is not None:
            self._use.used = True
        plan = self._plan_unmarked
        if plan.traits.keeps_made and not plan.indexed:
            cache = cast("Cache", plan)
            if cache.store.is_whole():
                seed = self._passes.seed  # made here, so that the passes of this dataset stay those of the stream
                self._plan_unmarked = dataset.arguments.caches.whole_stream(cache, seed) or plan
        return self._plan_unmarked

    @property
    def _passes(self) -> Passes:
        if self._use is not None:
            self._use.used = True
        made = self._passes_made or dataset.passes.Passes(self._plan_unmarked, self._seed)
        return vars(self).setdefault("_first_passes", made)  # the first of several threads makes it for all

    @property
    def _passes_made(self) -> Passes | None:
        """Return the passes if any code has used them, else `None`: descriptions need no passes."""
        return vars(self).get("_first_passes")

    def _over(self, plan: Node) -> Dataset[Any]:
        """Return the dataset over `plan` that a transformation returns, of the class of this dataset."""
        part = self._cuts.part(plan) if any(node is self._plan_unmarked for node in plan.inputs) else None
        return cast("type[Dataset[Any]]", type(self))(plan, transformed=True, after=self._use, part=part)

    def _written(self, **facts: int) -> lint.written.Written:
        """Return the plan with facts from the code around it, or from a run (`facts`)."""
        parts = tuple(use.plan for use in self._uses() if use.part is not None and use.part.is_split)
        made = self._passes_made
        written = lint.written.Written(self._plan_unmarked, parts, left=made.left if made else 0)
        return written._replace(**facts)

    def _warn_once(self) -> None:
        """Warn of findings that are almost surely mistakes, each at the line that wrote its operation.

        Findings about the surroundings are checked again if these have changed, as in a forked worker.
        """
        here = surroundings()
        if self._warned_in == here:
            return
        rules = lint.rules.WARNING_OF_RUNS if here != ONLY_PROCESS else ()
        rules = (lint.rules.WARNING if self._warned_in is None else ()) + rules
        self._warned_in = here
        self._warn_of(rules, self._written())

    def _warn_of_rows(self) -> None:
        """Warn once of a DataLoader that reads row by row."""
        if "rows" not in self._warned_of:
            self._warned_of.add("rows")
            self._warn_of(lint.rules.WARNING_OF_RUNS, self._written(by_row=True))

    def _warn_of_processes(self, count: int) -> None:
        """Warn once of a feed that joins the batches of several processes, although each makes all of them."""
        if "processes" not in self._warned_of:
            self._warned_of.add("processes")
            self._warn_of(lint.rules.WARNING_OF_RUNS, self._written(processes=count))

    def _warn_of_run(self, **facts: bool) -> None:
        """Warn once of a fact that only a run shows: several `threads` make the elements, or an epoch is `empty`."""
        seen = "threads" if facts.get("threads") else "empty"
        if seen not in self._warned_of:
            self._warned_of.add(seen)
            rules = lint.rules.OF_THREADS if facts.get("threads") else lint.rules.OF_EMPTY_EPOCHS
            self._warn_of(rules, self._written(**facts))

    def _warn_of(self, rules: tuple[lint.written.Rule, ...], written: lint.written.Written) -> None:
        for finding in lint.rules.findings(written, rules):
            if finding.of is not None and not safety.locks.tell(finding.of):
                continue
            _warn(finding, place_noted(written.plan, finding.node) or place_of_user())

    def _uses(self) -> Iterator[Use]:
        """Yield this dataset, the one it was made from, and so on."""
        use = self._use
        while use is not None:
            yield use
            use = use.after


def warn_of_budget(notes: list[str]) -> None:
    """Warn of what a run could not do within its memory budget, at the line that asked for an item."""
    at = place_of_user()
    for note in notes:
        registry = at.names.setdefault("__warningregistry__", {})
        warnings.warn_explicit(BudgetWarning(note), BudgetWarning, at.code.co_filename, at.line, registry=registry)


def _warn_if_discarded(use: Use) -> None:
    if use.used:
        return
    from opcode import opmap

    # Below this frame are the frame of weakref, and then the code that dropped the last reference. Only a statement
    # that is just the call pops its value; a variable may go unused for good reasons, such as an error.
    frame = sys._getframe(1).f_back  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the same
    code = use.at.code
    if frame is not None and frame.f_code is code and code.co_code[frame.f_lasti] == opmap["POP_TOP"]:
        for finding in lint.rules.findings(lint.written.Written(use.plan, thrown_away=True), lint.rules.OF_CALLS):
            _warn(finding, use.at)


def _warn(finding: lint.finding.Finding, at: Place) -> None:
    registry = at.names.setdefault("__warningregistry__", {})  # Python's record of the warnings shown for a module
    warning = PlanWarning(str(finding), finding.code)
    warnings.warn_explicit(warning, PlanWarning, at.code.co_filename, at.line, registry=registry)
