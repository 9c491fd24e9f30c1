"""A forged state either raises a `CursorError` or equals a valid state."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.core.errors import CursorError
from penstock.engine.cursors.codec import packed, unpacked
from penstock.testing.laws import same
from tests.draws import draws

D = ps.Dataset
KEPT = D.range(40).filter(lambda x: x % 3 > 0)
PIPELINES = {
    "filter": KEPT,
    "take": KEPT.take(9),
    "skip": KEPT.skip(2),
    "shard": KEPT.shard(2, 1),
    "shard of virtual streams": KEPT.batch(2).skip(3).shard(2, 1, streams=6),
    "exclude": KEPT.exclude([0, 3, 4]),
    "repeat": KEPT.repeat(3),
    "shuffle": KEPT.shuffle(5, seed=1),
    "enumerate": KEPT.enumerate(),
    "batch": KEPT.batch(3),
    "map": KEPT.shuffle(3, seed=1).map(lambda x: x + 1),
    "zip": D.zip(KEPT, KEPT.skip(1)),
    "concatenate": KEPT.concatenate(KEPT),
    "flat_map": D.range(9).flat_map(lambda x: [x] * int(x)),
    "flat_map of datasets": D.range(9).flat_map(lambda x: D.range(int(x)).filter(lambda y: y > 0)),
    "interleave": D.range(9).interleave(lambda x: D.range(int(x)), cycle_length=3, block_length=2),
    "interleave of many": D.range(30).interleave(lambda x: D.range(int(x) % 7), cycle_length=16),
    "scan": KEPT.scan({"sum": 0}, lambda state, x: ({"sum": state["sum"] + x}, x)),
    "unique": KEPT.map(lambda x: x // 4).unique(),
    "take_while": KEPT.take_while(lambda x: x < 30),
    "from_generator": D.from_generator(lambda: iter(range(20))),
    "window": KEPT.window(3, 1).flat_map(lambda window: window),
    "unbatch": KEPT.batch(4).unbatch(),
    "rebatch": KEPT.batch(4).rebatch(3),
    "padded_batch": KEPT.padded_batch(3),
    "mixture": D.sample_from_datasets([KEPT, KEPT.skip(3), D.range(9)], seed=2),
    "mixture of many": D.sample_from_datasets([KEPT.skip(n) for n in range(12)], seed=2),
    "choice": D.choose_from_datasets([KEPT, KEPT], D.range(2).repeat(4)),
    "assert_cardinality": KEPT.assert_cardinality(26),
    "group_by_window": KEPT.group_by_window(lambda x: x % 4, lambda key, window: window.batch(2), 3),
    "bucket_by_sequence_length": KEPT.bucket_by_sequence_length(lambda x: x % 9, [3, 6], [3, 2, 4]),
    "batch_by_tokens": KEPT.batch_by_tokens(lambda x: x % 9, 20),
    "group_by_reducer": KEPT.group_by_reducer(lambda x: x % 9, float, lambda total, x: total + x),
    "ignore_errors": KEPT.map(lambda x: 6 // (x % 5)).ignore_errors(budget=99),
    "on_error": D.range(20).map(lambda x: 6 // (x % 5), on_error=ps.on_error.replace(0, 99)),
}
NUMBERS = st.integers(-3, 50) | st.integers() | st.floats() | st.booleans()
JSON = st.recursive(
    st.none() | NUMBERS | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)


@pytest.mark.parametrize("name", PIPELINES)
def test_a_mangled_mark_is_refused_or_is_a_valid_position(name):
    ds = PIPELINES[name].with_options(ps.Options(executor="inline", seed=3))

    @given(st.integers(0, 9), st.integers(0, 99), st.sampled_from(["replace", "replace", "remove", "double"]), JSON)
    @settings(max_examples=draws(25))
    def law(step, which, way, value):
        with ds.iterator(epoch=1) as it:
            assert len(list(islice(it, step))) <= step
            state = json.loads(json.dumps(it.state_dict()))
        mark = mangled(unpacked(state.get("mark")), which, way, value)
        state["mark"] = packed(mark) if step % 2 else mark
        with ds.iterator(epoch=1) as it, suppress(CursorError):
            it.load_state_dict(state)
            assert len(list(islice(it, 300))) < 300

    law()


@pytest.mark.parametrize("name", PIPELINES)
def test_a_state_can_be_loaded_without_json(name):
    ds = PIPELINES[name].with_options(ps.Options(executor="inline", seed=3))
    whole = list(ds.iterator(epoch=1))
    for step in (0, 1, len(whole) // 2, len(whole)):
        with ds.iterator(epoch=1) as it:
            received = list(islice(it, step))
            state = it.state_dict()
            it.load_state_dict(state)
            assert same([*received, *it], whole)


def mangled(mark, which, way, value):
    """The mark with one part of it replaced, left out or doubled."""
    whole, parts = [mark], []

    def look(holder):
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            parts.append((holder, key))
            if isinstance(holder[key], list | dict):
                look(holder[key])

    look(whole)
    holder, key = parts[which % len(parts)]
    if way == "replace" or holder is whole or isinstance(holder, dict):
        holder[key] = value
    elif way == "remove":
        del holder[key]
    else:
        holder.insert(key, holder[key])
    return whole[0]


def with_mark(it):
    """The state of a pass that has come so far that it has a mark, and the form of the plan that understands it."""
    return next(state for _ in it if "mark" in (state := it.state_dict()))


@pytest.mark.parametrize("offset", [1, 10**6, 2**48])
def test_an_offset_beyond_the_end_is_refused(offset):
    it = KEPT.iterator()
    it.load_state_dict(with_mark(it) | {"row": offset, "offset": offset, "mark": 40})
    with pytest.raises(CursorError, match="beyond the end"):
        list(it)


def test_damaged_text_in_place_of_a_mark_is_refused_before_anything_is_lost():
    it = PIPELINES["interleave of many"].iterator()
    received = list(islice(it, 40))
    state = json.loads(json.dumps(it.state_dict()))
    refused = 0
    for at, letter in enumerate(state["mark"]):
        damaged = state["mark"][:at] + ("B" if letter == "A" else "A") + state["mark"][at + 1 :]
        try:
            assert unpacked(damaged) == unpacked(state["mark"])  # only unused bits at an end differ
        except CursorError:
            refused += 1
            with pytest.raises(CursorError, match=r"which is damaged: .*; pass what state_dict"):
                it.load_state_dict(state | {"mark": damaged})
    assert refused >= len(state["mark"]) - 3
    assert [*received, *it] == list(PIPELINES["interleave of many"])


def test_the_error_shows_the_refused_state():
    it = KEPT.batch(2).iterator()
    it.load_state_dict(with_mark(it) | {"mark": [-1, None]})
    with pytest.raises(CursorError, match=r"the saved state's mark has \[-1, None\]"):
        next(it)
