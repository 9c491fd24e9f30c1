"""Every rule under its code, and the looking for what they find.

Codes of one hundred belong to one topic: 1 to orders, 2 to batches and groups, 3 to caches, 9 to how calls are written.
A code is never used again for something else. docs/lint.md has an example and a remedy for each.
"""

from __future__ import annotations

from penstock.rewrite.lint.buffer import (
    random_function_before_cache,
    repeat_before_cache,
    shuffle_before_cache,
)
from penstock.rewrite.lint.calls import result_thrown_away
from penstock.rewrite.lint.group import batch_without_drop_remainder, unbounded_group_by_window
from penstock.rewrite.lint.order import (
    buffer_smaller_than_a_file,
    repeat_before_shuffle,
    shards_of_an_order_drawn_anew,
    shuffle_after_batch,
    shuffle_in_a_small_buffer,
    split_of_an_order_that_changes,
)
from penstock.rewrite.lint.shards import (
    more_streams_than_rows,
    random_function_after_shard,
    shard_of_a_whole_stream,
)
from penstock.rewrite.lint.written import Finding, Rule, Written

OF_PLANS: tuple[Rule, ...] = (
    Rule("PS101", shuffle_after_batch),
    Rule("PS102", repeat_before_shuffle),
    Rule("PS103", shards_of_an_order_drawn_anew),
    Rule("PS104", split_of_an_order_that_changes),
    Rule("PS105", shuffle_in_a_small_buffer, warns=False),
    Rule("PS106", buffer_smaller_than_a_file, warns=False),
    Rule("PS107", shard_of_a_whole_stream, warns=False),
    Rule("PS108", more_streams_than_rows, warns=False),
    Rule("PS109", random_function_after_shard, warns=False),
    Rule("PS201", batch_without_drop_remainder, warns=False),
    Rule("PS202", unbounded_group_by_window, warns=False),
    Rule("PS301", random_function_before_cache),
    Rule("PS302", shuffle_before_cache),
    Rule("PS303", repeat_before_cache),
)
OF_CALLS: tuple[Rule, ...] = (Rule("PS901", result_thrown_away),)
RULES = OF_PLANS + OF_CALLS
CODES = tuple(rule.code for rule in RULES)
WARNING = tuple(rule for rule in RULES if rule.warns)


def findings(written: Written, rules: tuple[Rule, ...] = RULES) -> list[Finding]:
    """What the rules find and the options do not silence, in the order of the codes; each operation once a code."""
    options = written.options
    found = {
        (rule.code, message): Finding(rule.code, node.label(), message, rule.warns, rule.explanation, node)
        for rule in rules
        if not options.ignores(rule.code)
        for node, message in rule.find(written)
    }
    return list(found.values())
