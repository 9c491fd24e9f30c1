"""The group of all ranks: publish a text, and receive those of all others within a time limit."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator
from contextlib import suppress
from typing import Any

from penstock.core.checks import check_local_path
from penstock.core.contexts import contextmanager
from penstock.core.errors import RankError
from penstock.core.surroundings import RankPlace, jax_processes
from penstock.dataset.ranks.launchers import place_here
from penstock.dataset.ranks.stores import FolderStore, JaxStore, RankStore, ThreadStore, TorchStore

SHORTEST_PAUSE = 5e-5  # seconds
LONGEST_PAUSE = 0.02
WAITED = "waited"
"""The key under which a rank that has waited in vain says so, since it is out of step with the others from then on."""


class RankGroup:
    """The ranks of a job, which exchange short texts through a store.

    A store cannot interleave with the collective operations of training, and each wait has a limit, in seconds.
    """

    def __init__(self, store: RankStore, rank: int, world: int, timeout: float) -> None:
        self.rank = rank
        self.world = world
        self._store = store
        self._timeout = timeout

    def __repr__(self) -> str:
        return f"<RankGroup: rank {self.rank} of {self.world}, {type(self._store).__name__}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _no_group, ()  # a copy in another process is another rank, or none

    def begin(self) -> Conversation:
        """Begin a conversation: the n-th that one rank begins is the n-th of every rank.

        Once a rank has waited in vain, the numbers of the ranks are no longer the same, and a `RankError` says so.
        """
        with self._reaching("at the start of a pass"):
            number = self._store.count(f"begun/{self.rank}")
            waited = self._store.peek([WAITED])
        if waited:
            raise RankError(
                f"the ranks are out of step, since {waited[0]}. Restart the job from the last checkpoint, which any "
                "number of ranks can load"
            )
        return Conversation(self, number)

    def exchange(self, key: str, text: str, doing: str) -> list[str]:
        """Publish a text, and return those of all ranks in their order; `doing` names the occasion in errors."""
        with self._reaching(doing):
            self._store.put(f"{key}/{self.rank}", text)
            return self._received(key, doing)

    @contextmanager
    def _reaching(self, doing: str) -> Generator[None]:
        """Turn an error of the store into a `RankError`."""
        try:
            yield
        except RankError:
            raise
        except RuntimeError as error:
            raise RankError(
                f"{doing}: rank {self.rank} of {self.world} cannot reach the others any more ({error}); the process "
                "that holds their store has probably ended"
            ) from error

    def _received(self, key: str, doing: str) -> list[str]:
        keys = [f"{key}/{rank}" for rank in range(self.world)]
        end, pause = time.monotonic() + self._timeout, SHORTEST_PAUSE
        while (texts := self._store.peek(keys)) is None:
            if time.monotonic() >= end:
                missing = ", ".join(str(rank) for rank, each in enumerate(keys) if self._store.peek([each]) is None)
                self._publish(WAITED, f"rank {self.rank} waited in vain for rank {missing} {doing}")
                raise RankError(
                    f"{doing}: rank {missing} of {self.world} did not answer within {self._timeout:g} s, "
                    "which shard_by_rank(timeout=) sets; it has ended, is late, or iterates another dataset. Restart "
                    "from the last checkpoint, which any number of ranks can load"
                )
            time.sleep(pause)  # stores offer no wait that an interrupt could end
            pause = min(2 * pause, LONGEST_PAUSE)
        return texts

    def publish(self, key: str, text: str) -> None:
        """Publish a text without waiting for any other, if the store can still be reached."""
        self._publish(f"{key}/{self.rank}", text)

    def _publish(self, key: str, text: str) -> None:
        with suppress(RuntimeError, OSError):
            self._store.put(key, text)

    def forget(self, key: str) -> None:
        """Remove this rank's text of an exchange that all ranks have completed."""
        with suppress(RuntimeError, OSError):
            self._store.drop(f"{key}/{self.rank}")


class Conversation:
    """Exchanges that follow one another, on all ranks alike."""

    def __init__(self, group: RankGroup, number: int) -> None:
        self.group = group
        self._number = number
        self._exchanges = 0

    def exchange(self, text: str, doing: str) -> list[str]:
        """Return the texts of all ranks in this exchange."""
        texts = self.group.exchange(self._key(self._exchanges), text, doing)
        self._exchanges += 1
        if self._exchanges > 1:  # whoever answered now has read all answers before
            self.group.forget(self._key(self._exchanges - 2))
        return texts

    def leave(self, text: str) -> None:
        """Publish the last text of this rank, without waiting for those of the others."""
        self.group.publish(self._key(self._exchanges), text)

    def _key(self, exchange: int) -> str:
        return f"{self._number}/{exchange}"


def group_here(given: Any, rank: int | None, world: int | None, timeout: float) -> tuple[RankPlace, RankGroup | None]:
    """Return the place of this rank and its group: `given`, or found; `None` if there is nothing to exchange by."""
    if given is None:
        if rank is not None and world is not None:
            return RankPlace(rank, world, "rank= and world="), None
        place = place_here()
        return place, _found(place, timeout)
    if isinstance(given, RankGroup):
        return _place_in(given.rank, given.world, rank, world), given
    if isinstance(given, str | os.PathLike):
        place = RankPlace(rank, world, "rank=") if rank is not None and world is not None else place_here()
        folder = check_local_path("shard_by_rank", "group", given)
        return place, RankGroup(FolderStore(folder), place.rank, place.world, timeout)
    if isinstance(given, ThreadStore):
        if rank is None or world is None:
            raise TypeError("shard_by_rank(group=): a store for threads needs rank= and world=")
        return RankPlace(rank, world, "rank="), RankGroup(given, rank, world, timeout)
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and isinstance(given, distributed.ProcessGroup):
        place = _place_in(distributed.get_rank(given), distributed.get_world_size(given), rank, world)
        members = distributed.get_process_group_ranks(given)
        return place, _torch_group(place, f"{'-'.join(map(str, members))}/", timeout)
    raise TypeError(
        f"shard_by_rank(group={given!r:.60}): expected a torch ProcessGroup, or the path of a folder that ranks share"
    )


def _place_in(rank: int, world: int, *given: int | None) -> RankPlace:
    """Return the place in a group that was passed; raise a `ValueError` if rank= and world= say otherwise."""
    if given not in {(None, None), (rank, world)}:
        raise ValueError(
            f"shard_by_rank(rank={given[0]}, world={given[1]}): this process is rank {rank} of {world} in the group "
            "that group= passes; leave out rank= and world="
        )
    return RankPlace(rank, world, "group=")


def _found(place: RankPlace, timeout: float) -> RankGroup | None:
    if place.world == 1:
        return None
    if place.source == "torch.distributed":
        return _torch_group(place, "", timeout)
    if place.source == "jax.distributed":
        return RankGroup(JaxStore(jax_processes().client), place.rank, place.world, timeout)
    return None


def _torch_group(place: RankPlace, prefix: str, timeout: float) -> RankGroup:
    store = sys.modules["torch.distributed.distributed_c10d"]._get_default_store()  # noqa: SLF001 - no public name
    return RankGroup(TorchStore(store, f"penstock/{prefix}"), place.rank, place.world, timeout)


def _no_group() -> None:
    return None
