"""The rank of this process, from tables of environments."""

from __future__ import annotations

import pytest

from penstock.dataset.ranks.launchers import place_here

SRUN = {"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_STEP_ID": "0"}


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({}, (0, 1, "no launcher")),
        ({"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1"}, (3, 8, "torchrun")),
        ({"RANK": "5", "WORLD_SIZE": "8", **SRUN}, (5, 8, "torchrun")),  # torchrun inside one task of each node
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"}, (1, 4, "Open MPI")),
        ({"PMI_RANK": "0", "PMI_SIZE": "2"}, (0, 2, "MPI")),
        ({"HOROVOD_RANK": "1", "HOROVOD_SIZE": "2"}, (1, 2, "Horovod")),
        ({"JSM_NAMESPACE_RANK": "6", "JSM_NAMESPACE_SIZE": "12"}, (6, 12, "LSF")),
        (SRUN, (1, 2, "SLURM")),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, (0, 1, "no launcher")),  # the shell of salloc
        ({"WORLD_SIZE": "1"}, (0, 1, "no launcher")),
    ],
)
def test_the_rank_in_an_environment(environment, place):
    assert place_here(environment) == place


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"RANK": "2", "WORLD_SIZE": "2"}, "RANK='2' and WORLD_SIZE='2' are not a valid rank"),
        ({"RANK": "one", "WORLD_SIZE": "2"}, "RANK='one'"),
        ({"WORLD_SIZE": "4"}, "WORLD_SIZE=4 is set, but RANK is not"),
    ],
)
def test_an_environment_that_contradicts_itself(environment, message):
    with pytest.raises(ValueError, match=message):
        place_here(environment)
