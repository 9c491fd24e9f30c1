"""Compiles a limit of bench/limits/ for this machine, once for each version of its source."""

from __future__ import annotations

import ctypes
import hashlib
import subprocess
from collections.abc import Sequence

from bench.environments import ROOT


def library(name: str, libraries: Sequence[str] = (), kernels: Sequence[str] = ()) -> ctypes.CDLL:
    """Compile bench/limits/<name>.cc, with some of Penstock's kernels, into bench/data/ if a source changed."""
    native = ROOT / "native"
    sources = [ROOT / "bench" / "limits" / f"{name}.cc", *(native / "kernels" / f"{each}.cc" for each in kernels)]
    headers = sorted((native / "kernels").glob("*.h")) if kernels else []
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in [*sources, *headers])).hexdigest()[:12]
    shared = ROOT / "bench" / "data" / f"{name}-{digest}.so"
    if not shared.exists():
        shared.parent.mkdir(exist_ok=True)
        flags = [
            "-O3",
            "-march=native",
            "-std=c++20",
            "-Wall",
            "-Wextra",
            "-shared",
            "-fPIC",
            "-pthread",
            f"-I{native}",
        ]
        subprocess.run(["g++", *flags, f"-I{native}", "-o", f"{shared}.unfinished", *sources, *libraries], check=True)
        (shared.parent / f"{shared.name}.unfinished").rename(shared)
    return ctypes.CDLL(str(shared))
