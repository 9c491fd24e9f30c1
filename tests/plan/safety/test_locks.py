from __future__ import annotations

import gc
import os
import pickle
import threading

import pytest

from penstock.plan.safety.locks import LockSet, held_here, is_in_turn, lock_of, seen_of


class Thing:
    """Something that may be shared."""


def test_an_object_has_one_lock_for_as_long_as_it_is_used():
    thing = Thing()
    turns = LockSet([thing])
    turns.note("changes `x`")
    assert lock_of(thing) is lock_of(thing)
    assert seen_of(thing) == "changes `x`"
    del turns
    gc.collect()
    assert seen_of(thing) == ""


def test_a_lock_admits_one_thread_at_a_time_and_is_reentrant():
    things = [Thing(), Thing()]
    one, other, inside, most = LockSet(things), LockSet(reversed(things)), [], []

    def work(turns):
        for _ in range(200):
            with turns, turns:
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work, args=(turns,)) for turns in (one, other, one, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert set(most) == {1}


def test_the_time_in_turns_is_counted_for_the_thread():
    before = held_here()
    assert not is_in_turn()
    with LockSet([Thing()]):
        assert is_in_turn()
    assert not is_in_turn()
    assert held_here().alone > before.alone


def test_another_process_has_other_locks():
    turns = pickle.loads(pickle.dumps(LockSet([[1, 2]])))
    with turns:
        assert is_in_turn()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_does_not_wait_for_threads_of_its_parent():
    turns, held, go = LockSet([Thing()]), threading.Event(), threading.Event()

    def hold():
        with turns:
            held.set()
            go.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(60)
    child = os.fork()
    if child == 0:
        with turns:
            os._exit(7)
    go.set()
    thread.join(60)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
