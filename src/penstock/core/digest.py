"""Short digests of content."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import blake2b


def hasher(size: int = 16) -> blake2b:
    """Return a BLAKE2b state that digests to `size` bytes.

    >>> state = hasher(size=4)
    >>> state.update(b"abc")
    >>> len(state.hexdigest())
    8
    """
    from hashlib import blake2b  # loads OpenSSL, which only fingerprints need

    return blake2b(digest_size=size)


def digest(content: bytes, size: int = 16) -> str:
    """Return the digest of `content` as 2 · `size` hexadecimal digits."""
    state = hasher(size)
    state.update(content)
    return state.hexdigest()
