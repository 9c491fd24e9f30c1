from __future__ import annotations

import subprocess
import sys

from hypothesis import HealthCheck, given, settings

from penstock.plan.graph import post_order
from penstock.rewrite.passes import rewritten
from penstock.rewrite.seeds import bind_seeds
from penstock.testing.draft import LONGEST
from penstock.testing.plans import datasets

OPERATIONS = {
    *("map", "batch", "shuffle", "repeat", "take", "skip", "shard", "slice", "enumerate", "concatenate", "zip"),
    *("expand", "exclude", "split", "pad_to_cardinality", "unbatch", "rebatch", "window"),
    *("prefetch", "with_options", "from_tensor_slices", "from_tensors", "random"),
}


@given(datasets())
@settings(max_examples=60)
def test_random_plans_are_short_finite_and_seeded(ds):
    assert 0 <= len(ds) <= LONGEST
    assert ds.options().seed is not None
    assert len(list(ds)) == len(ds)


@given(datasets(depth=0, seeded=False))
@settings(max_examples=30)
def test_random_plans_of_depth_zero_are_sources(ds):
    assert ds.options().seed is None
    assert sum(1 for _ in post_order(ds._plan)) <= 3  # a source without end is cut; and the options


def test_random_plans_contain_every_operation():
    seen, rules = set(), set()

    @given(datasets())
    @settings(max_examples=400, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    def look(ds):
        seen.update(node.name for node in post_order(ds._plan))
        rules.update(rewritten(bind_seeds(ds._plan, 0)).applied)

    look()
    assert "trace_map" in rules
    assert {name.partition("(")[0] for name in seen} >= OPERATIONS
    assert {name.partition("(")[0] for name in seen} >= {"range", "counter", "from_source"}


def test_only_strategies_need_hypothesis():
    program = (
        "import sys, penstock.testing.laws, penstock.testing.executors, penstock.testing.functions;"
        "sys.exit('hypothesis' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
