"""One budget for all parts of a run: what is left, what may grow, and what is refused."""

from __future__ import annotations

import threading

import pytest

from penstock.core.budget import Budget, unlimited
from penstock.core.errors import BudgetError


def told():
    return "it holds 3 elements", "use a smaller buffer"


def test_all_accounts_share_what_is_left():
    budget = Budget(100)
    one, other = budget.account("one"), budget.account("other")
    one.add(30)
    other.add(20)
    assert one.left == other.left == budget.left == 50
    one.add(-10)
    other.close()
    assert (budget.left, one.nbytes, one.peak) == (80, 20, 30)


def test_memory_kept_for_later_batches_is_not_left():
    budget = Budget(100)
    budget.idle = lambda: 40
    assert budget.left == 60


@pytest.mark.parametrize(("given", "idle", "gives_back"), [(True, 20, 1), (True, 10, 0), (False, 20, 0)])
def test_much_memory_kept_for_later_batches_is_given_back_under_a_given_limit(given, idle, gives_back):
    budget, asked = Budget(100, given=given), []
    budget.idle, budget.give_back = lambda: idle, lambda: asked.append(True)
    budget.make_room()
    assert len(asked) == gives_back


def test_a_closed_account_is_no_longer_listed():
    budget = Budget(100)
    with budget.account("one") as account:
        account.add(7)
        assert budget.accounts == [account]
    assert (budget.accounts, budget.left) == ([], 100)
    account.close()
    assert budget.left == 100


def test_a_buffer_that_exceeds_a_given_limit_is_an_error_that_names_all_holders():
    budget = Budget(1000)
    budget.account("cache", "cache").grow(400)
    budget.account("window").add(900)  # work ahead shrinks
    first, second = budget.account("first", "buffer"), budget.account("second", "buffer")
    first.hold(300, told)
    second.hold(300, told)
    with pytest.raises(BudgetError) as raised:
        second.hold(301, told)
    assert str(raised.value) == (
        "it holds 3 elements, and Options(memory_budget=) allows 1,000 bytes (other operations hold 300, caches keep "
        "400); use a smaller buffer, or raise the budget"
    )


def test_a_buffer_that_exceeds_a_default_limit_is_noted_once():
    budget = Budget(1000, given=False)
    buffer = budget.account("shuffle", "buffer")
    buffer.hold(1000, told)
    assert budget.said() == []
    for nbytes in (1001, 2000):
        buffer.hold(nbytes, told)
    note = "it holds 3 elements, more than the default budget of 1,000 bytes; use a smaller buffer"
    assert (budget.said(), budget.said(), budget.notes) == ([note], [], [note])


def test_caches_keep_half_of_a_given_limit():
    budget = Budget(100)
    one, other = budget.account("one", "cache"), budget.account("other", "cache")
    assert one.grow(30)
    assert not other.grow(21)
    assert other.grow(20)
    assert (budget.left, one.nbytes, other.nbytes) == (50, 30, 20)


def test_caches_leave_to_buffers_what_these_hold():
    budget = Budget(100)
    budget.account("buffer", "buffer").hold(80, told)
    cache = budget.account("cache", "cache")
    assert not cache.grow(21)
    assert cache.grow(20)


def test_what_worker_processes_hold_leaves_half_of_the_limit_to_buffers_and_nothing_to_work_ahead():
    budget = Budget(1000)
    budget.elsewhere = lambda: 1200
    buffer = budget.account("shuffle(10)", "buffer")
    buffer.hold(500, told)
    assert budget.left < 0
    with pytest.raises(BudgetError, match="worker processes hold 1,200"):
        buffer.hold(501, told)
    budget.elsewhere = lambda: 300
    buffer.hold(700, told)
    with pytest.raises(BudgetError, match="worker processes hold 300"):
        buffer.hold(701, told)


def test_a_default_limit_does_not_count_caches_which_have_their_own():
    budget = Budget(100, given=False, cache_limit=500)
    cache = budget.account("cache", "cache")
    assert cache.grow(500)
    assert not cache.grow(1)
    assert budget.left == 100
    budget.account("buffer", "buffer").hold(100, told)
    assert budget.notes == []


def test_threads_count_together():
    budget = Budget(1 << 40)
    account = budget.account("window")

    def count():
        for _ in range(2000):
            account.add(3)
            account.add(-2)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert account.nbytes == budget.held["ahead"] == 8000


def test_a_limit_that_is_changed_bounds_work_ahead_and_never_fails_what_may_be_held():
    budget = Budget(100)
    buffer = budget.account("shuffle(10)", "buffer")
    budget.change(20)
    buffer.hold(90, told)
    assert (budget.left, budget.limit, budget.limit_ahead) == (-70, 100, 20)
    budget.change(200)
    buffer.hold(150, told)
    assert (budget.left, budget.limit) == (50, 200)


def test_outside_of_a_run_there_is_no_limit():
    unlimited().hold(1 << 61, told)
