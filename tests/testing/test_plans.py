from __future__ import annotations

import subprocess
import sys

from hypothesis import given, settings

from penstock.plan.graph import post_order
from penstock.rewrite.passes import rewritten
from penstock.rewrite.seeds import bind_seeds
from penstock.testing.draft import LONGEST
from penstock.testing.plans import datasets
from tests.draws import draw_until, draws

OPERATIONS = {
    *("map", "batch", "shuffle", "repeat", "take", "skip", "shard", "slice", "enumerate", "concatenate", "zip"),
    *("expand", "exclude", "split", "pad_to_cardinality", "unbatch", "rebatch", "window"),
    *("prefetch", "with_options", "from_tensor_slices", "from_tensors", "random"),
    *("range", "counter", "from_source"),
}


@given(datasets())
@settings(max_examples=draws(60))
def test_random_plans_are_short_finite_and_seeded(ds):
    assert 0 <= len(ds) <= LONGEST
    assert ds.options().seed is not None
    assert len(list(ds)) == len(ds)


@given(datasets(depth=0, seeded=False))
@settings(max_examples=draws(30))
def test_random_plans_of_depth_zero_are_sources(ds):
    assert ds.options().seed is None
    assert sum(1 for _ in post_order(ds._plan)) <= 3  # a source without end is cut; and the options


def test_random_plans_contain_every_operation():
    seen, rules = set(), set()

    def are_all_seen(ds):
        seen.update(node.name.partition("(")[0] for node in post_order(ds._plan))
        rules.update(rewritten(bind_seeds(ds._plan, 0)).applied)
        return "trace_map" in rules and seen >= OPERATIONS

    draw_until(are_all_seen, datasets(), 400)
    assert "trace_map" in rules
    assert seen >= OPERATIONS


def test_only_strategies_need_hypothesis():
    program = (
        "import sys, penstock.testing.laws, penstock.testing.executors, penstock.testing.functions;"
        "sys.exit('hypothesis' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
