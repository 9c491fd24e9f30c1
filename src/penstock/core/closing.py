"""Objects that are closed at the end of a `with` block."""

from __future__ import annotations

from typing import Self


class Closing:
    """A context manager that closes itself at the end of its block."""

    def close(self) -> None:
        """Stop at once."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
