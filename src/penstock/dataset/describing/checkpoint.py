"""The file from which an interrupted description continues: a position and the tallies up to it."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

from penstock.core.errors import CursorError
from penstock.dataset.describing.outline import Tallies

CHECKPOINT_VERSION = 2
PART_SUFFIX = ".part"


class Saved(NamedTuple):
    """A saved position, and the tallies of the elements before it."""

    position: dict[str, Any]
    tallies: Tallies


def load_checkpoint(path: str) -> Saved | None:
    """Return what was saved, or `None` if there is no file; raise a `CursorError` if it is not a checkpoint."""
    try:
        with open(path, encoding="utf-8") as file:
            fields = json.load(file)
        if fields["version"] != CHECKPOINT_VERSION or fields["what"] != "penstock describe":
            raise KeyError("version")
        return Saved(fields["position"], Tallies.of_state(fields["tallies"]))
    except FileNotFoundError:
        return None
    except (KeyError, TypeError, ValueError) as error:
        raise CursorError(
            f"describe(checkpoint={path!r}): the file is not a checkpoint of this version of Penstock; remove it, or "
            "pass another path"
        ) from error


def save_checkpoint(path: str, saved: Saved) -> None:
    """Write a checkpoint, which replaces the one before at once."""
    fields = {
        "what": "penstock describe",
        "version": CHECKPOINT_VERSION,
        "position": saved.position,
        "tallies": saved.tallies.state(),
    }
    with open(path + PART_SUFFIX, "w", encoding="utf-8") as file:
        json.dump(fields, file)
    os.replace(path + PART_SUFFIX, path)


def remove_checkpoint(path: str) -> None:
    """Remove a checkpoint, if it exists."""
    for name in (path, path + PART_SUFFIX):
        if os.path.exists(name):
            os.remove(name)
