"""Native kernels behind plain NumPy signatures; `kernels.reference` has the twins for tests."""

from penstock.kernels.files import MappedFile, advise_files, advise_ranges, maps_cut, read_regular_files
from penstock.kernels.memory import Ahead, Begun, Pool, SideThread, gather, gather_several
from penstock.kernels.numbers import copy_numbers, parsed_integers, true_positions
from penstock.kernels.pack import MOST_CAPACITY, Fit, HeldArrays, begin_filling, fill_bins, pack_bins
from penstock.kernels.rows import (
    first_draws,
    group_rows,
    group_sizes,
    permute,
    permute_rows,
    permute_rows_within,
    permute_within,
    stride_rows,
    unpermute,
    unpermute_rows,
)

__all__ = [
    "MOST_CAPACITY",
    "Ahead",
    "Begun",
    "Fit",
    "HeldArrays",
    "MappedFile",
    "Pool",
    "SideThread",
    "advise_files",
    "advise_ranges",
    "begin_filling",
    "copy_numbers",
    "fill_bins",
    "first_draws",
    "gather",
    "gather_several",
    "group_rows",
    "group_sizes",
    "maps_cut",
    "pack_bins",
    "parsed_integers",
    "permute",
    "permute_rows",
    "permute_rows_within",
    "permute_within",
    "read_regular_files",
    "stride_rows",
    "true_positions",
    "unpermute",
    "unpermute_rows",
]
