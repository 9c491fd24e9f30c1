"""Conversion of positions of a dataset to plain JSON data, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from penstock import dataset, engine
from penstock import plan as plans
from penstock.core.cached import cached_property
from penstock.core.errors import CursorError
from penstock.core.options import Options
from penstock.engine import cursors
from penstock.engine.cursors.cursor import Cursor, cursor_of
from penstock.engine.tuning.settings import Settings, settings_of
from penstock.plan.graph import post_order, rank_rows
from penstock.plan.node import Node
from penstock.rewrite.passes import PASSES, PLAIN, Rewritten, rewritten
from penstock.rewrite.seeds import bind_seeds, draws_for_good, needs_seed


class States:
    """A writer of the cursors of a plan as states, which name the plan, and a reader of such states."""

    def __init__(self, plan: Node, options: Options) -> None:
        plans.fingerprint.settle(plan)
        self._plan = plan
        self.options = options
        self._sharding: cursors.sharding.Sharding | None = None

    def as_run(self, plan: Node, cursor: Cursor) -> Node:
        """Return the plan to run, this one or one like it, with the seeds of a cursor."""
        return self.rewritten(plan, cursor).plan

    def rewritten(self, plan: Node, cursor: Cursor) -> Rewritten:
        """Return the plan to run, with the names of the rewrites."""
        passes = PLAIN if self.options.rewrite is False else PASSES
        return rewritten(self.joined(plan, cursor), passes)

    def joined(self, plan: Node, cursor: Cursor) -> Node:
        """Return the plan as written, with the seeds of a cursor, and with services for what is shared."""
        bound = bind_seeds(plan, cursor.seed, cursor.drawn)
        if all(node.name != "share" for node in post_order(bound)):
            return bound
        from penstock.service.sharing import with_services

        return with_services(bound)

    def settings(self, plan: Node, cursor: Cursor) -> Settings:
        """Return the settings of a run in this process; a service has those before `share()`."""
        return settings_of(self.joined(plan, cursor))

    def is_over(self, cursor: Cursor) -> bool:
        """Return whether all elements of the cursor's epoch were received, as far as the cursor shows."""
        return cursor.ended or 0 <= self._plan.length <= cursor.row

    def state_of(self, cursor: Cursor) -> dict[str, Any]:
        """Return the state of a cursor."""
        state = cursor.state_dict(self._identity[0], self.summary)
        for name, nothing in self._fields.items():  # checkpoint libraries expect the keys of the first state
            state.setdefault(name, nothing)
        if self._is_sharded:
            self._sharding = self._sharding or cursors.sharding.Sharding(
                self._plan, lambda plan: self.as_run(plan, cursor)
            )
            state["shard"] = self._sharding.state_of(cursor, ended=self.is_over(cursor))
        return state

    def cursor_of(self, state: object) -> Cursor:
        """Return the cursor of a state, or of those of all shards of a run; raise a `CursorError` for another plan."""
        if isinstance(state, list) and (of_job := self._of_job(cast("list[Any]", state))) is not None:
            return self.cursor_of(of_job)
        try:
            if isinstance(state, list):
                return self._of_shards(cast("list[Any]", state))
            return cursor_of(state, *self._identity, self._plan.stride if self._plan.indexed else None)
        except CursorError as error:
            if rank_rows(self._plan) is not None:
                self._note_ranks(error)
            elif isinstance(state, dict) and "shard" in state:
                error.add_note("to load into a different number of shards, pass a list of the states of all shards")
            elif isinstance(state, dict) and self._lacks_cached_stream(cast("dict[str, Any]", state).get("plan")):
                error.add_note(
                    "the saved state is of a dataset built when all elements of the stream had been cached, so "
                    "that cache() read them by row: read the cached dataset once, then build this one"
                )
            raise

    def _lacks_cached_stream(self, saved: object) -> bool:
        """Return whether a plan was saved that reads a cached stream by row, unlike this plan, which is a stream."""
        lines = cast("list[object]", saved) if isinstance(saved, list) else []
        return not self._plan.indexed and any(str(line).startswith("cache(") for line in lines)

    def _of_shards(self, states: list[Any]) -> Cursor:
        cursor = cursors.reshard.resharded(self._plan, self.as_run, states)
        run = self.as_run(self._plan, cursor)
        return replace(cursor, form=engine.runs.lowering.form_of(run, self.options.rewrite))

    def _note_ranks(self, error: CursorError) -> None:
        """Note on an error that the number of ranks counts, if the ranks divide single elements."""
        parts = dataset.ranks.parts.ranked(self._plan)
        if parts is None or parts.batch is None or parts.batch.size != parts.rows.size:
            error.add_note(
                "without a batch of a fixed size before shard_by_rank(), a state loads only with the number of ranks "
                "that it was saved with"
            )

    def _of_job(self, states: list[Any]) -> dict[str, Any] | None:
        """Return the state of a job, given those of all its ranks; `None` if they are of shards instead."""
        if rank_rows(self._plan) is None or not states or not all(isinstance(each, dict) for each in states):
            return None
        if any(each.get("fingerprint") != self._identity[0] for each in states):
            return None
        places = [(each.get("epoch"), each.get("row")) for each in states]
        if len(set(places)) > 1:
            steps = ", ".join(f"{row} of epoch {epoch}" for epoch, row in places)
            raise CursorError(
                f"the saved states of the ranks are from different steps: step {steps}; save all at the same step, or "
                "load the state of one rank, which is valid for all ranks"
            )
        if needs_seed(self._plan) and len({repr(each.get("seed")) for each in states}) > 1:
            raise CursorError(
                "the saved states of the ranks have different seeds, so the ranks had no common order; set the same "
                "Options(seed=) on all ranks, or let them exchange a seed through a group"
            )
        return states[0]

    @property
    def fingerprint(self) -> str:
        """The fingerprint that states name."""
        return self._identity[0]

    @cached_property
    def _fields(self) -> dict[str, Any]:
        """Return the additional entries of states of the plan, with their empty values."""
        fields: dict[str, Any] = {"drawn": []} if draws_for_good(self._plan) else {}
        if not self._plan.indexed:
            return {**fields, "offset": 0, "mark": None, "form": "", "ended": False}
        return fields if settings_of(self._plan).ordered else {**fields, "ahead": []}

    @cached_property
    def _identity(self) -> tuple[str, tuple[str, ...]]:
        lines = plans.fingerprint.plan_lines(self._plan)
        rows = rank_rows(self._plan)
        if rows is not None and not self._plan.indexed and dataset.ranks.parts.ranked(self._plan) is None:
            lines = (*lines, f"rank {rows.rank} of {rows.world} #{rows.rank:x}.{rows.world:x}")  # marks of its own
        return plans.fingerprint.fingerprint_of(lines), lines

    @cached_property
    def summary(self) -> cursors.summary.PlanSummary:
        """The summary of the plan's lines, by which an error names what differs."""
        return cursors.summary.summary_of(self._identity[1])

    @cached_property
    def _is_sharded(self) -> bool:
        """Return whether the states of all shards of the run load into any number of shards."""
        shards = any(node.name == "shard" for node in post_order(self._plan))
        return shards and cursors.sharding.is_sharded(self._plan)
