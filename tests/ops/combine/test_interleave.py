from __future__ import annotations

import json
import sys

import pytest

import penstock as ps
from penstock.testing.laws import verify_determinism, verify_resume

Dataset = ps.Dataset


def repeated(n):
    return Dataset.from_tensors(n).repeat(6)


def some(n):
    return Dataset.range(int(n) * 10, int(n) * 10 + int(n) % 4)


def test_the_order_is_that_of_tf_data():
    ds = Dataset.range(1, 6).interleave(repeated, cycle_length=2, block_length=4)
    assert "".join(str(int(x)) for x in ds) == "111122221122333344443344555555"


@pytest.mark.parametrize(("cycle", "block"), [(1, 2), (2, 1), (2, 5), (3, 2), (3, 5), (20, 1), (20, 5)])
def test_every_element_comes_once_and_resumes_exactly(cycle, block):
    ds = Dataset.range(12).interleave(some, cycle_length=cycle, block_length=block)
    assert sorted(map(int, ds)) == [n * 10 + i for n in range(12) for i in range(n % 4)]
    verify_resume(ds, most=20)
    verify_determinism(ds)


def test_a_cycle_of_one_is_flat_map():
    one = Dataset.range(9).interleave(some, cycle_length=1)
    assert [int(x) for x in one] == [int(x) for x in Dataset.range(9).flat_map(some)]


def test_datasets_are_read_by_workers_in_the_same_order():
    ds = Dataset.range(12).interleave(some, cycle_length=3, block_length=2, num_parallel_calls=2, deterministic=False)
    plain = Dataset.range(12).interleave(some, cycle_length=3, block_length=2)
    assert [int(x) for x in ds] == [int(x) for x in plain]


def test_endless_inputs_alternate_forever():
    ds = Dataset.counter().interleave(lambda n: Dataset.from_tensors(n).repeat(), cycle_length=3)
    assert [int(x) for x in ds.take(7)] == [0, 1, 2, 0, 1, 2, 0]
    assert ds.cardinality() == ps.INFINITE
    assert Dataset.range(3).interleave(some).cardinality() == ps.UNKNOWN


@pytest.mark.parametrize(
    "wrong", [{"cycle_length": 0}, {"block_length": 0}, {"cycle_length": 2, "num_parallel_calls": 3}]
)
def test_invalid_counts_are_refused(wrong):
    with pytest.raises(ValueError, match="interleave"):
        Dataset.range(3).interleave(some, **wrong)


def instructions(run):
    """Return the number of bytecode instructions of Penstock that a call of `run` takes, equal on every machine."""
    count = 0

    def trace(frame, event, arg):
        nonlocal count
        if "penstock" not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


INLINE = ps.Options(executor="inline", rewrite=False)


@pytest.mark.parametrize(
    ("inner", "block"),
    [
        (lambda x: [x] * 3, 1),
        (lambda x: [x] * (int(x) % 4), 1),
        (lambda x: [x] * (int(x) % 4), 2),
        (lambda x: iter([x, x]), 2),
    ],
    ids=["even", "uneven", "uneven blocks", "iterators"],
)
def test_the_work_grows_with_the_elements_and_not_with_the_square_of_the_slots(inner, block):
    def run(cycle, count):
        ds = Dataset.range(count).interleave(inner, cycle_length=cycle, block_length=block).with_options(INLINE)
        return instructions(lambda: list(ds))

    run(8, 8)
    small, large = run(25, 50), run(200, 400)
    assert large < 7.2 * small  # one more instruction of Python for each open slot makes it 7.5 to 9


def test_empty_slots_cost_little():
    def run(cycle):
        ds = Dataset.range(5).interleave(lambda x: [x] * 5, cycle_length=cycle).with_options(INLINE)
        return instructions(lambda: list(ds))

    run(8)
    assert run(10_000) < 1.5 * run(30)


def test_the_state_of_many_open_slots_is_small_and_exact():
    ds = Dataset.range(1000).interleave(lambda x: [x] * (int(x) % 5), cycle_length=800)
    it = ds.iterator()
    for _ in range(1441):
        next(it)
    state = json.dumps(it.state_dict())
    assert len(state) < 4 * 800
    again = ds.iterator()
    again.load_state_dict(json.loads(state))
    assert list(again) == list(it)


def test_states_before_and_after_the_end_of_the_input_resume_exactly():
    for cycle, count in ((3, 0), (3, 4), (4, 1), (4, 4), (4, 5), (30, 1), (30, 5)):
        ds = Dataset.range(count).interleave(some, cycle_length=cycle, block_length=2)
        verify_resume(ds.with_options(INLINE))
        verify_resume(ds.map(lambda x: x).filter(lambda x: True).interleave(lambda x: [x, x], cycle_length=2))


def test_a_mark_with_more_slots_than_there_are_is_refused():
    few, many = (Dataset.range(9).interleave(lambda x: [x] * 9, cycle_length=cycle) for cycle in (2, 5))
    it = many.iterator()
    for _ in range(7):
        next(it)
    shorter = few.iterator()
    next(shorter)
    other = few.iterator()
    other.load_state_dict(shorter.state_dict() | {"mark": it.state_dict()["mark"]})
    with pytest.raises(ps.errors.CursorError, match=r"instead of the slots of interleave.*cycle_length=2\)"):
        list(other)
