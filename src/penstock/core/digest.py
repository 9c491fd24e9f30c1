"""Short digests of content."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from hashlib import blake2b

_WHOLE = 64 << 20  # bytes; a larger array counts by BLOCKS blocks of 64 KiB
_BLOCKS = 1024


def hasher(size: int = 16) -> blake2b:
    """Return a BLAKE2b state that digests to `size` bytes.

    >>> state = hasher(size=4)
    >>> state.update(b"abc")
    >>> len(state.hexdigest())
    8
    """
    return _blake2b()(digest_size=size)


def digest(content: bytes, size: int = 16) -> str:
    """Return the digest of `content` as 2 · `size` hexadecimal digits."""
    state = hasher(size)
    state.update(content)
    return state.hexdigest()


def digest_array(array: NDArray[Any]) -> str:
    """Return 128 bits of BLAKE2b over up to 64 MiB of content; of larger arrays, over 1,024 evenly spaced blocks."""
    state = hasher()
    if array.dtype.hasobject:
        state.update(repr(array.shape).encode())
    elif array.nbytes <= _WHOLE:
        state.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    else:
        block = max(_WHOLE // _BLOCKS // array.itemsize, 1)  # in items, counted in C order whatever the layout
        for start in np.unique(np.linspace(0, array.size - block, _BLOCKS).astype(np.int64)).tolist():
            state.update(np.asarray(array.flat[start : start + block]).view(np.uint8).data)
    return state.hexdigest()


def hashed(value: str | bytes | int, seed: int) -> int:
    """Return a 64-bit BLAKE2b digest of `value`, keyed by `seed`; frozen, and equal in every process.

    A number, a text and bytes never have the same digest by construction.

    >>> hashed("a", seed=0) == hashed(b"a", seed=0)
    False
    """
    if isinstance(value, str):
        content = b"s" + value.encode("utf-8", "surrogatepass")
    elif isinstance(value, bytes):
        content = b"b" + value
    else:
        content = b"i" + str(value).encode()
    key = (seed & (1 << 64) - 1).to_bytes(8, "little")
    return int.from_bytes(_blake2b()(content, digest_size=8, key=key).digest(), "little")


@cache
def _blake2b() -> type[blake2b]:
    try:
        from _blake2 import blake2b  # hashlib would also load OpenSSL: 3 MB to load a saved state
    except ImportError:  # another Python
        from hashlib import blake2b
    return blake2b
