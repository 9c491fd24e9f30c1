"""Executors of other libraries pass the checks: Dask's, and MPI's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec

import pytest

import penstock as ps

AS_ROOT = dict.fromkeys(("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"), "1")
MPI = """
from mpi4py.futures import MPIPoolExecutor
from penstock.testing.executors import verify_executor
if __name__ == "__main__":
    with MPIPoolExecutor() as executor:
        verify_executor(executor)
    print("verified")
"""
DASK = """
from distributed import Client, LocalCluster
from penstock.testing.executors import verify_executor
if __name__ == "__main__":
    settings = {"n_workers": 1, "threads_per_worker": 2, "dashboard_address": None}
    with LocalCluster(**settings) as cluster, Client(cluster) as client:
        verify_executor(client.get_executor(pure=False))
    print("verified")
"""


def verify(program, tmp_path, *before):
    path = tmp_path / "program.py"
    path.write_text(program)
    environment = {**os.environ, **AS_ROOT, "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    done = subprocess.run([*before, str(path)], capture_output=True, text=True, env=environment, check=False)
    assert done.stdout.strip() == "verified", done.stderr


def test_the_executor_of_a_dask_client_passes_every_check(tmp_path):
    if find_spec("distributed") is None:
        pytest.skip("Dask is not installed")
    verify(DASK, tmp_path, sys.executable)


@pytest.mark.skipif(shutil.which("mpiexec") is None, reason="there is no mpiexec here")
def test_a_pool_of_ranks_passes_every_check(tmp_path):
    if find_spec("mpi4py") is None:
        pytest.skip("mpi4py is not installed")
    verify(MPI, tmp_path, "mpiexec", "-n", "2", sys.executable, "-m", "mpi4py.futures")


def test_an_unknown_name_suggests_the_one_that_was_meant():
    with pytest.raises(AttributeError, match="ray"):
        ps.executors.rray  # noqa: B018 - that is the point
