"""Counts of one thread are not those of another."""

import threading

from penstock.plan.outcomes import outcomes_here


def test_each_thread_counts_what_failed_in_it():
    before, there = outcomes_here.failed, []

    def work():
        outcomes_here.failed += 3
        there.append(outcomes_here.failed)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert (there, outcomes_here.failed) == ([3], before)
