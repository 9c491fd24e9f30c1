"""Pickled plans, which travel to workers without shared memory: kept on each host by the executor, if it can do that.

Otherwise a small one travels with each task, and a large one lies in a file.
"""

from __future__ import annotations

import os
import weakref
from contextlib import suppress
from functools import partial
from hashlib import sha256
from itertools import count
from typing import Any, NamedTuple, TypeVar

from penstock.core.errors import WorkerError
from penstock.core.surroundings import versions
from penstock.engine.tasks.observer import Observer
from penstock.executors.protocol import KeptOnce
from penstock.plan.graph import same_plan
from penstock.transport.dumped_plan import Rebuildable, dumped_plan
from penstock.transport.program_state import program_state

T = TypeVar("T")
LARGEST_CARRIED = 1 << 16  # bytes of a pickled plan that may travel with every task
OWNER, KEY = 8, 16  # bytes: a key begins with those of the process that made the plan
MOST_TOLD = 256  # keys that travel with each task
MOST_PICKLED = 64  # plans of a dataset; virtual streams have many that differ in a seed


class PlansInUse:
    """The keys of the plans of this process that some dataset still has."""

    def __init__(self) -> None:
        self._process = 0
        self._owner = b""
        self._numbers = count()
        self._keys: dict[bytes, None] = {}  # changed by finalizers in any thread, therefore without a lock

    def new_key(self) -> bytes:
        """Return a key that no other plan has, of any process."""
        if self._process != os.getpid():  # in a forked child too
            self._process, self._owner = os.getpid(), os.urandom(OWNER)
        key = self._owner + next(self._numbers).to_bytes(KEY - OWNER, "little")
        self._keys[key] = None
        return key

    def is_own(self, key: bytes) -> bool:
        """Return whether this very process, not the one it was forked from, made the plan with a key."""
        return self._process == os.getpid() and key[:OWNER] == self._owner

    def let_go(self, key: bytes) -> None:
        """Note that no dataset has the plan any longer."""
        self._keys.pop(key, None)

    def told(self) -> bytes:
        """Return all keys one after another; none of too many, which says nothing."""
        keys = list(self._keys)
        return b"".join(keys) if len(keys) <= MOST_TOLD else b""


plans_in_use = PlansInUse()
"""The keys of the plans of this process."""


class SentPlan(NamedTuple):
    """A pickled work as it travels with each task: its bytes, or where a worker finds them.

    That is the file at a `path`, which holds them after the `key` that no other plan has, or what an executor that
    carries bytes to its hosts by itself has `kept`. The task also tells which plans of the program are `in_use`, and
    the bytes that the caches of all plans may keep in the worker.
    """

    data: bytes | None
    key: bytes
    path: str
    kept: Any
    in_use: bytes
    cache_bytes: int
    made_by: str

    def check_versions(self) -> None:
        """Raise a `WorkerError` if this process has other versions of Penstock or Python than the one that sent it."""
        if (here := versions()) != self.made_by:
            raise WorkerError(
                f"a worker has {here}, and the program has {self.made_by}: install the same versions on every host"
            )

    def load(self) -> Any:
        """Return the unpickled object."""
        import cloudpickle

        if self.data is not None:
            return cloudpickle.loads(self.data)
        if self.kept is not None:
            return cloudpickle.loads(self.kept.load())
        try:
            with open(self.path, "rb") as file:
                if file.read(len(self.key)) == self.key:
                    return cloudpickle.load(file)
        except OSError as error:
            raise OtherHostError from error
        raise OtherHostError  # a process of the same number


class PickledPlan:
    """A pickled work for the tasks of an executor, which may carry its bytes to each host once.

    With other executors, small bytes travel with each task, and large ones are in a file. The file has no name in any
    folder: others open it through the process that made it, and it vanishes with that process, however it ends. Where
    the system has no `/proc`, the file has a name until `remove`. The plan is removed once no dataset has it.
    """

    def __init__(self, data: bytes, work: Rebuildable, observer: Observer) -> None:
        self.digest = sha256(data).digest()
        self.key = plans_in_use.new_key()
        self.cache_bytes = 0
        self.file: Any = None
        self.path = ""
        if len(data) > LARGEST_CARRIED:
            self.file, self.path = _in_file(self.key + data)
        self._data = data if self.file is None else None
        self._of = type(work), work.plan, work.numbered_from, type(observer)
        self._kept: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()  # by executor
        self.remove = weakref.finalize(self, _let_go, self.key, self.file, os.getpid())
        """Lets the workers forget the plan, and deletes its file, if any."""

    def to(self, executor: object = None) -> SentPlan:
        """Return the plan as it travels to the workers of an executor."""
        data, kept = self._data, None
        if isinstance(executor, KeptOnce):
            data, kept = None, self._kept.get(executor)
            if kept is None:
                kept = self._kept[executor] = executor.keep(self._bytes())
        return SentPlan(data, self.key, self.path, kept, plans_in_use.told(), self.cache_bytes, versions())

    def release(self) -> None:
        """Let executors forget the bytes at the end of a run: a host that keeps them may not count as idle."""
        self._kept.clear()

    def is_of(self, work: Rebuildable, observer: Observer) -> bool:
        """Return whether this is the plan of such a work, with the values that its functions read at some time."""
        kind, plan, number, observed = self._of
        is_alike = (kind, number, observed) == (type(work), work.numbered_from, type(observer))
        return is_alike and same_plan(plan, work.plan)

    def leave_host(self) -> None:
        """Send the bytes with each task from now on, since a worker runs on another host."""
        if self.file is not None and not self.file.closed:
            self._data = self._bytes()

    def _bytes(self) -> bytes:
        if self._data is not None:
            return self._data
        return os.pread(self.file.fileno(), os.fstat(self.file.fileno()).st_size, len(self.key))


class OtherHostError(Exception):
    """The file at its path is not that of the plan: this worker runs on another host."""


def pickled_plan(work: Rebuildable, observer: Observer, known: list[PickledPlan] | None = None) -> PickledPlan:
    """Pickle the plan of a work for an executor; return one of the `known` plans if its bytes are the same.

    A known plan of the same work with other bytes is let go: values that its functions read have changed. The last
    `MOST_PICKLED` are kept.
    """
    data = dumped_plan(work, observer, program_state(work.plan), lambda value, dumps: dumps(value))
    digest, known = sha256(data).digest(), [] if known is None else known
    if (found := next((each for each in known if each.digest == digest), None)) is not None:
        return found
    for each in [plan for plan in known if plan.is_of(work, observer)]:
        known.remove(each)
    made = PickledPlan(data, work, observer)
    known.append(made)
    del known[:-MOST_PICKLED]
    return made


def _in_file(data: bytes) -> tuple[Any, str]:
    """Return an open file that holds the data, and the path by which workers open it."""
    import tempfile

    has_proc = os.path.isdir("/proc/self/fd")
    make: Any = tempfile.TemporaryFile if has_proc else partial(tempfile.NamedTemporaryFile, delete=False)
    file = make()  # open until no dataset has the plan
    file.write(data)
    file.flush()
    return file, f"/proc/{os.getpid()}/fd/{file.fileno()}" if has_proc else file.name


def _let_go(key: bytes, file: Any, process: int) -> None:
    """Let the workers forget a plan, and close its file; a forked child leaves both to its parent."""
    if file is not None:
        file.close()
    if process != os.getpid():
        return
    plans_in_use.let_go(key)
    if file is not None and isinstance(file.name, str):
        with suppress(FileNotFoundError):
            os.unlink(file.name)
