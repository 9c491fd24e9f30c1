"""The other process of the demo, which continues from a saved cursor and prints the batches it received.

`python -m penstock.cli.demo.resuming FOLDER CURSOR WORKERS` prints one digest per batch, as JSON.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from penstock.cli.demo.digits import pipelines


def batch_digest(batch: dict[str, Any]) -> str:
    """Return a digest of twelve digits of all bytes, shapes and dtypes of a batch."""
    hashed = hashlib.blake2b(digest_size=6)
    for key, array in sorted(batch.items()):
        hashed.update(f"{key} {array.dtype} {array.shape}".encode())
        hashed.update(array.tobytes())
    return hashed.hexdigest()


def resumed_elsewhere(folder: Path, cursor: Path, workers: int) -> list[str]:
    """Start a new process that resumes from the cursor with the given workers; return its batches' digests."""
    command = [sys.executable, "-m", "penstock.cli.demo.resuming", str(folder), str(cursor), str(workers)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own module
    if done.returncode:
        raise RuntimeError(f"the process that resumes failed:\n{done.stderr}")
    return json.loads(done.stdout)


def remaining(folder: Path, cursor: Path, workers: int) -> list[str]:
    """Resume here; return the digests of the remaining batches of the epoch."""
    with pipelines(folder, workers=workers).training.iterator() as batches:
        batches.load_state_dict(json.loads(cursor.read_text()))
        return [batch_digest(batch) for batch in batches]


if __name__ == "__main__":
    print(json.dumps(remaining(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))))
