"""Attach options to a plan."""

from __future__ import annotations

from dataclasses import field

from penstock.core.frozen import frozen
from penstock.core.options import Options
from penstock.plan.graph import post_order
from penstock.plan.node import Node, RowMap
from penstock.plan.traits import Traits


@frozen()
class WithOptions(RowMap):
    """Run the plan with `options`; options set later take precedence."""

    keeps_order = True
    traits = Traits(ids="kept", one_to_one=True)

    options: Options = field(metadata={"runs": True})

    @property
    def name(self) -> str:
        return "with_options"

    def arguments(self) -> str:
        return repr(self.options).removeprefix("Options(").removesuffix(")")


def options_of(plan: Node) -> Options:
    """Return all options set in the plan; later ones override earlier ones."""
    options = Options()
    for node in post_order(plan):
        if isinstance(node, WithOptions):
            options = options.merged(node.options)
    return options
