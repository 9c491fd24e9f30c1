"""Executors of other libraries pass the checks: Dask's, and MPI's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

import penstock as ps
from penstock.testing.executors import CHECKS

AS_ROOT = dict.fromkeys(("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"), "1")
PROGRAM = """
from mpi4py.futures import MPIPoolExecutor
from penstock.testing.executors import verify_executor
if __name__ == "__main__":
    with MPIPoolExecutor() as executor:
        verify_executor(executor)
    print("verified")
"""


@pytest.fixture(scope="module")
def dask_executor():
    distributed = pytest.importorskip("distributed")
    settings = {"n_workers": 1, "threads_per_worker": 2, "dashboard_address": None, "processes": True}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        yield client.get_executor(pure=False)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_executor_of_a_dask_client_passes_every_check(check, dask_executor):
    check(dask_executor)


@pytest.mark.skipif(shutil.which("mpiexec") is None, reason="there is no mpiexec here")
def test_a_pool_of_ranks_passes_every_check(tmp_path):
    pytest.importorskip("mpi4py")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, **AS_ROOT, "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    command = ["mpiexec", "-n", "2", sys.executable, "-m", "mpi4py.futures", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.stdout.strip() == "verified", done.stderr


def test_an_unknown_name_suggests_the_one_that_was_meant():
    with pytest.raises(AttributeError, match="ray"):
        ps.executors.rray  # noqa: B018 - that is the point
