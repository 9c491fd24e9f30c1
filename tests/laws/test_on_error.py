"""`on_error=` has one law for all operations: a skipped element is as if not there, a value as if returned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock import Dataset, Options
from penstock.core.errors import FailuresError
from penstock.testing.laws import same, verify_determinism, verify_resume
from tests.draws import draws

COUNT = 40
skip, replace = ps.on_error.skip, ps.on_error.replace


def fails(x):
    return x % 3 == 1


def works(x):
    return not fails(x)


FAILED = sum(map(fails, range(COUNT)))


@dataclass(frozen=True)
class Picky:
    """A function that raises for some elements, or returns `instead` for them where that is given."""

    says: Callable[[Any], Any]
    instead: Any = None

    def __call__(self, x):
        if works(x):
            return self.says(int(x))
        if self.instead is None:
            raise LookupError(f"not {x}")
        return self.instead


@dataclass(frozen=True)
class Adds:
    """A function of a state and an element, which raises for some elements, or yields `instead` for them."""

    instead: Any = None

    def __call__(self, state, x):
        state["seen"] += 1  # what it does to its own copy is lost where it fails
        if fails(x) and self.instead is None:
            raise LookupError(f"not {x}")
        if fails(x):
            state["seen"] -= 1
            return state, self.instead
        return {**state, "sum": state["sum"] + int(x)}, state["sum"] + int(x)


class Operation(NamedTuple):
    """An operation of a function, one that fails for some elements, and what to use as its result for those."""

    apply: Callable[..., Dataset[Any]]
    function: Callable[[Any], Callable[..., Any]]
    value: Any


def picky(says):
    return lambda instead=None: Picky(says, instead)


def is_even(x):
    return x % 2 == 0


def twice(x):
    return [x, -x]


def of_seven(x):
    return 1 + x % 7


def of_two(x):
    return x % 2


def true(x):
    return True


def zero(key):
    return 0


def added(total, x):
    return total + x


def by_two(key, window):
    return window.batch(2)


OPERATIONS = {
    "map": Operation(lambda ds, f, **e: ds.map(f, **e), picky(of_seven), -1),
    "filter": Operation(lambda ds, f, **e: ds.filter(f, **e), picky(is_even), True),
    "flat_map": Operation(lambda ds, f, **e: ds.flat_map(f, **e), picky(twice), [7]),
    "interleave": Operation(lambda ds, f, **e: ds.interleave(f, cycle_length=3, **e), picky(twice), [7]),
    "scan": Operation(lambda ds, f, **e: ds.scan({"sum": 0, "seen": 0}, f, **e), Adds, -1),
    "take_while": Operation(lambda ds, f, **e: ds.take_while(f, **e), picky(true), True),
    "unique": Operation(lambda ds, f, **e: ds.unique(f, **e), picky(of_seven), 3),
    "bucket_by_sequence_length": Operation(
        lambda ds, f, **e: ds.bucket_by_sequence_length(f, [4], [2, 3], **e), picky(of_seven), 5
    ),
    "batch_by_tokens": Operation(lambda ds, f, **e: ds.batch_by_tokens(f, 12, **e), picky(of_seven), 2),
    "group_by_window": Operation(lambda ds, f, **e: ds.group_by_window(f, by_two, 4, **e), picky(of_two), 5),
    "group_by_reducer": Operation(lambda ds, f, **e: ds.group_by_reducer(f, zero, added, **e), picky(of_seven), 9),
    "rejection_resample": Operation(
        lambda ds, f, **e: ds.rejection_resample(f, [0.5, 0.5], [0.4, 0.6], seed=3, **e), picky(of_two), 1
    ),
    "rejection_resample, estimated": Operation(
        lambda ds, f, **e: ds.rejection_resample(f, [0.5, 0.5], seed=3, **e), picky(of_two), 1
    ),
}  # fmt: skip
BASES = {
    "rows": lambda: Dataset.range(COUNT),
    "shuffled rows": lambda: Dataset.range(COUNT).shuffle(seed=1),
    "stream": lambda: Dataset.range(COUNT).filter(true, vectorized=False),
    "unbatched stream": lambda: Dataset.range(COUNT).filter(true, vectorized=False).batch(7).unbatch(),
}
WAYS = {
    "inline": Options(executor="inline"),
    "threads": Options(executor="threads", workers=2),
    "auto": Options(),
    "as written": Options(executor="inline", rewrite=False),
}

each_operation = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
each_base = pytest.mark.parametrize("base", BASES.values(), ids=BASES)


def each_operation_base_and_way(turn):
    """Parametrize a test by operations, bases and ways, of which every two meet; those of another `turn` differ."""
    made = [
        pytest.param(OPERATIONS[name], BASES[base], WAYS[way], id=f"{name}-{base}-{way}")
        for number, name in enumerate(OPERATIONS)
        for base, way in zip(BASES, np.roll(list(WAYS), number + turn).tolist(), strict=True)
    ]
    return pytest.mark.parametrize(("operation", "base", "way"), made)


def policies(operation):
    return [skip(), skip(COUNT), replace(operation.value), replace(operation.value, budget=COUNT)]


EXPECTED = {}


def expected(operation, base, on_error):
    """Return the elements from a function that never fails, with failing inputs left out or replaced."""
    replaced = on_error.value is operation.value
    key = operation.apply, base, replaced
    if key not in EXPECTED:
        ds = base() if replaced else base().filter(works, vectorized=False)
        EXPECTED[key] = list(operation.apply(ds, operation.function(operation.value if replaced else None)))
    return EXPECTED[key]


def alike(made, wanted):
    return len(made) == len(wanted) and all(map(same, made, wanted))


@each_operation_base_and_way(0)
def test_failed_elements_are_left_out_or_replaced(operation, base, way):
    for on_error in policies(operation):
        ds = operation.apply(base(), operation.function(None), on_error=on_error).with_options(way)
        wanted = expected(operation, base, on_error)
        assert alike(list(ds), wanted), on_error


@each_operation
def test_other_processes_leave_out_the_same_elements(operation, processes):
    for base in (BASES["rows"], BASES["stream"]):
        for on_error in policies(operation)[1:3]:
            ds = operation.apply(base(), operation.function(None), on_error=on_error)
            assert alike(list(ds.with_options(Options(executor=processes))), expected(operation, base, on_error))


@each_operation
@pytest.mark.parametrize("skips", [True, False], ids=["skip", "replace"])
def test_a_restored_iterator_continues_exactly(operation, skips):
    on_error = skip(COUNT) if skips else replace(operation.value)
    for base in list(BASES)[not skips :: 2]:
        ds = operation.apply(BASES[base](), operation.function(None), on_error=on_error)
        verify_resume(ds, most=4)  # two elements have failed before
    ds = operation.apply(BASES["rows"](), operation.function(None), on_error=on_error)
    verify_determinism(ds, most=9)  # the test above has run the others


@each_operation_base_and_way(2)
def test_failures_are_counted_and_limited_by_the_budget(operation, base, way):
    for on_error in (skip(FAILED), replace(operation.value, budget=FAILED)):
        it = operation.apply(base(), operation.function(None), on_error=on_error).with_options(way).iterator()
        list(it)
        assert sum(each.failed for each in it.stats().operations) == FAILED, it.stats()
    for on_error in (skip(FAILED - 1), replace(operation.value, budget=FAILED - 1)):
        ds = operation.apply(base(), operation.function(None), on_error=on_error).with_options(way)
        with pytest.raises(FailuresError, match=rf"{FAILED} of \d+ elements failed.*\n(?:.*\n)*.*LookupError: not"):
            list(ds)


@each_operation
def test_failures_without_a_budget_are_counted(operation):
    for base in (BASES["rows"], BASES["stream"]):
        for on_error in (skip(), replace(operation.value)):
            it = operation.apply(base(), operation.function(None), on_error=on_error).iterator()
            list(it)
            assert sum(each.failed for each in it.stats().operations) == FAILED, it.stats()


@each_operation
def test_each_failure_is_recorded_with_its_row(operation, tmp_path):
    file = tmp_path / "bad.jsonl"
    ds = operation.apply(BASES["rows"](), operation.function(None), on_error=skip(quarantine=file))
    list(ds)
    lines = [line for line in file.read_text().splitlines() if line]
    assert len(lines) == FAILED
    assert all('"records": ["the number' in line and "LookupError" in line for line in lines)


@each_operation
def test_explain_shows_the_policy(operation):
    name = operation.apply(BASES["rows"](), operation.function(None)).explain().splitlines()[2].split("(")[0].strip()
    for on_error, said in ((skip(3), "on_error='skip'"), (replace(operation.value), "on_error=replace(")):
        ds = operation.apply(BASES["rows"](), operation.function(None), on_error=on_error)
        assert f"{name}(" in ds.explain()
        assert said in ds.explain()
        assert "(object" not in ds.explain()


@pytest.mark.parametrize("name", sorted(OPERATIONS.keys() - {"take_while", "unique", "group_by_reducer"}))
def test_virtual_streams_leave_out_the_same_elements(name):
    operation = OPERATIONS[name]
    ds = operation.apply(BASES["stream"](), operation.function(None), on_error=skip(COUNT))
    whole = list(ds.shard(1, 0, streams=4))
    parts = [list(ds.shard(2, rank, streams=4)) for rank in range(2)]
    assert sorted(map(repr, whole)) == sorted(map(repr, [*parts[0], *parts[1]]))


@given(st.lists(st.sampled_from(sorted(OPERATIONS)), min_size=2, max_size=3), st.data())
@settings(max_examples=draws(40))
def test_several_operations_may_have_on_error(names, data):
    ds = Dataset.range(COUNT)
    for name in names:
        operation = OPERATIONS[name]
        if name.startswith(("rejection", "batch", "bucket")):
            continue  # what comes of these are no numbers
        ds = operation.apply(ds, operation.function(None), on_error=data.draw(st.sampled_from(policies(operation))))
        ds = ds.unbatch() if name == "group_by_window" else ds
    verify_resume(ds, most=5, options=data.draw(st.sampled_from(list(WAYS.values()))))


def test_a_skipped_element_does_not_end_a_take_while():
    def small(x):
        if x == 2:
            raise LookupError
        return x < 5

    for ds in (Dataset.range(9), Dataset.range(9).filter(true)):
        assert list(ds.take_while(small, on_error="skip")) == [0, 1, 3, 4]
        assert list(ds.take_while(small, on_error=replace(True))) == [0, 1, 2, 3, 4]
        assert list(ds.take_while(small, on_error=replace(False))) == [0, 1]


def test_windows_whose_reduce_func_raises_are_left_out_or_end_the_pass():
    def reduced(key, window):
        if key == 1:
            raise LookupError("no window of 1")
        return window.batch(2)

    def grouped(on_error):
        return Dataset.range(9).group_by_window(lambda x: x % 3, reduced, 2, on_error=on_error)

    assert [batch.tolist() for batch in grouped("skip")] == [[0, 3], [2, 5], [6], [8]]
    with pytest.raises(FailuresError, match="2 of 5 elements failed"):
        list(grouped(skip(1)))
    for on_error in ("raise", replace(0)):
        with pytest.raises(LookupError, match="no window of 1"):
            list(grouped(on_error))


def test_errors_of_reduce_end_the_pass():
    def refuse(total, x):
        raise LookupError("not reduced")

    ds = Dataset.range(3).group_by_reducer(lambda x: 0, zero, refuse, on_error="skip")
    with pytest.raises(LookupError, match="not reduced"):
        list(ds)


def test_elements_that_cannot_be_compared_are_left_out():
    ds = Dataset.from_source([1, lambda: 3, 1, 2]).unique(on_error="skip")
    assert list(ds) == [1, 2]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda ds, e: ds.filter(bool, on_error=e), r"^filter\(on_error=replace\('x'\)\): .* expected True or False$"),
        (lambda ds, e: ds.take_while(bool, on_error=e), r"^take_while\(on_error=.* expected True or False$"),
        (lambda ds, e: ds.bucket_by_sequence_length(int, [1], [1, 1], on_error=e), "expected a whole number$"),
        (lambda ds, e: ds.batch_by_tokens(int, 9, on_error=e), "^batch_by_tokens.* expected a whole number$"),
        (lambda ds, e: ds.group_by_window(int, by_two, 2, on_error=e), "^group_by_window.* expected a whole number$"),
        (lambda ds, e: ds.group_by_reducer(int, zero, added, on_error=e), "^group_by_red.* expected a whole number$"),
        (lambda ds, e: ds.rejection_resample(int, [1, 1], on_error=e), "expected a whole number from 0 to 1$"),
    ],
)
def test_a_value_that_the_function_cannot_return_is_refused(call, said):
    with pytest.raises(TypeError, match=said):
        call(Dataset.range(3), replace("x"))


def test_damaged_records_are_left_out_by_parse_example():
    records = [ps.records.encode_example({"x": [i]}) for i in range(6)]
    records[2] = b"\xff" + records[2]
    parse = ps.records.parse_example({"x": ps.records.FixedLenFeature((), np.int64)})
    for base in (Dataset.from_source(records), Dataset.from_source(records).filter(true)):
        for ds in (base.map(parse, on_error="skip"), base.map(parse, on_error=skip(1))):
            assert [int(element["x"]) for element in ds] == [0, 1, 3, 4, 5]
        assert [int(e["x"]) for e in base.map(parse, on_error=replace({"x": np.int64(-1)}))] == [0, 1, -1, 3, 4, 5]


def test_damaged_images_are_left_out_by_decode():
    pictures = [b"P5 2 2 255\n" + bytes([i] * 4) for i in range(4)]
    pictures[1] = b"no picture"
    for base in (Dataset.from_source(pictures), Dataset.from_source(pictures).filter(true)):
        for on_error in ("skip", skip(1)):
            made = base.map(ps.image.decode(), on_error=on_error)
            assert [int(image.max()) for image in made] == [0, 2, 3]
