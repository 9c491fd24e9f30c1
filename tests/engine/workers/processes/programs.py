"""Programs that run pipelines in interpreters of their own, and what they leave behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PATIENCE = 90  # seconds
TIME_TO_END = 20  # seconds that a process may take to end on a busy machine
SETUP = """
import os, signal, sys
import numpy as np
import penstock as ps
from penstock.engine.workers.processes.pool import pool_for
from penstock.engine.workers.processes.starting import PoolSetup
OPTIONS = ps.Options(executor="processes", workers=2)

def warm():
    pool = pool_for(PoolSetup(2), 1 << 26)
    pool.crew.begun.wait(60)
    return pool
"""


def run(program, *args, by="-c", stdin=None, **options):
    """Run a program after SETUP, and return the finished process."""
    command = [sys.executable, *args, by, *([SETUP + program] if by == "-c" else [])]
    given = SETUP + program if by == "-" else stdin
    return subprocess.run(
        command, input=given, capture_output=True, text=True, timeout=PATIENCE, check=False, **options
    )


def begin(program, **options):
    """Begin a program after SETUP, and return the process."""
    return subprocess.Popen(
        [sys.executable, "-c", SETUP + program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def is_alive(pid):
    """Return whether a process exists and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def await_end(pid):
    """Wait until a process has ended; return whether it has in time: in two seconds, on a machine that is not busy."""
    import select

    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], TIME_TO_END)[0])
    finally:
        os.close(descriptor)
