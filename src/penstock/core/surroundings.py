"""The place of this process among several, as far as PyTorch and JAX know it, and what it has in common with them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from typing import Any, Literal, NamedTuple

from penstock.core.contexts import contextmanager

FETCHER = "torch.utils.data._utils.fetch"
"""The module in which a DataLoader requests a row."""
ONLY_PROCESS = (0, 1)
"""The surroundings of a process that is not a worker of a DataLoader, and the only rank."""


class RankPlace(NamedTuple):
    """A rank, the number of ranks, and the source of both."""

    rank: int
    world: int
    source: str


class _Role:
    makes: Literal["tasks", "runs"] | None = None


def serve_another_process(making: Literal["tasks", "runs"]) -> None:
    """Note what this process makes for the one that began it: tasks, as a worker does, or whole runs."""
    _Role.makes = making


def serves_another_process() -> bool:
    """Return whether another process began this one to make something for it.

    >>> serves_another_process()
    False
    """
    return _Role.makes is not None


def is_worker_process() -> bool:
    """Return whether this process is a worker of `Options(executor="processes")`, which begins no workers of its own.

    >>> is_worker_process()
    False
    """
    return _Role.makes == "tasks"


class _Serving(threading.local):
    """The executors whose tasks this thread is running, the innermost last."""

    def __init__(self) -> None:
        self.executors: list[object] = []


_serving = _Serving()


@contextmanager
def serving(executor: object) -> Generator[None]:
    """Note that this thread runs a task of an executor, as long as this is entered."""
    _serving.executors.append(executor)
    try:
        yield
    finally:
        _serving.executors.pop()


def serves(executor: object) -> bool:
    """Return whether this thread is running a task of the executor, which may have no other thread left.

    >>> with serving("pool"):
    ...     serves("pool"), serves("other")
    (True, False)
    """
    return any(each is executor for each in _serving.executors)


def surroundings() -> tuple[int, int]:
    """Return the numbers of DataLoader workers (0 in any other process) and of ranks to which this process belongs.

    >>> surroundings() == ONLY_PROCESS
    True
    """
    worker, joined = torch_worker(), joined_ranks()
    return (0 if worker is None else worker.num_workers), (1 if joined is None else joined.world)


def versions() -> str:
    """Return the versions that must agree between processes that exchange plans and elements."""
    python = ".".join(map(str, sys.version_info[:2]))
    return f"Penstock {vars(sys.modules['penstock'])['__version__']} with Python {python}"


def torch_worker() -> Any:
    """Return the `WorkerInfo` of a DataLoader's worker process; `None` in any other process."""
    get_info = getattr(sys.modules.get("torch.utils.data"), "get_worker_info", None)
    return get_info() if get_info is not None else None


def torch_ranks() -> int:
    """Return the number of ranks with which `torch.distributed` was initialized; 1 if it was not."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return 1
    return distributed.get_world_size()


def joined_ranks() -> RankPlace | None:
    """Return the rank of this process in `torch.distributed` or JAX, if initialized with several processes."""
    if torch_ranks() > 1:
        return RankPlace(sys.modules["torch.distributed"].get_rank(), torch_ranks(), "torch.distributed")
    jax = jax_processes()
    if jax is not None and jax.num_processes > 1:
        return RankPlace(jax.process_id, jax.num_processes, "jax.distributed")
    return None


def jax_processes() -> Any:
    """Return JAX's distributed state if JAX is imported and initialized over processes, without starting a backend."""
    state = getattr(sys.modules.get("jax._src.distributed"), "global_state", None)
    return state if getattr(state, "client", None) is not None else None


def is_asked_by_pytorch() -> bool:
    """Return whether the caller of the calling function is in PyTorch's DataLoader or its samplers."""
    caller = sys._getframe(2)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - only the frame shows that
    return str(caller.f_globals.get("__name__")).startswith("torch.utils.data.")


def is_read_by_a_dataloader() -> bool:
    """Return whether the caller of the calling function is a DataLoader that requests a row."""
    caller = sys._getframe(2)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - only the frame shows that
    return caller.f_globals.get("__name__") == FETCHER
