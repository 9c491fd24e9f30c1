"""Pickled plans, which travel to workers without shared memory: a small one with each task, a large one in a file."""

from __future__ import annotations

import os
import weakref
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from itertools import count
from typing import Any, TypeVar

from penstock.core.errors import WorkerError
from penstock.core.surroundings import versions
from penstock.engine.tasks.observer import Observer
from penstock.engine.tasks.works import Rebuildable
from penstock.engine.transport.dumped_plan import dumped_plan
from penstock.engine.transport.program_state import program_state
from penstock.executors.protocol import KeptOnce
from penstock.plan.graph import same_plan
from penstock.plan.node import Node

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

    def let_go(self, key: bytes) -> None:
        """Note that no dataset has the plan any longer."""
        self._keys.pop(key, None)

    def told(self) -> bytes:
        """Return all keys one after another; none of too many, which says nothing."""
        keys = list(self._keys)
        return b"".join(keys) if len(keys) <= MOST_TOLD else b""


plans_in_use = PlansInUse()
"""The keys of the plans of this process."""


@dataclass(eq=False)
class PickledPlan:
    """A pickled work: its bytes, or the path of the file that holds them after the `key`, which no other plan has.

    The file has no name in any folder: others open it through the process that made it, and it vanishes with that
    process, however it ends. Where the system has no `/proc`, the file has a name until `remove`. An executor that
    carries bytes to its hosts by itself has `kept` them instead.

    Each task tells a worker which plans of this process are `in_use`, and the bytes that the caches of all plans there
    may keep. The plan is removed once no dataset has it.
    """

    data: bytes | None
    path: str = ""
    key: bytes = b""
    in_use: bytes = b""
    cache_bytes: int = 0
    kept: Any = field(default=None, repr=False)
    made_by: str = field(default_factory=versions, repr=False)
    file: Any = field(default=None, repr=False)
    digest: bytes = field(default=b"", repr=False)
    of: tuple[type, Node, int, type] | None = field(default=None, repr=False)
    finalizer: Any = field(default=None, repr=False)
    routes: weakref.WeakKeyDictionary[Any, PickledPlan] = field(default_factory=weakref.WeakKeyDictionary, repr=False)
    abroad: list[PickledPlan] = field(default_factory=list, repr=False)

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

    def to(self, executor: object) -> PickledPlan:
        """Return the same plan as it travels to the workers of an executor."""
        found = self
        if self.file is not None and self.abroad:
            found = self.abroad[0]
        elif self.file is not None and isinstance(executor, KeptOnce):
            if executor not in self.routes:
                self.routes[executor] = replace(self, file=None, kept=executor.keep(self._bytes()))
            found = self.routes[executor]
        found.cache_bytes = self.cache_bytes
        return found

    def is_of(self, work: Rebuildable, observer: Observer) -> bool:
        """Return whether this is the plan of such a work, with the values that its functions read at some time."""
        if self.of is None:
            return False
        kind, plan, number, observed = self.of
        is_alike = (kind, number, observed) == (type(work), work.numbered_from, type(observer))
        return is_alike and same_plan(plan, work.plan)

    def remove(self) -> None:
        """Let the workers forget the plan, and delete its file, if any."""
        if self.finalizer is not None:
            self.finalizer()

    def leave_host(self) -> None:
        """Send the bytes with each task from now on, since a worker runs on another host."""
        if self.file is not None and not self.file.closed:
            self.abroad.append(replace(self, file=None, data=self._bytes()))

    def _bytes(self) -> bytes:
        return os.pread(self.file.fileno(), os.fstat(self.file.fileno()).st_size, len(self.key))

    def __reduce__(self) -> Any:
        told = plans_in_use.told()
        return PickledPlan, (self.data, self.path, self.key, told, self.cache_bytes, self.kept, self.made_by)


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
    key = plans_in_use.new_key()
    made = PickledPlan(data, key=key) if len(data) <= LARGEST_CARRIED else _in_file(data, key)
    made.digest, made.of = digest, (type(work), work.plan, work.numbered_from, type(observer))
    made.finalizer = weakref.finalize(made, _let_go, key, made.file, os.getpid())
    known.append(made)
    del known[:-MOST_PICKLED]
    return made


def _in_file(data: bytes, key: bytes) -> PickledPlan:
    import tempfile

    has_proc = os.path.isdir("/proc/self/fd")
    make: Any = tempfile.TemporaryFile if has_proc else partial(tempfile.NamedTemporaryFile, delete=False)
    file = make()  # open until no dataset has the plan
    file.write(key + data)
    file.flush()
    path = f"/proc/{os.getpid()}/fd/{file.fileno()}" if has_proc else file.name
    return PickledPlan(None, path, key, file=file)


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
