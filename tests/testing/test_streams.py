from __future__ import annotations

from hypothesis import given, settings

from penstock.plan.graph import post_order
from penstock.rewrite.passes import rewritten
from penstock.rewrite.seeds import bind_seeds
from penstock.testing.draft import LONGEST
from penstock.testing.streams import streams
from tests.draws import draw_until, draws

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

RULES = {"trace_map", "trace_filter"}


@given(streams())
@settings(max_examples=draws(60))
def test_random_streams_are_short_and_seeded(ds):
    assert not ds._plan.indexed
    assert ds.options().seed is not None
    assert len(list(ds)) <= LONGEST


def test_random_streams_contain_every_operation_and_mostly_have_elements():
    seen, drawn, rules = set(), [], set()

    def are_all_seen(ds):
        seen.update(node.name for node in post_order(ds._plan))
        rules.update(rewritten(bind_seeds(ds._plan, 0)).applied)
        drawn.append(ds)
        return seen >= OPERATIONS and rules >= RULES and len(drawn) >= 100

    draw_until(are_all_seen, streams(), 500)
    lengths = [len(list(ds)) for ds in drawn[:100]]
    assert seen >= OPERATIONS
    assert rules >= RULES
    assert sum(length > 2 for length in lengths) > len(lengths) // 2
