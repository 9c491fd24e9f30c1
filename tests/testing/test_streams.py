from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from penstock.plan.graph import post_order
from penstock.rewrite.passes import rewritten
from penstock.rewrite.seeds import bind_seeds
from penstock.testing.draft import LONGEST
from penstock.testing.streams import streams

OPERATIONS = {
    *("filter", "scan", "take_while", "unique", "map", "batch", "enumerate", "shuffle", "take", "skip", "shard"),
    *("repeat", "concatenate", "zip", "flat_map", "interleave", "ignore_errors", "errors", "prefetch", "with_options"),
    *(
        "unbatch",
        "rebatch",
        "window",
        "padded_batch",
        "ragged_batch",
        "sparse_batch",
        "pack",
        "split",
        "expand",
        "exclude",
        "cache",
        "from_generator",
    ),
    *("sample_from_datasets", "choose_from_datasets", "rejection_resample"),
    *("group_by_window", "bucket_by_sequence_length", "batch_by_tokens", "group_by_reducer"),
}


@given(streams())
@settings(max_examples=60)
def test_random_streams_are_short_and_seeded(ds):
    assert not ds._plan.indexed
    assert ds.options().seed is not None
    assert len(list(ds)) <= LONGEST


def test_random_streams_contain_every_operation_and_mostly_have_elements():
    seen, drawn, rules = set(), [], set()

    @given(streams())
    @settings(max_examples=500, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    def look(ds):
        seen.update(node.name for node in post_order(ds._plan))
        rules.update(rewritten(bind_seeds(ds._plan, 0)).applied)
        drawn.append(ds)

    look()
    lengths = [len(list(ds)) for ds in drawn[::3]]
    assert seen >= OPERATIONS
    assert rules >= {"trace_map", "trace_filter"}
    assert sum(length > 2 for length in lengths) > len(lengths) // 2
