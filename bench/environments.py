"""The environments of a comparison: peers run in their own under `.venvs/`, everything else in this one."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HERE = frozenset({"limit", "penstock"})  # sides that run in the benchmarks' own interpreter
PEERS = tuple(
    sorted(path.stem.removeprefix("requirements-") for path in Path(__file__).parent.glob("requirements-*.txt"))
)


def python_of(side: str, root: Path | None = None) -> Path | None:
    """Return the interpreter of `side`, or of another checkout at `root`; None when it is not installed."""
    if root is not None:
        python = root / ".venv" / "bin" / "python"
        return python if python.exists() else None
    if side in HERE:
        return Path(sys.executable)
    python = ROOT / ".venvs" / side / "bin" / "python"
    return python if (ROOT / ".venvs" / side / ".complete").exists() else None


def setup(sides: list[str]) -> None:
    """Make the environments of `sides` (all peers when empty); a failure is reported and not fatal."""
    unknown = sorted(set(sides) - set(PEERS))
    if unknown:
        raise SystemExit(f"unknown peers {', '.join(unknown)}; there are: {', '.join(PEERS)}")
    for side in sides or PEERS:
        print(f"{side}: installing from bench/requirements-{side}.txt into .venvs/{side}", flush=True)
        folder = ROOT / ".venvs" / side
        venv.create(folder, with_pip=True)
        requirements = ROOT / "bench" / f"requirements-{side}.txt"
        command = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "-r", requirements]
        if subprocess.run(command, check=False).returncode == 0:
            (folder / ".complete").touch()
        else:
            print(f"{side}: could not be installed; the tables will show the peer as missing", flush=True)
