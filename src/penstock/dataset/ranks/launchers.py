"""The rank of this process and the number of ranks, as an initialized framework or the launcher says."""

from __future__ import annotations

import os
from collections.abc import Mapping

from penstock.core.surroundings import RankPlace, joined_ranks

LAUNCHERS: tuple[tuple[str, str, str, str | None], ...] = (
    ("torchrun", "RANK", "WORLD_SIZE", None),
    ("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", None),
    ("MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", None),
    ("MPI", "PMI_RANK", "PMI_SIZE", None),
    ("Horovod", "HOROVOD_RANK", "HOROVOD_SIZE", None),
    ("LSF", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", None),
    ("SLURM", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_ID"),
)
"""Name, variables for the rank and the number of ranks, and a variable without which the others say nothing.

Shells of `salloc` and `sbatch` have SLURM's variables too, with one process: only `srun` sets a step.
"""


def place_here(environment: Mapping[str, str] | None = None) -> RankPlace:
    """Return the rank of this process: that of `torch.distributed` or JAX if initialized, else that of the launcher.

    Rank and number of ranks come from the same source. Without any source, this is the only rank.

    >>> place_here({"SLURM_PROCID": "2", "SLURM_NTASKS": "4", "SLURM_STEP_ID": "0"})
    RankPlace(rank=2, world=4, source='SLURM')
    >>> place_here({"SLURM_PROCID": "0", "SLURM_NTASKS": "4"})
    RankPlace(rank=0, world=1, source='no launcher')
    """
    if environment is None:
        if (joined := joined_ranks()) is not None:
            return joined
        environment = os.environ
    for source, rank, world, needed in LAUNCHERS:
        if needed is not None and needed not in environment:
            continue
        if rank in environment and world in environment:
            return _checked(source, rank, world, environment)
        if rank not in environment and environment.get(world, "1") != "1":
            raise ValueError(
                f"shard_by_rank(): {world}={environment[world]} is set, but {rank} is not; pass rank= and world="
            )
    return RankPlace(0, 1, "no launcher")


def _checked(source: str, rank: str, world: str, environment: Mapping[str, str]) -> RankPlace:
    try:
        found = RankPlace(int(environment[rank]), int(environment[world]), source)
    except ValueError:
        found = RankPlace(0, 0, source)
    if not 0 <= found.rank < found.world:
        raise ValueError(
            f"shard_by_rank(): {rank}={environment[rank]!r} and {world}={environment[world]!r} are not a valid rank "
            "and world size; pass rank= and world="
        )
    return found
