"""A run: its stages, their feeds, their session, and the lowering of a plan into stages."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = [
    "ahead",
    "carry_over",
    "controls",
    "elsewhere",
    "failures",
    "feeds",
    "following",
    "host",
    "loop",
    "lowering",
    "moving",
    "replay",
    "room",
    "run",
    "session",
    "settings",
    "stage",
    "told",
]

if TYPE_CHECKING:
    from penstock.engine.runs import (
        ahead,
        carry_over,
        controls,
        elsewhere,
        failures,
        feeds,
        following,
        host,
        loop,
        lowering,
        moving,
        replay,
        room,
        run,
        session,
        settings,
        stage,
        told,
    )
else:
    __getattr__ = files_on_demand(__name__, __all__)
