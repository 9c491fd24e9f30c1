"""Compiles a limit of bench/limits/ for this machine, once for each version of its source."""

from __future__ import annotations

import ctypes
import hashlib
import subprocess
from collections.abc import Sequence

from bench.environments import ROOT


def library(name: str, libraries: Sequence[str] = ()) -> ctypes.CDLL:
    """Compile bench/limits/<name>.cc into bench/data/ if the source has changed, and load it."""
    source = ROOT / "bench" / "limits" / f"{name}.cc"
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    shared = ROOT / "bench" / "data" / f"{name}-{digest}.so"
    if not shared.exists():
        shared.parent.mkdir(exist_ok=True)
        flags = ["-O3", "-march=native", "-std=c++20", "-Wall", "-Wextra", "-shared", "-fPIC", "-pthread"]
        subprocess.run(["g++", *flags, "-o", f"{shared}.unfinished", source, *libraries], check=True)
        (shared.parent / f"{shared.name}.unfinished").rename(shared)
    return ctypes.CDLL(str(shared))
