"""The table of rules by code, and the search for their findings.

Codes of one hundred belong to one topic: 1 to orders, 2 to batches and groups, 3 to caches, 4 to functions, 5 to
iteration (where and how), 9 to the form of calls. A code is never reused for another meaning. docs/lint.md has an
example and a remedy for each.
"""

from __future__ import annotations

from penstock import lint
from penstock.lint.written import Rule, Written
from penstock.plan.graph import post_order
from penstock.plan.places import place_noted

OF_PLANS: tuple[Rule, ...] = (
    Rule("PS101", lambda: lint.order.shuffle_after_batch, ("shuffle", "batch")),
    Rule("PS102", lambda: lint.order.repeat_before_shuffle, ("shuffle", "repeat")),
    Rule("PS103", lambda: lint.order.shards_of_different_orders, ("shard",)),
    Rule("PS104", lambda: lint.order.split_of_an_order_that_changes, ("shuffle",)),
    Rule("PS105", lambda: lint.order.shuffle_in_a_small_buffer, ("shuffle",), warns=False),
    Rule("PS106", lambda: lint.order.buffer_smaller_than_a_file, ("shuffle",), warns=False),
    Rule("PS107", lambda: lint.shards.shard_of_a_whole_stream, ("shard",), warns=False),
    Rule("PS108", lambda: lint.shards.more_streams_than_rows, ("shard",), warns=False),
    Rule("PS109", lambda: lint.shards.random_function_after_shard, ("shard",), warns=False),
    Rule("PS110", lambda: lint.order.one_seed_for_all_parts, warns=False),
    Rule("PS111", lambda: lint.order.zip_of_different_orders, ("zip", "shuffle"), warns=False),
    Rule("PS112", lambda: lint.order.classes_in_order, warns=False),
    Rule("PS113", lambda: lint.shards.random_function_on_parts, ("shard_by_rank",)),
    Rule("PS114", lambda: lint.shards.several_elements_of_a_virtual_stream, ("shard_by_rank",), warns=False),
    Rule("PS201", lambda: lint.group.batch_without_drop_remainder, warns=False),
    Rule("PS202", lambda: lint.group.unbounded_group_by_window, ("group_by_window",), warns=False),
    Rule("PS301", lambda: lint.buffer.random_function_before_cache, ("cache",)),
    Rule("PS302", lambda: lint.buffer.shuffle_before_cache, ("cache", "shuffle")),
    Rule("PS303", lambda: lint.buffer.repeat_before_cache, ("cache", "repeat")),
    Rule("PS401", lambda: lint.functions.global_generator_in_a_function, warns=False),
    Rule("PS402", lambda: lint.functions.in_place_function, warns=False),
    Rule("PS403", lambda: lint.functions.dataset_as_an_element, ("map",), warns=False),
)
OF_DRY_RUNS: tuple[Rule, ...] = (Rule("PS405", lambda: lint.vectorized.function_of_other_rows),)
OF_EMPTY_EPOCHS: tuple[Rule, ...] = (
    Rule("PS203", lambda: lint.group.batch_larger_than_the_data),
    Rule("PS404", lambda: lint.functions.every_element_failed),
)
OF_RUNS: tuple[Rule, ...] = (
    Rule("PS501", lambda: lint.runs.dataset_in_a_dataloader_worker),
    Rule("PS502", lambda: lint.runs.rows_read_by_a_dataloader),
    Rule("PS503", lambda: lint.runs.whole_dataset_on_every_rank),
    Rule("PS504", lambda: lint.runs.pass_left_early, warns=False),
    Rule("PS506", lambda: lint.runs.rank_unlike_the_group, ("shard_by_rank",)),
)
OF_THREADS: tuple[Rule, ...] = (Rule("PS505", lambda: lint.runs.function_called_by_one_thread),)
OF_CALLS: tuple[Rule, ...] = (Rule("PS901", lambda: lint.calls.result_thrown_away),)
RULES = tuple(
    sorted(OF_PLANS + OF_DRY_RUNS + OF_EMPTY_EPOCHS + OF_RUNS + OF_THREADS + OF_CALLS, key=lambda rule: rule.code)
)
CODES = tuple(rule.code for rule in RULES)
WARNING = tuple(rule for rule in OF_PLANS if rule.warns)
WARNING_OF_RUNS = tuple(rule for rule in OF_RUNS if rule.warns)


def findings(written: Written, rules: tuple[Rule, ...] = RULES) -> list[lint.finding.Finding]:
    """Return the findings that the options do not silence, in the order of the codes, one per operation and code.

    Operations that read alike and were written by one call, such as one in a loop, are one finding.
    """
    options = written.options
    present = {node.name for node in post_order(written.plan)}
    by_call: dict[tuple[object, ...], lint.finding.Finding] = {}
    for rule in rules:
        if not present.issuperset(rule.about) or options.ignores(rule.code):
            continue
        for found in rule.find(written):
            finding = _finding(rule, found, written)
            at = finding.at
            by_call[rule.code, found.message, at and (at.code, at.line, at.instruction)] = finding
    return list(by_call.values())


def _finding(rule: Rule, found: lint.written.Found, written: Written) -> lint.finding.Finding:
    node, plan = found.node, written.plan
    move = lint.moves.unless_zipped(found.fix, plan)
    return lint.finding.Finding(
        rule.code,
        node.label(),
        found.message,
        rule.warns,
        rule.explanation,
        node,
        found.of,
        found.reason,
        found.change,
        place_noted(plan, node),
        fix := lint.fix.fix_of(move, plan),
        "" if fix is not None else lint.fix.reason_of(move),
    )
