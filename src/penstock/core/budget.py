"""The bytes that a run may hold at one time, and the part that each of its operations and windows holds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Literal, Self, TypeAlias

from penstock.core.errors import BudgetError

CACHE_SHARE = 2  # caches keep at most this part of a budget: windows and buffers need the rest
MUCH_IDLE = 8  # once nothing has room, no more than this part of a given budget is kept for the next batches
UNLIMITED = 1 << 62  # bytes

HolderKind: TypeAlias = Literal["ahead", "buffer", "cache"]
"""The holder: work *ahead* of the consumer, which shrinks; a *buffer* that the order needs; a *cache*, which stops."""

Told: TypeAlias = tuple[str, str]
"""The statement of what a buffer holds, and the advice how to hold less."""


class Budget:
    """The bytes that all parts of a run may hold together: `limit`, which the user may have `given`.

    Work ahead takes what the others leave (`Account.left`), but may always hold one item. Buffers cannot shrink: above
    the limit they raise a `BudgetError` if the limit was given, and are noted otherwise. Caches keep up to half of a
    given limit; a default limit does not count them, and `cache_limit` bounds them instead.
    """

    def __init__(self, limit: int, *, given: bool = True, cache_limit: int | None = None) -> None:
        self.limit = limit
        self.limit_ahead = limit
        """The bytes beyond which nothing is made ahead; the limit itself, unless it was changed meanwhile."""
        self.given = given
        self.cache_limit = limit // CACHE_SHARE if given or cache_limit is None else cache_limit
        self.notes: list[str] = []
        """The facts that the user should know, each once."""
        self.unsaid: list[str] = []
        """The notes that no warning has told yet."""
        self.short = 0
        """The number of times that work ahead found no room."""
        self.lock = threading.Lock()
        self.idle: Callable[[], int] = int
        """Returns the bytes that are kept for the next batches."""
        self.give_back: Callable[[], None] = lambda: None
        """Gives those bytes back to the system."""
        self.elsewhere: Callable[[], int] = int
        """Returns the bytes that worker processes hold beside their tasks, such as caches."""
        self.held = {"ahead": 0, "buffer": 0, "cache": 0}
        self.accounts: list[Account] = []  # open ones

    def account(self, name: str, kind: HolderKind = "ahead") -> Account:
        """Return a new account; its holder closes it."""
        account = Account(self, name, kind)
        with self.lock:
            self.accounts.append(account)
        return account

    @property
    def left(self) -> int:
        """The bytes that are neither held, here or by worker processes, nor kept for the next batches."""
        held = self.held
        counted = held["ahead"] + held["buffer"] + (held["cache"] if self.given else 0)
        return self.limit_ahead - counted - self.idle() - self.elsewhere()

    def make_room(self) -> None:
        """Note that work ahead found no room, and give back what is kept for the next batches if that is much."""
        self.short += 1
        if self.given and self.idle() > self.limit // MUCH_IDLE:
            self.give_back()

    def change(self, limit: int) -> None:
        """Let work ahead keep within a limit from now on; buffers and caches may hold what they could before."""
        self.limit_ahead, self.limit = limit, max(limit, self.limit)

    def note(self, text: str) -> None:
        """Note a fact, unless it was noted before."""
        with self.lock:
            if text not in self.notes:
                self.notes.append(text)
                self.unsaid.append(text)

    def said(self) -> list[str]:
        """Return the notes since the last call."""
        with self.lock:
            said, self.unsaid = self.unsaid, []
            return said


class Account:
    """The bytes that one holder takes of a budget; any thread may change them.

    >>> budget = Budget(100)
    >>> ahead, buffer = budget.account("batches"), budget.account("shuffle(10)", "buffer")
    >>> ahead.add(60)
    >>> buffer.hold(50, lambda: ("shuffle(10) holds 5 elements", "use a smaller buffer"))
    >>> budget.left
    -10
    >>> buffer.hold(101, lambda: ("shuffle(10) holds 10 elements", "use a smaller buffer"))
    Traceback (most recent call last):
    ...
    penstock.core.errors.BudgetError: shuffle(10) holds 10 elements, and Options(memory_budget=) allows 100 bytes; ...
    """

    __slots__ = ("budget", "grows", "kind", "least", "name", "nbytes", "noted", "peak")

    def __init__(self, budget: Budget, name: str, kind: HolderKind) -> None:
        self.budget = budget
        self.name = name
        self.kind: HolderKind = kind
        self.nbytes = 0
        self.peak = 0
        self.least = 0  # bytes for one item, which the others leave
        self.noted = False
        self.grows = kind == "buffer"  # what it holds has no limit of its own

    @property
    def left(self) -> int:
        """The bytes of the budget that nobody holds, without those that each of the others needs for an item."""
        budget = self.budget
        if not budget.given:
            return budget.left
        others = [max(each.least - each.nbytes, 0) for each in list(budget.accounts) if each is not self]
        return budget.left - sum(others)

    def add(self, nbytes: int) -> None:
        """Count more bytes, or fewer."""
        budget = self.budget
        with budget.lock:
            self.nbytes += nbytes
            budget.held[self.kind] += nbytes
            self.peak = max(self.peak, self.nbytes)

    def hold(self, nbytes: int, told: Callable[[], Told]) -> None:
        """Hold `nbytes` in a buffer that cannot shrink; raise a `BudgetError` if a given limit is too small.

        What caches and worker processes hold leaves half of the limit to buffers: a worker's process grows by some
        hundred KB of its own, which is not a reason to refuse a small buffer.
        """
        self.add(nbytes - self.nbytes)
        budget, held = self.budget, self.budget.held
        cached = held["cache"] if budget.given else 0
        elsewhere = budget.elsewhere()
        if held["buffer"] + min(cached + elsewhere, budget.limit // CACHE_SHARE) <= budget.limit:
            return
        others = held["buffer"] - self.nbytes
        beside = [f"other operations hold {others:,}"] * (others > 0) + [f"caches keep {cached:,}"] * (cached > 0)
        beside += [f"worker processes hold {elsewhere:,}"] * (elsewhere > 0)
        more = f" ({', '.join(beside)})" if beside else ""
        holds, advice = told()
        if budget.given:
            allowed = f"and Options(memory_budget=) allows {budget.limit:,} bytes{more}"
            raise BudgetError(f"{holds}, {allowed}; {advice}, or raise the budget")
        if not self.noted:
            self.noted = True
            budget.note(f"{holds}, more than the default budget of {budget.limit:,} bytes{more}; {advice}")

    @property
    def room(self) -> int:
        """The bytes that a cache may keep in addition."""
        budget, held = self.budget, self.budget.held
        room = budget.cache_limit - held["cache"]
        return min(room, budget.limit - held["cache"] - held["buffer"]) if budget.given else room

    def grow(self, nbytes: int) -> bool:
        """Let a cache keep more bytes; return whether it may."""
        budget, held = self.budget, self.budget.held
        with budget.lock:
            if nbytes > self.room:
                return False
            self.nbytes += nbytes
            self.peak = self.nbytes
            held["cache"] += nbytes
            return True

    def close(self) -> None:
        """Give all bytes back."""
        budget = self.budget
        with budget.lock:
            budget.held[self.kind] -= self.nbytes
            self.nbytes = 0
            if self in budget.accounts:
                budget.accounts.remove(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def unlimited(name: str = "", kind: HolderKind = "buffer") -> Account:
    """Return an account without a limit, for work outside of a run."""
    return Account(Budget(UNLIMITED, given=False), name, kind)
