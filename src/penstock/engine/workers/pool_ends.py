"""The ends of pools of processes: the pool itself may not tell the runs whose calls it fails to make."""

from __future__ import annotations

import threading
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from typing import Any, Protocol
from weakref import WeakKeyDictionary, WeakSet, ref


class PoolUser(Protocol):
    """A run with calls in pools."""

    def recover(self, pool: ProcessPoolExecutor) -> None:
        """Make the calls again that a broken pool has not failed."""
        ...


class PoolEnds:
    """Watcher of pools, which tells their clients when one has broken.

    A pool fails its calls in a thread of its own, without a lock. That thread ends early if a call was canceled that
    it is about to fail, or if somebody adds one meanwhile: the calls of other runs then never end, and neither do the
    workers that are left.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clients: WeakKeyDictionary[ProcessPoolExecutor, WeakSet[Any]] = WeakKeyDictionary()

    def watch(self, pool: ProcessPoolExecutor, client: PoolUser) -> None:
        """Tell a client when a pool, to which it has submitted a call, has broken."""
        with self._lock:
            clients = self._clients.get(pool)
            if clients is not None:
                clients.add(client)
                return
            self._clients[pool] = clients = WeakSet([client])
        fails_calls = vars(pool)["_executor_manager_thread"]
        thread = threading.Thread(
            target=self._await_end, args=[fails_calls, ref(pool), clients], name="penstock-pool-end", daemon=True
        )
        with suppress(RuntimeError):  # at the end of the interpreter
            thread.start()

    def _await_end(
        self, fails_calls: threading.Thread | None, of: ref[ProcessPoolExecutor], clients: WeakSet[Any]
    ) -> None:
        if fails_calls is not None:
            fails_calls.join()
        pool = of()
        if pool is None or not vars(pool)["_broken"]:
            return
        end_workers(pool)
        with self._lock:
            told = list(clients)
        for client in told:
            client.recover(pool)


def end_workers(pool: Any) -> None:
    """End the workers of a broken pool that it may leave alive, such as one that it was starting meanwhile."""
    for each in list((getattr(pool, "_processes", None) or {}).values()):
        each.terminate()


pool_ends = PoolEnds()
"""The watcher of this process."""
