"""A headless Chromium for tests of pages; tests are skipped where there is none."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
]
MOST_SECONDS = 90


def browse(page: Path, profile: Path, *asked: str) -> str:
    """Open a file in a browser of its own, with the profile in a new folder; return what it prints."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.skip("there is no Chromium here")
    command = [program, *FLAGS, f"--user-data-dir={profile}", *asked, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=MOST_SECONDS, check=True)
    return done.stdout


def document(page: Path, profile: Path) -> str:
    """Return the document that a browser makes of a page, once its scripts have run."""
    return browse(page, profile, "--virtual-time-budget=5000", "--dump-dom")
