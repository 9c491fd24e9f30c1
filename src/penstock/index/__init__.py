"""Row arithmetic as pure functions on arrays of int64: what every transformation does to the numbers of rows."""

from penstock.index.concatenated import concatenated
from penstock.index.grouped import group_of, grouped
from penstock.index.packed import Packed, fitted, joined
from penstock.index.paired import paired
from penstock.index.permuted import permuted
from penstock.index.repeated import repeated
from penstock.index.strided import strided

__all__ = [
    "Packed",
    "concatenated",
    "fitted",
    "group_of",
    "grouped",
    "joined",
    "paired",
    "permuted",
    "repeated",
    "strided",
]
