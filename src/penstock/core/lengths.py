"""Numbers that represent lengths that cannot be counted."""

from __future__ import annotations

INFINITE = -1
"""The length of a source or a dataset that never ends."""
UNKNOWN = -2
"""The length of a dataset that is known only by iterating."""
