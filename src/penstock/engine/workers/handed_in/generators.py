"""Global random generators in the workers of a pool: those of a forked process are copies of its parent's."""

from __future__ import annotations

import multiprocessing
import os
import sys
from functools import cache
from typing import Any

import numpy as np

from penstock.engine.workers.handed_in.pickled import SentPlan, plans_in_use


def seed_in_worker(plan: SentPlan) -> None:
    """Seed the global generators before the first task of a process that `multiprocessing` started.

    An executor that makes tasks in the process of the program itself leaves them as they are.
    """
    if multiprocessing.parent_process() is not None and not plans_in_use.is_own(plan.key):
        _seed(os.getpid())


@cache
def _seed(_process: int) -> None:
    """Seed the generators of NumPy and PyTorch anew; Python itself seeds that of `random` in each forked process."""
    np.random.seed()  # noqa: NPY002 - the one that functions of the user draw from
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.seed()
